//! Reasons under the rule `messages`, against a naive twin.

use fedcompetitors_graphs::{
    BenefitGraph, Certificate, CompetingGraph, Flows, Participants, Provenance, Reason, Reasons,
    Refusal, Rule, UsageGraph, refusals_by,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

type Pairs = Vec<(usize, usize)>;

/// A number of participants, and pairs that compete, learn, help, and have carried before.
fn instances() -> impl Strategy<Value = (usize, [Pairs; 4])> {
    (2..=8_usize).prop_flat_map(|count| {
        let pair = (0..count, 0..count).prop_filter("two participants", |(a, b)| a != b);
        let pairs = move |most| prop::collection::vec(pair.clone(), 0..most);
        let all = [pairs(count), pairs(2 * count), pairs(3 * count), pairs(count)];
        (Just(count), all)
    })
}

proptest! {
    #![proptest_config(cases(256))]

    /// Only a competition of the two ends refuses an edge, whatever else is used and has been carried.
    #[test]
    fn messages_refuse_only_competitors((count, [compete, learn, help, carry]) in instances()) {
        let participants = Participants::numbered(count);
        let mut competing = CompetingGraph::builder(&participants);
        compete.iter().for_each(|&(a, b)| competing.report(a, b).expect("two participants"));
        let competing = competing.build();
        let compete = |a, b| compete.contains(&(a, b)) || compete.contains(&(b, a));
        let mut usage = UsageGraph::builder(&participants);
        // Doubled edges are refused.
        learn.iter().filter(|&&(a, b)| !compete(a, b)).for_each(|&(a, b)| drop(usage.add(a, b)));
        let usage = usage.build();
        let mut benefit = BenefitGraph::builder(&participants);
        help.iter().for_each(|&(a, b)| drop(benefit.add(a, b, 0.5)));
        let benefit = benefit.build();
        let mut history = Provenance::own(&participants);
        carry.iter().for_each(|&(a, b)| history.add(a, b));

        let mut expected = Vec::new();
        for (to, from) in (0..count * count).map(|at| (at / count, at % count)) {
            let flows = Flows::by(Rule::Messages, &usage, Some(&history));
            let reasons = Reasons::against(&competing, &flows, to);
            let direct = Reason { path: vec![from, to], helper: 0, from_before: false };
            let because = compete(from, to).then_some(direct);
            prop_assert_eq!(&reasons.reason(from), &because);
            prop_assert_eq!(reasons.refuses(from), because.is_some());
            if from != to && !usage.uses(from, to) {
                // Refused is just what has no proof.
                let mut with = UsageGraph::builder(&participants);
                for (a, b) in usage.edges().chain([(from, to)]) {
                    with.add(a, b).expect("a new edge");
                }
                let proof = Certificate::prove_messages(&competing, &with.build());
                prop_assert_eq!(proof.is_err(), because.is_some());
                if help.contains(&(from, to)) {
                    expected.push(Refusal { from, to, benefit: 0.5, because });
                }
            }
        }
        let found = refusals_by(Rule::Messages, &competing, &benefit, &usage, Some(&history));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
