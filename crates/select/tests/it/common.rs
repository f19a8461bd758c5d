//! Instances for the tests: golden ones from files, random ones from proptest.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants, UsageGraph};
use fedcompetitors_select::{Effort, Objective, Plan, Policy, Setting};
use proptest::prelude::*;

/// The plan of a policy with the usual objective and effort.
pub fn plan(policy: &dyn Policy, setting: &Setting<'_>) -> Plan {
    policy.plan(setting, Objective::Welfare, Effort::default())
}

/// One entry of `cases/selection.json`.
#[derive(serde::Deserialize)]
pub struct Case {
    pub title: String,
    participants: Vec<String>,
    competing: Vec<(String, String)>,
    benefit: Vec<(String, String, f64)>,
    pub greedy: Answer,
    pub optimal_welfare: f64,
}

#[derive(serde::Deserialize)]
pub struct Answer {
    usage: Vec<(String, String)>,
    pub welfare: f64,
}

impl Case {
    pub fn all() -> Vec<Self> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/selection.json");
        let text = std::fs::read_to_string(path).expect("the golden cases");
        serde_json::from_str(&text).expect("well-formed golden cases")
    }

    pub fn graphs(&self) -> (CompetingGraph, BenefitGraph) {
        let participants = self.participants();
        let find = |name: &str| participants.find(name).expect("known");
        let mut competing = CompetingGraph::builder(&participants);
        for (a, b) in &self.competing {
            competing.report(find(a), find(b)).expect("valid");
        }
        let mut benefit = BenefitGraph::builder(&participants);
        for (from, to, value) in &self.benefit {
            benefit.add(find(from), find(to), *value).expect("valid");
        }
        (competing.build(), benefit.build())
    }

    pub fn greedy_usage(&self) -> UsageGraph {
        let participants = self.participants();
        let find = |name: &str| participants.find(name).expect("known");
        let mut usage = UsageGraph::builder(&participants);
        for (from, to) in &self.greedy.usage {
            usage.add(find(from), find(to)).expect("valid");
        }
        usage.build()
    }

    fn participants(&self) -> Participants {
        Participants::new(&self.participants).expect("valid")
    }
}

/// A random instance as plain lists, so that proptest can shrink it.
#[derive(Debug, Clone)]
pub struct Lists {
    pub count: usize,
    pub competing: Vec<(usize, usize)>,
    /// Benefits in 64ths: their sums are exact, so a tie is a tie.
    pub benefit: Vec<(usize, usize, u8)>,
}

impl Lists {
    pub fn graphs(&self) -> (CompetingGraph, BenefitGraph) {
        self.graphs_renamed(|index| index)
    }

    /// The same instance with participant `index` at place `place(index)`.
    pub fn graphs_renamed(&self, place: impl Fn(usize) -> usize) -> (CompetingGraph, BenefitGraph) {
        let participants = Participants::numbered(self.count);
        let mut competing = CompetingGraph::builder(&participants);
        for &(a, b) in &self.competing {
            competing.report(place(a), place(b)).expect("valid");
        }
        let mut benefit = BenefitGraph::builder(&participants);
        for &(from, to, value) in &self.benefit {
            benefit.add(place(from), place(to), f64::from(value) / 64.0).expect("valid");
        }
        (competing.build(), benefit.build())
    }
}

/// Instances of up to `most` participants, from hardly any edges to nearly all.
pub fn instances(most: usize) -> impl Strategy<Value = Lists> {
    (1..=most, 0.0..1.0_f64, 0.0..1.0_f64)
        .prop_flat_map(|(count, rivalry, help)| {
            // Cubed: small densities, where long paths live, are the interesting ones.
            let pairs = count * (count - 1) / 2;
            let competing = prop::collection::vec(prop::bool::weighted(rivalry.powi(3)), pairs);
            let benefit = prop::collection::vec(
                prop::option::weighted(help.max(0.01), 1_u8..=64),
                count * (count - 1),
            );
            (Just(count), competing, benefit)
        })
        .prop_map(|(count, competing, benefit)| {
            let pairs = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
            let edges =
                (0..count).flat_map(|a| (0..count).filter(move |&b| a != b).map(move |b| (a, b)));
            Lists {
                count,
                competing: pairs
                    .zip(competing)
                    .filter_map(|(pair, is)| is.then_some(pair))
                    .collect(),
                benefit: edges
                    .zip(benefit)
                    .filter_map(|((from, to), value)| value.map(|value| (from, to, value)))
                    .collect(),
            }
        })
}
