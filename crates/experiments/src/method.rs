//! What is compared: for each method who learns from whom, how, and by which estimate.
//!
//! These are the rows of the paper's tables, in its order and by its names, each with the variants among
//! which validation data chooses. They are dispatched here, beside the registries: a new policy or trainer
//! must not add a row to a table that compares with printed figures.

use fedcompetitors_federate::{
    estimate::{self, Estimator, JointHypernetwork, Mixture},
    train::{Averaging, Hypernetworks, Local, Mixing, Proximal, Scaffold, Trainer, Trunks},
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_select::{
    Alone, Cliques, Coalitions, Effort, Greedy, Objective, Optimal, Plan, Policy, Setting,
};

/// A structure and a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Everybody alone.
    Local,
    /// Everybody alone with several networks: the control of `Trunks`, with the same gradients.
    LocalEnsemble,
    /// Averages inside cliques.
    FedAvg,
    /// Averages with a pull to the common model.
    FedProx,
    /// Averages with control variates.
    Scaffold,
    /// Hypernetworks inside coalitions.
    Ce,
    /// The paper's: personal hypernetworks along the greedy plan.
    Hypernetworks,
    /// Personal hypernetworks along the best plan.
    BestHypernetworks,
    /// Mixing along the best plan: what can be deployed.
    Mixing,
    /// Networks from the hidden layers of those who reach one along the best plan.
    Trunks,
}

impl Method {
    /// Those of the synthetic tables, in the order of the paper's.
    pub const SYNTHETIC: [Self; 7] = [
        Self::Local,
        Self::FedAvg,
        Self::FedProx,
        Self::Scaffold,
        Self::Ce,
        Self::Hypernetworks,
        Self::Mixing,
    ];

    /// Those of the hospitals' table.
    pub const HOSPITALS: [Self; 8] = [
        Self::Local,
        Self::FedAvg,
        Self::FedProx,
        Self::Scaffold,
        Self::Ce,
        Self::Hypernetworks,
        Self::BestHypernetworks,
        Self::Mixing,
    ];

    /// Those of the table of small images, whose models are networks.
    pub const IMAGES: [Self; 10] = [
        Self::Local,
        Self::LocalEnsemble,
        Self::FedAvg,
        Self::FedProx,
        Self::Scaffold,
        Self::Ce,
        Self::Hypernetworks,
        Self::BestHypernetworks,
        Self::Mixing,
        Self::Trunks,
    ];

    /// What it is called in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "Local",
            Self::LocalEnsemble => "Local, ensemble",
            Self::FedAvg => "FedAvg",
            Self::FedProx => "FedProx",
            Self::Scaffold => "SCAFFOLD",
            Self::Ce => "CE",
            Self::Hypernetworks => "FedCompetitors",
            Self::BestHypernetworks => "FedCompetitors, optimal",
            Self::Mixing => "FedCompetitors, mixing",
            Self::Trunks => "FedCompetitors, trunks",
        }
    }

    /// What it is called on the command line and in names of files.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::LocalEnsemble => "local-ensemble",
            Self::FedAvg => "fedavg",
            Self::FedProx => "fedprox",
            Self::Scaffold => "scaffold",
            Self::Ce => "ce",
            Self::Hypernetworks => "fedcompetitors",
            Self::BestHypernetworks => "fedcompetitors-optimal",
            Self::Mixing => "fedcompetitors-mixing",
            Self::Trunks => "fedcompetitors-trunks",
        }
    }

    /// Which estimate it needs.
    pub fn source(self) -> Option<Source> {
        match self {
            Self::Ce | Self::Hypernetworks | Self::BestHypernetworks => Some(Source::Hypernetwork),
            Self::Mixing => Some(Source::Mixture),
            Self::Trunks => Some(Source::Trunks),
            _ => None,
        }
    }

    pub(super) fn plan(self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let policy: &dyn Policy = match self {
            Self::Local | Self::LocalEnsemble => &Alone,
            Self::FedAvg | Self::FedProx | Self::Scaffold => &Cliques,
            Self::Ce => &Coalitions,
            Self::Hypernetworks => &Greedy,
            Self::BestHypernetworks | Self::Mixing | Self::Trunks => &Optimal,
        };
        policy.plan(&Setting::new(competing, benefit), Objective::Welfare, Effort::default())
    }

    /// The variants among which validation data chooses, the usual one first.
    pub(super) fn variants(self) -> Vec<Variant> {
        fn each<T: Trainer + Clone + 'static>(title: &str, trainer: &T) -> Vec<Variant> {
            let variant = |&local_steps: &usize| Variant {
                title: format!("{title}{local_steps} steps"),
                local_steps,
                trainer: Box::new(trainer.clone()),
            };
            LOCAL_STEPS.iter().map(variant).collect()
        }
        fn only(trainer: impl Trainer + 'static) -> Vec<Variant> {
            let (title, local_steps) = (String::new(), LOCAL_STEPS[0]);
            vec![Variant { title, local_steps, trainer: Box::new(trainer) }]
        }
        match self {
            // Networks have the decay among the rules.
            Self::Local => only(Local { decays: Vec::new() }),
            Self::LocalEnsemble | Self::Trunks => only(Trunks::default()),
            Self::FedAvg => each("", &Averaging {}),
            Self::FedProx => PULLS
                .iter()
                .flat_map(|&pull| each(&format!("pull {pull}, "), &Proximal { pull }))
                .collect(),
            Self::Scaffold => each("", &Scaffold {}),
            Self::Ce | Self::Hypernetworks | Self::BestHypernetworks => {
                only(Hypernetworks::default())
            }
            Self::Mixing => [("", true), ("unchecked, ", false)]
                .into_iter()
                .flat_map(|(title, checked)| each(title, &Mixing { checked, ..Mixing::default() }))
                .collect(),
        }
    }
}

/// A trainer with what sets it apart from the others of its method.
pub(super) struct Variant {
    /// What sets it apart; empty where there is one.
    pub title: String,
    /// Steps between two exchanges.
    pub local_steps: usize,
    pub trainer: Box<dyn Trainer>,
}

/// Steps between two exchanges, for every method that has such; the usual ones first.
const LOCAL_STEPS: [usize; 3] = [10, 5, 20];

/// How strongly `FedProx` may pull: the values that its authors tried, the usual one first.
const PULLS: [f64; 4] = [0.01, 0.001, 0.1, 1.0];

/// Where benefits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The paper's joint hypernetwork.
    Hypernetwork,
    /// The mixture of models.
    Mixture,
    /// Hidden layers beside one's own.
    Trunks,
}

impl Source {
    /// Those that any model can use.
    pub const OF_ANY_MODEL: [Self; 2] = [Self::Hypernetwork, Self::Mixture];

    pub(super) fn estimator(self) -> Box<dyn Estimator> {
        match self {
            Self::Hypernetwork => Box::new(JointHypernetwork::default()),
            Self::Mixture => Box::new(Mixture::default()),
            Self::Trunks => Box::new(estimate::Trunks::default()),
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hypernetwork => "hypernetwork",
            Self::Mixture => "mixture",
            Self::Trunks => "trunks",
        }
    }
}
