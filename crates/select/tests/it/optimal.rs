//! The best plan: against golden answers, exhaustive search, and the greedy plan.

use std::time::{Duration, Instant};

use crate::common::{Case, instances};
use fedcompetitors_graphs::{BenefitGraph, Certificate, CompetingGraph, Participants};
use fedcompetitors_select::{
    Effort, Setting,
    generate::{Shape, instance},
    greedy, optimal,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

#[test]
fn golden_cases_have_the_welfare_of_an_independent_implementation() {
    for case in Case::all() {
        let (competing, benefit) = case.graphs();
        let plan = optimal(Setting::new(&competing, &benefit), Effort::default());
        assert!(
            (plan.welfare - case.optimal_welfare).abs() < 1e-6,
            "{}: {}",
            case.title,
            plan.welfare
        );
        assert!(
            (plan.upper_bound - plan.welfare).abs() < 1e-6 * plan.welfare.max(1.0),
            "{}",
            case.title
        );
        assert!(Certificate::prove(&competing, &plan.usage).is_ok());
    }
}

/// The largest welfare, by trying every set of edges that keeps the rule.
fn exhaustive(competing: &CompetingGraph, benefit: &BenefitGraph) -> f64 {
    let count = competing.participants().len();
    let edges: Vec<(usize, usize, f64)> = (0..count)
        .flat_map(|to| benefit.helpers(to).map(move |(from, value)| (from, to, value)))
        .collect();
    let reaches: Vec<u8> = (0..count).map(|i| 1 << i).collect();
    let rivals: Vec<u8> = (0..count)
        .map(|i| (0..count).filter(|&j| competing.competes(i, j)).map(|j| 1 << j).sum())
        .collect();
    let mut best = 0.0;
    try_all(&edges, &reaches, &rivals, 0.0, &mut best);
    best
}

fn try_all(
    edges: &[(usize, usize, f64)],
    reaches: &[u8],
    rivals: &[u8],
    value: f64,
    best: &mut f64,
) {
    // Not even all the rest would do.
    if value + edges.iter().map(|edge| edge.2).sum::<f64>() <= *best {
        return;
    }
    let Some((&(from, to, gain), rest)) = edges.split_first() else {
        *best = value;
        return;
    };
    let with_edge: Vec<u8> = reaches
        .iter()
        .map(|&set| if set >> from & 1 == 1 { set | reaches[to] } else { set })
        .collect();
    if with_edge.iter().zip(rivals).all(|(set, rivals)| set & rivals == 0) {
        try_all(rest, &with_edge, rivals, value + gain, best);
    }
    try_all(rest, reaches, rivals, value, best);
}

/// Too large for the simplex method: still a plan, a bound that is none too low, in time.
#[test]
fn a_large_instance_gets_a_plan_and_a_bound_within_its_time() {
    let shape = Shape { participants: 300, competing_density: 0.1, benefit_density: 0.3 };
    let (competing, benefit) = instance(shape, 1);
    let deadline = Some(Instant::now() + Duration::from_secs(2));
    let plan =
        optimal(Setting::new(&competing, &benefit), Effort { deadline, ..Effort::default() });
    assert!(Certificate::prove(&competing, &plan.usage).is_ok());
    let greedy = greedy(Setting::new(&competing, &benefit));
    assert!(plan.welfare >= greedy.welfare);
    // How much better the bound gets in that time is the machine's affair.
    assert!(plan.welfare <= plan.upper_bound && plan.upper_bound <= greedy.upper_bound);
}

/// Asked for one hundredth, it may stop there, and says so.
#[test]
fn a_gap_is_kept() {
    let shape = Shape { participants: 24, competing_density: 0.2, benefit_density: 0.5 };
    for seed in 0..5 {
        let (competing, benefit) = instance(shape, seed);
        let exact = optimal(Setting::new(&competing, &benefit), Effort::default());
        let plan =
            optimal(Setting::new(&competing, &benefit), Effort { gap: 0.01, ..Effort::default() });
        assert!(plan.upper_bound >= exact.welfare - 1e-6, "seed {seed}");
        assert!(plan.upper_bound <= plan.welfare * 1.01 + 1e-6, "seed {seed}");
    }
}

/// The same federation, its benefits measured in other units, beside two strangers of
/// whom one helps the other by this much.
fn in_other_units(
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    unit: f64,
    strangers: f64,
) -> (CompetingGraph, BenefitGraph) {
    let count = benefit.participants().len();
    let participants = Participants::numbered(count + 2);
    let mut more = BenefitGraph::builder(&participants);
    for to in 0..count {
        for (from, value) in benefit.helpers(to) {
            more.add(from, to, value * unit).expect("a positive benefit");
        }
    }
    more.add(count, count + 1, strangers).expect("a positive benefit");
    let mut pairs = CompetingGraph::builder(&participants);
    for (a, b) in competing.pairs() {
        pairs.report(a, b).expect("two participants");
    }
    (pairs.build(), more.build())
}

/// What benefits are measured in, and what others gain, changes nothing.
#[test]
fn the_best_plan_is_the_same_in_other_units_and_beside_others() {
    let shape = Shape { participants: 16, competing_density: 0.2, benefit_density: 0.4 };
    for seed in 0..6 {
        let (competing, benefit) = instance(shape, seed);
        let plan = optimal(Setting::new(&competing, &benefit), Effort::default());
        let edges: Vec<_> = plan.usage.edges().collect();
        for (unit, strangers) in [(1.0, 1e8), (1e-12, 1.0), (1e-200, 1.0), (1e200, 1.0)] {
            let (competing, benefit) = in_other_units(&competing, &benefit, unit, strangers);
            let other = optimal(Setting::new(&competing, &benefit), Effort::default());
            let others: Vec<_> = other.usage.edges().filter(|&edge| edge != (16, 17)).collect();
            assert_eq!(edges, others, "seed {seed}, unit {unit}, strangers {strangers}");
            assert!(
                other.upper_bound <= other.welfare * (1.0 + 1e-6),
                "seed {seed}, unit {unit}: proven"
            );
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn nothing_is_better_among_all_plans(lists in instances(6)) {
        let (competing, benefit) = lists.graphs();
        let plan = optimal(Setting::new(&competing, &benefit), Effort::default());
        prop_assert!((plan.welfare - exhaustive(&competing, &benefit)).abs() < 1e-9);
        prop_assert!((plan.upper_bound - plan.welfare).abs() < 1e-6);
    }

    #[test]
    fn the_plan_keeps_the_rule_and_is_never_below_greedy(lists in instances(14)) {
        let (competing, benefit) = lists.graphs();
        let plan = optimal(Setting::new(&competing, &benefit), Effort::default());
        prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        prop_assert!(plan.welfare >= greedy(Setting::new(&competing, &benefit)).welfare - 1e-9);
        prop_assert!(plan.upper_bound >= plan.welfare);
        prop_assert_eq!(&plan, &optimal(Setting::new(&competing, &benefit), Effort::default()));
    }
}
