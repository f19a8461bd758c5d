//! Other aims than the largest sum, against trying every plan.

use crate::common::{Lists, instances};
use fedcompetitors_graphs::{BenefitGraph, Certificate, CompetingGraph, UsageGraph};
use fedcompetitors_select::{
    Effort, Objective, Setting, fairest,
    generate::{Shape, instance},
    greedy, optimal,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

/// What those who could get anything get, the poorest first.
fn poorest_first(
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    usage: &UsageGraph,
) -> Vec<f64> {
    let count = benefit.participants().len();
    let hopeful =
        (0..count).filter(|&to| benefit.helpers(to).any(|(from, _)| !competing.competes(from, to)));
    let mut gets: Vec<f64> =
        hopeful.map(|to| benefit.received(to, |from| usage.uses(from, to))).collect();
    gets.sort_by(f64::total_cmp);
    gets
}

/// How many get something, and the sum of the logarithms of what they get.
fn proportion(gets: &[f64]) -> (usize, f64) {
    let something = gets.iter().filter(|&&gets| gets > 0.0);
    (something.clone().count(), something.map(|gets| gets.ln()).sum())
}

/// Every plan that keeps the rule.
fn all_plans(competing: &CompetingGraph, benefit: &BenefitGraph) -> Vec<UsageGraph> {
    let count = benefit.participants().len();
    let edges: Vec<(usize, usize)> =
        (0..count).flat_map(|to| benefit.helpers(to).map(move |(from, _)| (from, to))).collect();
    (0..1_u32 << edges.len())
        .filter_map(|subset| {
            let mut usage = UsageGraph::builder(benefit.participants());
            for (at, &(from, to)) in edges.iter().enumerate() {
                if subset >> at & 1 == 1 {
                    usage.add(from, to).expect("new");
                }
            }
            let usage = usage.build();
            Certificate::prove(competing, &usage).is_ok().then_some(usage)
        })
        .collect()
}

/// In sum it is best that v1 helps v2 and v2 helps nobody else; but then v3 gets nothing.
#[test]
fn nobody_starves_who_need_not() {
    // v1 → v2 (64), v2 → v3 (1); v1 and v3 compete: one of the two edges must go.
    let lists = Lists {
        count: 4,
        competing: vec![(0, 2)],
        benefit: vec![(0, 1, 64), (1, 2, 1), (3, 1, 2)],
    };
    let (competing, benefit) = lists.graphs();
    let setting = Setting::new(&competing, &benefit);
    let sum = optimal(setting, Effort::default());
    assert!(sum.usage.uses(0, 1) && !sum.usage.uses(1, 2));
    for objective in [Objective::MaxMin, Objective::Proportional] {
        let fair = fairest(setting, objective, Effort::default());
        assert!(fair.usage.uses(3, 1) && fair.usage.uses(1, 2), "{objective:?}");
        assert!(fair.note.is_some_and(|note| note.contains("(proven)")));
    }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn nothing_is_fairer_among_all_plans(lists in instances(4)) {
        let (competing, benefit) = lists.graphs();
        let setting = Setting::new(&competing, &benefit);
        let plans = all_plans(&competing, &benefit);
        let gets = |usage: &UsageGraph| poorest_first(&competing, &benefit, usage);

        let plan = fairest(setting, Objective::MaxMin, Effort::default());
        prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        let best = plans.iter().map(gets).max_by(|a, b| a.partial_cmp(b).expect("numbers"));
        prop_assert_eq!(gets(&plan.usage), best.expect("the empty plan"));

        let plan = fairest(setting, Objective::Proportional, Effort::default());
        prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        let found = proportion(&gets(&plan.usage));
        for other in &plans {
            let other = proportion(&gets(other));
            prop_assert!(other.0 < found.0 || other.0 == found.0 && other.1 <= found.1 + 1e-9);
        }
    }
}

/// Too many plans to try: never less fair than the plans that don't try to be.
#[test]
fn larger_plans_are_fairer_than_greedy_and_keep_the_rule() {
    let shape = Shape { participants: 24, competing_density: 0.15, benefit_density: 0.4 };
    for seed in 0..4 {
        let (competing, benefit) = instance(shape, seed);
        let setting = Setting::new(&competing, &benefit);
        let gets = |usage: &UsageGraph| poorest_first(&competing, &benefit, usage);
        let plan = fairest(setting, Objective::MaxMin, Effort::default());
        assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        assert!(gets(&plan.usage) >= gets(&greedy(setting).usage), "seed {seed}");
        let plan = fairest(setting, Objective::Proportional, Effort::default());
        assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        assert!(proportion(&gets(&plan.usage)) >= proportion(&gets(&greedy(setting).usage)));
        assert_eq!(plan, fairest(setting, Objective::Proportional, Effort::default()));
    }
}
