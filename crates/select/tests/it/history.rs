//! Plans that change over time: whatever joins, leaves, declarations and new plans come,
//! no model carries the data of a competitor that was declared when it was made.

use crate::common::{Lists, instances, plan};
use fedcompetitors_graphs::{
    BenefitGraph, Choice, CompetingGraph, Participants, Provenance, Rule, UsageGraph, find_breach,
    random::Stream, refusals,
};
use fedcompetitors_select::{
    Cliques, Effort, Egoists, Greedy, Objective, Optimal, Policy, Setting, greedy, optimal,
};
use fedcompetitors_testing::{cases, repeat};
use proptest::prelude::*;

/// A federation as it goes on: everybody who ever was in it, and what has flowed.
struct Federation {
    participants: Participants,
    present: Vec<bool>,
    competing: Vec<(usize, usize)>,
    provenance: Provenance,
}

impl Federation {
    fn new(count: usize) -> Self {
        let participants = Participants::numbered(count);
        Self {
            present: vec![true; count],
            competing: Vec::new(),
            provenance: Provenance::own(&participants),
            participants,
        }
    }

    fn competing(&self) -> CompetingGraph {
        let mut builder = CompetingGraph::builder(&self.participants);
        for &(a, b) in &self.competing {
            builder.report(a, b).expect("two participants");
        }
        builder.build()
    }

    /// Fresh benefits, to and from those who are gone too.
    fn benefit(&self, stream: &mut Stream) -> BenefitGraph {
        let mut builder = BenefitGraph::builder(&self.participants);
        for from in 0..self.present.len() {
            for to in 0..self.present.len() {
                if from != to && stream.unit() < 0.4 {
                    builder.add(from, to, 0.1 + stream.unit()).expect("valid");
                }
            }
        }
        builder.build()
    }

    fn declare(&mut self, a: usize, b: usize) {
        if a != b {
            self.competing.push((a, b));
            // Whoever carries the data of a new competitor begins again.
            let competing = self.competing();
            let breached: Vec<usize> =
                self.provenance.breaches(&competing).map(|(owner, _)| owner).collect();
            breached.into_iter().for_each(|owner| self.provenance.restart(owner));
        }
    }

    fn join(&mut self) {
        let count = self.participants.len() + 1;
        self.participants = Participants::numbered(count);
        self.present.push(true);
        self.provenance = self.provenance.extended(&self.participants);
    }
}

#[test]
fn no_history_brings_a_competitors_data_into_a_model() {
    let effort = Effort { gap: 0.05, ..Effort::default() };
    let keeps_paths = |policy: &Choice<dyn Policy>| policy.rule() == Rule::Paths;
    let policies: Vec<Choice<dyn Policy>> = Choice::all().filter(keeps_paths).collect();
    let mut stream = Stream::new(1, "history", 0);
    let (mut done, mut flowed) = (0, 0);
    while done < repeat(1000) as usize {
        let mut federation = Federation::new(4 + (stream.bits() % 4) as usize);
        for _ in 0..12 {
            let count = federation.participants.len() as u64;
            let (a, b) = ((stream.bits() % count) as usize, (stream.bits() % count) as usize);
            match stream.bits() % 5 {
                0 if count < 12 => federation.join(),
                1 => federation.present[a] = !federation.present[a],
                2 | 3 => federation.declare(a, b),
                _ => {}
            }
            let (competing, benefit) = (federation.competing(), federation.benefit(&mut stream));
            let absent: Vec<usize> =
                (0..federation.present.len()).filter(|&i| !federation.present[i]).collect();
            let setting = Setting::with_history(&competing, &benefit, &federation.provenance);
            let setting = setting.without(&absent);
            let policy = policies[(stream.bits() % policies.len() as u64) as usize];
            let plan = policy.plan(&setting, Objective::Welfare, effort);
            for (from, to) in plan.usage.edges() {
                assert!(federation.present[from] && federation.present[to]);
            }
            let later = federation.provenance.after(&plan.usage);
            let breach = later.breaches(&competing).next();
            assert_eq!(breach, None, "{policy} after {done} operations");
            flowed += usize::from(later != federation.provenance);
            federation.provenance = later;
            done += 1;
        }
    }
    assert!(flowed > done / 4, "histories in which nothing flows show nothing");
}

#[test]
fn what_was_learned_last_month_is_not_passed_on_to_a_rival_today() {
    // v1 → v2 was used; v1 and v3 compete; now v2 would help v3.
    let lists = Lists { count: 3, competing: vec![(0, 2)], benefit: vec![(1, 2, 64)] };
    let (competing, benefit) = lists.graphs();
    let mut used = UsageGraph::builder(benefit.participants());
    used.add(0, 1).expect("new");
    let history = Provenance::own(benefit.participants()).after(&used.build());
    for policy in [&Greedy as &dyn Policy, &Optimal, &Cliques, &Egoists] {
        let fresh = plan(policy, &Setting::new(&competing, &benefit));
        let plan = plan(policy, &Setting::with_history(&competing, &benefit, &history));
        assert!(!plan.usage.uses(1, 2), "{}", policy.name());
        assert!(
            plan.welfare.abs() < 1e-9 && plan.upper_bound.abs() < 1e-9
                || policy.name() != "optimal"
        );
        assert!(fresh.usage.uses(1, 2) || policy.name() == "egoists" || policy.name() == "cliques");
    }
}

/// A past in which these have carried each other's data, but for competitors.
fn lawful_past(competing: &CompetingGraph, carried: &[(usize, usize)]) -> Provenance {
    let count = competing.participants().len();
    let mut history = Provenance::own(competing.participants());
    for (owner, other) in carried.iter().map(|(owner, other)| (owner % count, other % count)) {
        if !competing.competes(owner, other) {
            history.add(owner, other);
        }
    }
    history
}

/// The largest welfare under a history, by trying every set of edges.
fn exhaustive(
    setting: &Setting<'_>,
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    history: &Provenance,
) -> f64 {
    let count = setting.participants().len();
    let edges: Vec<(usize, usize, f64)> = (0..count)
        .flat_map(|to| benefit.helpers(to).map(move |(from, value)| (from, to, value)))
        .collect();
    (0..1_u32 << edges.len())
        .filter_map(|subset| {
            let mut usage = UsageGraph::builder(setting.participants());
            let mut welfare = 0.0;
            for (at, &(from, to, value)) in edges.iter().enumerate() {
                if subset >> at & 1 == 1 {
                    usage.add(from, to).expect("new");
                    welfare += value;
                }
            }
            history.after(&usage.build()).breaches(competing).next().is_none().then_some(welfare)
        })
        .fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn the_best_plan_under_a_history_is_the_best(
        lists in instances(4),
        before in prop::collection::vec((0_usize..4, 0_usize..4), 0..5),
    ) {
        let (competing, benefit) = lists.graphs();
        let history = lawful_past(&competing, &before);
        let setting = Setting::with_history(&competing, &benefit, &history);
        let plan = optimal(setting, Effort::default());
        let expected = exhaustive(&setting, &competing, &benefit, &history);
        prop_assert!((plan.welfare - expected).abs() < 1e-9, "{} {}", plan.welfare, expected);
        prop_assert!((plan.upper_bound - plan.welfare).abs() < 1e-6);
        prop_assert!(greedy(setting).welfare <= plan.welfare + 1e-9);
    }

    /// Each reason under a history is a real way: the first step perhaps of the past, one
    /// step the refused edge, the others used; and with the edge the rule would break.
    #[test]
    fn reasons_under_a_history_are_real(
        lists in instances(8),
        before in prop::collection::vec((0_usize..8, 0_usize..8), 0..10),
    ) {
        let (competing, benefit) = lists.graphs();
        let history = lawful_past(&competing, &before);
        let setting = Setting::with_history(&competing, &benefit, &history);
        let plan = greedy(setting);
        prop_assert!(find_breach(&competing, &plan.usage, &history).is_none());
        for refusal in refusals(&competing, &benefit, &plan.usage, Some(&history)) {
            let reason = refusal.because.expect("greedy leaves out nothing without a reason");
            let (p, q) = reason.pair();
            prop_assert!(competing.competes(p, q));
            for (at, edge) in reason.path.windows(2).enumerate() {
                let past = at == 0 && reason.from_before;
                let real = if past { history.carries(edge[1], edge[0]) } else { at == reason.helper || plan.usage.uses(edge[0], edge[1])  };
                prop_assert!(real);
            }
            prop_assert_eq!((reason.path[reason.helper], reason.path[reason.helper + 1]), (refusal.from, refusal.to));
            let mut with = UsageGraph::builder(benefit.participants());
            for (from, to) in plan.usage.edges().chain([(refusal.from, refusal.to)]) {
                with.add(from, to).expect("a new edge");
            }
            let breach = find_breach(&competing, &with.build(), &history).expect("it must be refused");
            let (first, last) = (breach.path[0], breach.path[breach.path.len() - 1]);
            prop_assert!(competing.competes(first, last));
        }
    }

    /// A history in which nothing has flowed changes nothing.
    #[test]
    fn without_a_past_a_history_is_none(lists in instances(12)) {
        let (competing, benefit) = lists.graphs();
        let history = Provenance::own(benefit.participants());
        let (fresh, told) = (
            Setting::new(&competing, &benefit),
            Setting::with_history(&competing, &benefit, &history),
        );
        prop_assert_eq!(greedy(fresh), greedy(told));
        let effort = Effort::default();
        prop_assert_eq!(optimal(fresh, effort), optimal(told, effort));
    }
}
