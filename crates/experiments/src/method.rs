//! What is compared: for each method who learns from whom, how, and by which estimate.

use fedcompetitors_federate::{
    estimate::{Estimator, JointHypernetwork, Mixture},
    train::{Averaging, Correction, Hypernetworks, Mixing, Trainer},
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_select::{Alone, Cliques, Coalitions, Greedy, Optimal, Plan, Policy};

/// A structure and a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Everybody alone.
    Local,
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

    /// What it is called in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "Local",
            Self::FedAvg => "FedAvg",
            Self::FedProx => "FedProx",
            Self::Scaffold => "SCAFFOLD",
            Self::Ce => "CE",
            Self::Hypernetworks => "FedCompetitors",
            Self::BestHypernetworks => "FedCompetitors, optimal",
            Self::Mixing => "FedCompetitors, mixing",
        }
    }

    /// Which estimate it needs.
    pub fn source(self) -> Option<Source> {
        match self {
            Self::Ce | Self::Hypernetworks | Self::BestHypernetworks => Some(Source::Hypernetwork),
            Self::Mixing => Some(Source::Mixture),
            _ => None,
        }
    }

    pub(super) fn plan(self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let setting = fedcompetitors_select::Setting::new(competing, benefit);
        match self {
            Self::Local => Alone.plan(&setting),
            Self::FedAvg | Self::FedProx | Self::Scaffold => Cliques.plan(&setting),
            Self::Ce => Coalitions.plan(&setting),
            Self::Hypernetworks => Greedy.plan(&setting),
            Self::BestHypernetworks | Self::Mixing => Optimal::default().plan(&setting),
        }
    }

    /// The trainers among which validation data chooses, the usual one first, each with what
    /// sets it apart.
    pub(super) fn trainers(self) -> Vec<(String, Box<dyn Trainer>)> {
        let only = |trainer| vec![(String::new(), trainer)];
        let with_steps = |name: &str, trainer: &dyn Fn(usize) -> Box<dyn Trainer>| {
            let named = |&steps| (format!("{name}{steps} steps"), trainer(steps));
            LOCAL_STEPS.iter().map(named).collect::<Vec<_>>()
        };
        let averaging = |correction, local_steps| -> Box<dyn Trainer> {
            Box::new(Averaging { local_steps, correction })
        };
        match self {
            Self::Local => only(averaging(Correction::None, LOCAL_STEPS[0])),
            Self::FedAvg => with_steps("", &|steps| averaging(Correction::None, steps)),
            Self::FedProx => PULLS
                .iter()
                .flat_map(|&pull| {
                    with_steps(&format!("pull {pull}, "), &|steps| {
                        averaging(Correction::Proximal { pull }, steps)
                    })
                })
                .collect(),
            Self::Scaffold => {
                with_steps("", &|steps| averaging(Correction::ControlVariates, steps))
            }
            Self::Ce | Self::Hypernetworks | Self::BestHypernetworks => {
                only(Box::<Hypernetworks>::default())
            }
            Self::Mixing => [true, false]
                .iter()
                .flat_map(|&checked| {
                    let name = if checked { "" } else { "unchecked, " };
                    with_steps(name, &|local_steps| {
                        Box::new(Mixing { local_steps, checked, ..Mixing::default() })
                    })
                })
                .collect(),
        }
    }
}

/// Steps between two exchanges, for every method that has such; the usual ones first.
const LOCAL_STEPS: [usize; 3] = [10, 5, 20];

/// How strongly `FedProx` may pull: the values that its authors tried, the usual one first.
const PULLS: [f32; 4] = [0.01, 0.001, 0.1, 1.0];

/// Where benefits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The paper's joint hypernetwork.
    Hypernetwork,
    /// The mixture of models.
    Mixture,
}

impl Source {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hypernetwork, Self::Mixture];

    pub(super) fn estimator(self) -> Box<dyn Estimator> {
        match self {
            Self::Hypernetwork => Box::new(JointHypernetwork::default()),
            Self::Mixture => Box::new(Mixture::default()),
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hypernetwork => "hypernetwork",
            Self::Mixture => "mixture",
        }
    }
}
