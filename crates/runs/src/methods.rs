//! From the names in a federation file to estimators, policies and trainers, and what
//! flows by their nature.

use std::time::{Duration, Instant};

use fedcompetitors_files::federation::{
    EstimatorName, Method, MixName, ObjectiveName, OptimizerName, PolicyName, Scaling, Settings,
    TrainerName, WeightsName, written,
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};
use fedcompetitors_learn::Rule;
use fedcompetitors_record::{Flow, FlowSource};
use fedcompetitors_select::{
    Alone, Cliques, Coalitions, Effort as Search, Egoists, Greedy, Objective, Optimal, Plan,
    Policy, Setting,
};

use fedcompetitors_federate::{
    estimate::{Estimator, Given, JointHypernetwork, Measured, Mixture},
    train::{Averaging, Correction, Effort, Hypernetworks, Mixed, Mixing, Trainer, Weights},
};

/// How long the best plan is searched for. Federations of up to thirty or so are proven
/// long before; beyond, what was found by then counts, and the record says how far from the
/// best it may be. Then another machine, or another day, may find another plan.
const SEARCH: Duration = Duration::from_secs(60);

/// The estimator, which needs the benefits themselves if they are given.
pub fn estimator(settings: &Settings, given: Option<BenefitGraph>) -> Box<dyn Estimator> {
    let (threshold, batch) = (settings.benefit.threshold, settings.training.batch);
    match (settings.benefit.estimator, given) {
        (EstimatorName::Given, Some(benefit)) => Box::new(Given(benefit)),
        (EstimatorName::Hypernetwork, _) => {
            let usual = JointHypernetwork::default();
            Box::new(JointHypernetwork {
                threshold: threshold.unwrap_or(usual.threshold),
                batch,
                ..usual
            })
        }
        (EstimatorName::Measured, _) => {
            let usual = Measured::default();
            Box::new(Measured { threshold: threshold.unwrap_or(usual.threshold), batch, ..usual })
        }
        (EstimatorName::Mixture | EstimatorName::Given, _) => {
            let usual = Mixture::default();
            Box::new(Mixture { threshold: threshold.unwrap_or(usual.threshold), batch, ..usual })
        }
    }
}

/// Does a policy ask who would help whom?
pub fn needs_benefits(policy: PolicyName) -> bool {
    !matches!(policy, PolicyName::Cliques | PolicyName::None)
}

/// The plan of a policy.
pub fn plan(
    policy: PolicyName,
    objective: ObjectiveName,
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
) -> Plan {
    let setting = Setting::new(competing, benefit);
    match policy {
        PolicyName::Greedy => Greedy.plan(&setting),
        PolicyName::Cliques => Cliques.plan(&setting),
        PolicyName::Coalitions => Coalitions.plan(&setting),
        PolicyName::Egoists => Egoists.plan(&setting),
        PolicyName::None => Alone.plan(&setting),
        PolicyName::Optimal => {
            let objective = match objective {
                ObjectiveName::Welfare => Objective::Welfare,
                ObjectiveName::MaxMin => Objective::MaxMin,
                ObjectiveName::Proportional => Objective::Proportional,
            };
            let deadline = Some(Instant::now() + SEARCH);
            Optimal { objective, effort: Search { deadline, ..Search::default() } }.plan(&setting)
        }
    }
}

/// The trainer of a name.
pub fn trainer<'a>(
    name: TrainerName,
    settings: &Settings,
    benefit: &'a BenefitGraph,
) -> Box<dyn Trainer + 'a> {
    let training = &settings.training;
    let averaging =
        |correction| Box::new(Averaging { local_steps: training.local_steps, correction });
    match name {
        TrainerName::Averaging => averaging(Correction::None),
        TrainerName::Proximal => averaging(Correction::Proximal { pull: training.pull }),
        TrainerName::Scaffold => averaging(Correction::ControlVariates),
        TrainerName::Mixing => Box::new(Mixing {
            local_steps: training.local_steps,
            mixed: match training.mix {
                MixName::Models => Mixed::Models,
                MixName::Updates => Mixed::Updates,
                MixName::Gradients => Mixed::Gradients,
            },
            weights: match training.weights {
                WeightsName::Samples => Weights::Samples,
                WeightsName::Benefit => Weights::Benefit(benefit),
            },
            own_part: training.own_part,
            server_rate: training.server_rate,
            against_drift: training.against_drift,
            checked: training.checked,
        }),
        TrainerName::Hypernetworks => Box::new(Hypernetworks {
            hidden: training.hypernetwork_hidden,
            trial_percent: training.trial,
            ..Hypernetworks::default()
        }),
    }
}

/// How steps are made, so many of them.
pub fn effort(settings: &Settings, evaluations: usize) -> Effort {
    let training = &settings.training;
    let (rate, decay) = (training.rate, training.decay);
    let rule = match training.optimizer {
        OptimizerName::Adam => Rule::Adam { rate, decay },
        OptimizerName::Sgd => Rule::Sgd { rate, momentum: training.momentum, decay },
    };
    Effort { evaluations, rule, batch: training.batch }
}

/// The information that a training lets flow outside its ledger, by design.
pub fn flows(
    settings: &Settings,
    method: Method,
    competing: &CompetingGraph,
    usage: &UsageGraph,
) -> Vec<Flow> {
    let all_pairs = || competing.pairs().collect::<Vec<_>>();
    let flow = |source, statement: &str, pairs| Flow { source, statement: statement.into(), pairs };
    let Method::Planned(policy, trainer) = method else {
        let statement = "one model is trained on the data of all participants, competitors included: for reference only";
        return vec![flow(FlowSource::Method, statement, all_pairs())];
    };
    let mut flows: Vec<Flow> = Vec::new();
    if settings.data.scaling == Scaling::Shared {
        let statement = "numbers are scaled by the common mean and deviation of all participants";
        flows.push(flow(FlowSource::Scaling, statement, all_pairs()));
    }
    if needs_benefits(policy) {
        let (statement, pairs) = match settings.benefit.estimator {
            EstimatorName::Mixture => (
                "mixture: each participant trains a model alone and sends it to the coordinator, which shows each participant mixtures with models of those it does not compete with, over one hop, and discards them; all of that is in the ledger of the estimate",
                Vec::new(),
            ),
            EstimatorName::Measured => (
                "measured: a coordinator that is trusted with all data trains a model for each participant with each other one that it does not compete with, over one hop, and discards the models",
                Vec::new(),
            ),
            EstimatorName::Hypernetwork => (
                "hypernetwork: the models of one common hypernetwork show each participant traces of all others, unless a trusted coordinator has all data",
                all_pairs(),
            ),
            EstimatorName::Given => ("given: the benefits come from a file", Vec::new()),
        };
        flows.push(flow(FlowSource::Estimator, statement, pairs));
    }
    let by_benefit = settings.training.weights == WeightsName::Benefit;
    if trainer == TrainerName::Mixing && by_benefit && needs_benefits(policy) {
        let statement = "weights: the weight of each helper in a mixture follows from the estimate, to which refused participants have contributed, too";
        flows.push(flow(FlowSource::Weights, statement, Vec::new()));
    }
    let (statement, pairs) = match trainer {
        TrainerName::Hypernetworks => (
            "hypernetworks: helpers of one participant see each other's traces in its models, unless a trusted coordinator has all data".into(),
            joined(competing, usage),
        ),
        _ => (
            format!("{}: everything that flows in training is in the ledger", written(trainer)),
            Vec::new(),
        ),
    };
    flows.push(Flow { source: FlowSource::Trainer, statement, pairs });
    flows
}

/// The competing pairs that have a common participant to help, so that hypernetwork training
/// would show them each other's traces.
fn joined(competing: &CompetingGraph, usage: &UsageGraph) -> Vec<(usize, usize)> {
    competing
        .pairs()
        .filter(|&(a, b)| {
            (0..usage.participants().len()).any(|to| {
                let helps = |who: usize| who == to || usage.uses(who, to);
                helps(a) && helps(b)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::Participants;

    use super::*;

    #[test]
    fn competitors_with_a_common_friend_see_each_others_traces() {
        let participants = Participants::numbered(4);
        let mut competing = CompetingGraph::builder(&participants);
        competing.report(0, 1).expect("two");
        competing.report(2, 3).expect("two");
        let competing = competing.build();
        let mut usage = UsageGraph::builder(&participants);
        usage.add(0, 2).expect("new");
        usage.add(1, 2).expect("new");
        assert_eq!(joined(&competing, &usage.build()), [(0, 1)]);
    }
}
