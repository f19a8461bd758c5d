//! The objective with diminishing returns: against trying every plan, and what must hold for
//! every plan.

use crate::common::{Lists, instances};
use fedcompetitors_graphs::{
    BenefitGraph, Certificate, CompetingGraph, Participants, Reachability, UsageGraph,
    bits::BitMatrix,
};
use fedcompetitors_select::{
    Bounded, Effort, Objective, ObjectiveKind, Plan, SampleCounts, SampleCountsError,
    SamplesMissing, Setting, diminishing, fairest,
    generate::{Shape, instance},
    greedy, optimal,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

/// The counts of the first participants, from 1 to 256 sixteenths.
fn samples(participants: &Participants, counts: &[u8]) -> SampleCounts {
    let counts = counts[..participants.len()].iter().map(|&count| (f64::from(count) + 1.0) / 16.0);
    SampleCounts::new(participants, counts.collect()).expect("positive counts")
}

fn with_counts(most: usize) -> impl Strategy<Value = (Lists, Vec<u8>)> {
    (instances(most), prop::collection::vec(any::<u8>(), most))
}

/// The largest value over all plans, by trying every set of edges that keeps the rule.
struct Exhaustive<'a> {
    edges: Vec<(usize, usize, f64)>,
    rivals: Vec<u8>,
    counts: &'a [f64],
    /// The helpers that somebody needs to receive anything.
    fewest: usize,
    best: f64,
}

impl<'a> Exhaustive<'a> {
    fn best(
        competing: &CompetingGraph,
        benefit: &BenefitGraph,
        samples: &'a SampleCounts,
        fewest: usize,
    ) -> f64 {
        let count = benefit.participants().len();
        let edges = (0..count)
            .flat_map(|to| benefit.helpers(to).map(move |(from, value)| (from, to, value)));
        let rivals = (0..count)
            .map(|i| (0..count).filter(|&j| competing.competes(i, j)).map(|j| 1 << j).sum());
        let mut all = Self {
            edges: edges.collect(),
            rivals: rivals.collect(),
            counts: samples.counts(),
            fewest,
            best: 0.0,
        };
        let alone: Vec<u8> = (0..count).map(|i| 1 << i).collect();
        all.go_on(0, &alone, &vec![0.0; count]);
        all.best
    }

    /// The benefits of all who reach a participant, whether or not there is an edge.
    fn value(&self, reaches: &[u8]) -> f64 {
        let mut sums = vec![0.0; self.counts.len()];
        let mut helpers = vec![0; self.counts.len()];
        for &(from, to, value) in &self.edges {
            if reaches[from] >> to & 1 == 1 {
                sums[to] += value;
                helpers[to] += 1;
            }
        }
        for (sum, helpers) in sums.iter_mut().zip(helpers) {
            if helpers < self.fewest {
                *sum = 0.0;
            }
        }
        self.gains(&sums)
    }

    fn gains(&self, sums: &[f64]) -> f64 {
        self.counts.iter().zip(sums).map(|(count, sum)| 1.0 / count - 1.0 / (count + sum)).sum()
    }

    fn go_on(&mut self, at: usize, reaches: &[u8], gone: &[f64]) {
        // Not even all but what was left out would do.
        let mut sums: Vec<f64> = gone.iter().map(|gone| -gone).collect();
        self.edges.iter().for_each(|&(_, to, value)| sums[to] += value);
        if self.gains(&sums) < self.best {
            return;
        }
        let Some(&(from, to, value)) = self.edges.get(at) else {
            self.best = self.best.max(self.value(reaches));
            return;
        };
        let with_edge: Vec<u8> = reaches
            .iter()
            .map(|&set| if set >> from & 1 == 1 { set | reaches[to] } else { set })
            .collect();
        if with_edge.iter().zip(&self.rivals).all(|(set, rivals)| set & rivals == 0) {
            self.go_on(at + 1, &with_edge, gone);
        }
        let mut gone = gone.to_vec();
        // What is left out may still be reached by another way; then it is not gone.
        if reaches[from] >> to & 1 == 0 && !self.may_be_reached(at, from, to) {
            gone[to] += value;
        }
        self.go_on(at + 1, reaches, &gone);
    }

    /// Could there be a way from one to the other without the edge between them?
    fn may_be_reached(&self, edge: usize, from: usize, to: usize) -> bool {
        let mut reached = 1_u8 << from;
        for _ in 0..self.counts.len() {
            for (at, &(a, b, _)) in self.edges.iter().enumerate() {
                if at != edge && reached >> a & 1 == 1 {
                    reached |= 1 << b;
                }
            }
        }
        reached >> to & 1 == 1
    }
}

fn bounded(plan: &Plan) -> Bounded {
    plan.diminishing.expect("the objective")
}

/// Does a plan have every useful edge between two of whom one reaches the other?
fn is_saturated(benefit: &BenefitGraph, usage: &UsageGraph) -> bool {
    let mut used = BitMatrix::new(benefit.participants().len());
    usage.edges().for_each(|(from, to)| used.set(from, to));
    let reached = Reachability::along(&used);
    (0..benefit.participants().len()).all(|to| {
        benefit
            .helpers(to)
            .filter(|&(from, _)| fedcompetitors_graphs::bits::contains(reached.set(from), to))
            .all(|(from, _)| usage.uses(from, to))
    })
}

#[test]
fn an_objective_without_its_counts_is_an_error() {
    let participants = Participants::numbered(2);
    let counts = SampleCounts::new(&participants, vec![5.0, 0.5]).expect("counts");
    assert_eq!(ObjectiveKind::Diminishing.with(None), Err(SamplesMissing));
    let objective = ObjectiveKind::Diminishing.with(Some(&counts));
    assert_eq!(objective, Ok(Objective::Diminishing(&counts)));
    assert_eq!(ObjectiveKind::MaxMin.with(None), Ok(Objective::MaxMin));
    for counts in [vec![1.0], vec![1.0, 0.0], vec![f64::NAN, 1.0], vec![1.0, f64::INFINITY]] {
        let error = SampleCounts::new(&participants, counts).expect_err("not counts");
        assert!(!error.hint().is_empty());
    }
    let error = SampleCounts::new(&participants, vec![1.0, -2.0]).expect_err("not a count");
    assert_eq!(error, SampleCountsError::NotPositive { name: "v2".into(), value: -2.0 });
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn nothing_has_more_among_all_plans((lists, counts) in with_counts(5), fewest in 1_usize..4) {
        let (competing, benefit) = lists.graphs();
        let samples = samples(benefit.participants(), &counts).with_fewest(fewest);
        let best = Exhaustive::best(&competing, &benefit, &samples, fewest);
        let plan = diminishing(Setting::new(&competing, &benefit), &samples, Effort::default());
        let Bounded { value, upper_bound } = bounded(&plan);
        prop_assert!((value - best).abs() <= 1e-6 * best, "{} {}", value, best);
        prop_assert!(upper_bound >= best * (1.0 - 1e-12), "{} {}", upper_bound, best);
        prop_assert!(upper_bound <= value * (1.0 + 1e-6));
    }

    #[test]
    fn a_bound_holds_whenever_the_search_stops(
        (lists, counts) in with_counts(5), fewest in 1_usize..4, budget in 0_u64..200_000,
    ) {
        let (competing, benefit) = lists.graphs();
        let samples = samples(benefit.participants(), &counts).with_fewest(fewest);
        let best = Exhaustive::best(&competing, &benefit, &samples, fewest);
        let effort = Effort { budget: Some(budget), ..Effort::default() };
        let plan = diminishing(Setting::new(&competing, &benefit), &samples, effort);
        let Bounded { value, upper_bound } = bounded(&plan);
        prop_assert!(value <= best * (1.0 + 1e-12) && best <= upper_bound * (1.0 + 1e-12));
        prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        prop_assert!(is_saturated(&benefit, &plan.usage));
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn what_holds_for_every_plan((lists, counts) in with_counts(11), fewest in 1_usize..3) {
        let (competing, benefit) = lists.graphs();
        let samples = samples(benefit.participants(), &counts).with_fewest(fewest);
        let setting = Setting::new(&competing, &benefit);
        let effort = Effort { budget: Some(100_000_000), ..Effort::default() };
        let plan = diminishing(setting, &samples, effort);
        let Bounded { value, upper_bound } = bounded(&plan);
        prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
        prop_assert!(is_saturated(&benefit, &plan.usage));
        prop_assert!(value <= upper_bound);
        prop_assert_eq!(value.to_bits(), samples.value(&benefit, &plan.usage).to_bits());
        for other in [greedy(setting), optimal(setting, Effort::default())] {
            prop_assert!(value >= samples.value(&benefit, &other.usage) * (1.0 - 1e-7));
        }
        prop_assert_eq!(&plan, &diminishing(setting, &samples, effort));
    }

    /// Proven, the value depends on nobody's place in the list.
    #[test]
    fn the_order_of_the_participants_changes_no_value((lists, counts) in with_counts(7)) {
        let (competing, benefit) = lists.graphs();
        let counts = samples(benefit.participants(), &counts);
        let plan = diminishing(Setting::new(&competing, &benefit), &counts, Effort::default());
        let last = lists.count - 1;
        let (competing, benefit) = lists.graphs_renamed(|index| last - index);
        let reversed = counts.counts().iter().rev().copied().collect();
        let counts = SampleCounts::new(benefit.participants(), reversed).expect("counts");
        let other = diminishing(Setting::new(&competing, &benefit), &counts, Effort::default());
        let (one, two) = (bounded(&plan), bounded(&other));
        prop_assert!(one.is_proven() && two.is_proven());
        prop_assert!((one.value - two.value).abs() <= 1e-6 * one.value);
    }

    /// In units that are `scale` times as small: the same plan, the value `scale` times as small.
    #[test]
    fn a_scale_of_everything_scales_the_value((lists, counts) in with_counts(8), power in -40_i32..40) {
        let (competing, benefit) = lists.graphs();
        let counts = samples(benefit.participants(), &counts);
        let plan = diminishing(Setting::new(&competing, &benefit), &counts, Effort::default());
        let scale = 2.0_f64.powi(power);
        let mut scaled = BenefitGraph::builder(benefit.participants());
        for to in 0..lists.count {
            for (from, value) in benefit.helpers(to) {
                scaled.add(from, to, value * scale).expect("a positive benefit");
            }
        }
        let scaled = scaled.build();
        let more = counts.counts().iter().map(|count| count * scale).collect();
        let more = SampleCounts::new(benefit.participants(), more).expect("counts");
        let other = diminishing(Setting::new(&competing, &scaled), &more, Effort::default());
        prop_assert_eq!(&plan.usage, &other.usage);
        let (one, two) = (bounded(&plan), bounded(&other));
        prop_assert!((one.value - two.value * scale).abs() <= 1e-12 * one.value);
    }

    /// The names of the participants are names and nothing else.
    #[test]
    fn other_names_change_nothing_else((lists, counts) in with_counts(8)) {
        let (competing, benefit) = lists.graphs();
        let counts = samples(benefit.participants(), &counts);
        let plan = diminishing(Setting::new(&competing, &benefit), &counts, Effort::default());
        let names = (0..lists.count).map(|index| format!("n{}", 99 - index));
        let participants = Participants::new(names).expect("names");
        let mut pairs = CompetingGraph::builder(&participants);
        competing.pairs().for_each(|(a, b)| pairs.report(a, b).expect("two participants"));
        let mut edges = BenefitGraph::builder(&participants);
        for to in 0..lists.count {
            for (from, value) in benefit.helpers(to) {
                edges.add(from, to, value).expect("a positive benefit");
            }
        }
        let (competing, benefit) = (pairs.build(), edges.build());
        let counts = SampleCounts::new(&participants, counts.counts().to_vec()).expect("counts");
        let other = diminishing(Setting::new(&competing, &benefit), &counts, Effort::default());
        prop_assert!(plan.usage.edges().eq(other.usage.edges()));
        prop_assert_eq!(plan.diminishing, other.diminishing);
    }

    /// Plans with other objectives have every useful edge that changes nobody's reach, too.
    #[test]
    fn every_plan_of_the_policy_is_saturated(lists in instances(7), budget in 0_u64..3_000_000) {
        let (competing, benefit) = lists.graphs();
        let setting = Setting::new(&competing, &benefit);
        for objective in [Objective::Welfare, Objective::MaxMin, Objective::Proportional] {
            let effort = Effort { budget: Some(budget), ..Effort::default() };
            let plan = fairest(setting, objective, effort);
            prop_assert!(is_saturated(&benefit, &plan.usage), "{:?}", objective);
            prop_assert!(Certificate::prove(&competing, &plan.usage).is_ok());
            prop_assert!(plan.welfare <= plan.upper_bound);
        }
    }
}

/// Larger than what is proven: still a plan, a bound, and the same ones for a budget.
#[test]
fn larger_federations_get_a_plan_and_a_bound() {
    let shape = Shape { participants: 40, competing_density: 0.2, benefit_density: 0.6 };
    let (competing, benefit) = instance(shape, 3);
    let setting = Setting::new(&competing, &benefit);
    let counts = (0..40).map(|at| [0.5, 1.0, 2.5, 8.0][at % 4]).collect();
    let samples = SampleCounts::new(benefit.participants(), counts).expect("counts");
    let effort = Effort { budget: Some(300_000_000), ..Effort::default() };
    let plan = diminishing(setting, &samples, effort);
    let Bounded { value, upper_bound } = bounded(&plan);
    assert!(value >= samples.value(&benefit, &greedy(setting).usage));
    assert!(value <= upper_bound && !bounded(&plan).is_proven());
    assert!(plan.note.as_deref().is_some_and(|note| note.contains("% of the best")));
    assert!(Certificate::prove(&competing, &plan.usage).is_ok());
    assert!(is_saturated(&benefit, &plan.usage));
    assert_eq!(plan, diminishing(setting, &samples, effort));
}

/// More edges than the simplex method takes: a weaker bound, and a plan all the same.
#[test]
fn a_federation_too_large_for_the_simplex_method_gets_a_bound() {
    let shape = Shape { participants: 120, competing_density: 0.1, benefit_density: 0.5 };
    let (competing, benefit) = instance(shape, 1);
    let setting = Setting::new(&competing, &benefit);
    let samples = SampleCounts::new(benefit.participants(), vec![2.0; 120]).expect("counts");
    let effort = Effort { budget: Some(1_000_000_000), ..Effort::default() };
    let plan = diminishing(setting, &samples, effort);
    let Bounded { value, upper_bound } = bounded(&plan);
    let everything: f64 = (0..120)
        .map(|to| benefit.received(to, |from| !competing.competes(from, to)))
        .map(|sum| 0.5 - 1.0 / (2.0 + sum))
        .sum();
    assert!(value <= upper_bound && upper_bound < everything);
    assert!(Certificate::prove(&competing, &plan.usage).is_ok());
}
