//! What a method of a federation file needs and lets flow.

use fedcompetitors_federate::train::{Effort, TrainerKind};
use fedcompetitors_files::federation::{Method, OptimizerName, Scaling, Settings};
use fedcompetitors_graphs::{BenefitGraph, Choice, CompetingGraph, Rule, UsageGraph};
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::{Flow, FlowSource, Forecast, Session};
use fedcompetitors_select::{
    Effort as Search, Friends, Optimal, Plan, Policy, SampleCounts, Setting,
};

/// The limit of the search for the best plan: at most about ten seconds. It is counted in operations,
/// not in seconds, so that a run finds the same plan on every machine. Up to about twenty participants
/// plans are mostly proven before; beyond, the best plan found by then counts, and the record says how
/// far from the best it may be.
const SEARCH: u64 = 10_000_000_000;

/// The limit of the search for a plan that only figures come from, or that is only compared with: about a
/// second. A good plan is found long before; what a longer search adds is the proof.
const SHORT_SEARCH: u64 = 1_000_000_000;

/// The plan of a policy for a trainer. `samples` are how many each participant trains and chooses on, `budget` is
/// that of a search.
///
/// # Panics
/// If there is not a positive count for each participant.
pub fn plan(
    (policy, trainer): (Choice<dyn Policy>, Choice<TrainerKind>),
    settings: &Settings,
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    (samples, budget): (&[usize], u64),
) -> Plan {
    let counts = samples.iter().map(|&count| count as f64).collect();
    let counts =
        SampleCounts::new(competing.participants(), counts).expect("everybody has samples");
    let fewest = fewest_sources(settings, trainer);
    let counts = counts.with_fewest(fewest);
    let objective = settings.objective().with(Some(&counts)).expect("counts are given");
    let effort = Search { budget: Some(budget), ..Search::default() };
    let mut plan = policy.plan(&Setting::new(competing, benefit), objective, effort);
    if fewest > 1 && plan.diminishing.is_some() {
        let counted = "single sources are not counted (`single-source` allows them)";
        plan.note = plan.note.map(|note| format!("{note}; {counted}"));
    }
    plan
}

/// The helpers that a participant needs to receive anything, where benefits say who they are.
fn fewest_sources(settings: &Settings, trainer: Choice<TrainerKind>) -> usize {
    let are_rows = settings.estimator().benefits_are_rows();
    if are_rows { settings.trainer(trainer).fewest_sources() } else { 1 }
}

/// The limit of the search in a session.
pub fn search(session: Session) -> u64 {
    match session {
        Session::Final => SEARCH,
        Session::Fold { .. } => SHORT_SEARCH,
    }
}

/// What the estimate predicts under the rule of a plan and under the other one, if the trainer can keep both,
/// and a note where the plan under the other rule is the best that a short search has found. Benefits in rows are
/// of related helpers: a participant with fewer of them than the trainer delivers a message of receives nothing.
pub fn forecast(
    settings: &Settings,
    kind: Choice<TrainerKind>,
    (rule, usage): (Rule, &UsageGraph),
    benefit: &BenefitGraph,
    plan: impl Fn(Choice<dyn Policy>, u64) -> Plan,
) -> Option<(Forecast, Option<String>)> {
    if !settings.trainer(kind).sends_own_data_only() {
        return None;
    }
    let other = match rule {
        Rule::Paths => plan(Choice(&Friends), SHORT_SEARCH),
        Rule::Messages => plan(Choice(&Optimal), SHORT_SEARCH),
    };
    let fewest = fewest_sources(settings, kind);
    let received = |usage: &UsageGraph| {
        let of = |to: usize| {
            let helpers = benefit.helpers(to).filter(|&(from, _)| usage.uses(from, to));
            let values: Vec<f64> = helpers.map(|(_, value)| value).collect();
            if values.len() < fewest { 0.0 } else { values.iter().sum() }
        };
        let count = usage.participants().len();
        (0..count).map(of).sum::<f64>() / count as f64
    };
    let is_proven = other.rule == Rule::Messages
        || other.diminishing.map_or(other.upper_bound <= other.welfare * (1.0 + 1e-6), |bounded| {
            bounded.is_proven()
        });
    let note = (!is_proven).then(|| {
        "the forecast for the rule paths is about that of the best plan: it is of the best that a short search has found".into()
    });
    let (received, by_other_rule) = (received(usage), received(&other.usage));
    let are_rows = settings.estimator().benefits_are_rows();
    Some((Forecast { received, by_other_rule, are_rows }, note))
}

/// How long to train, and with which steps.
pub fn effort(settings: &Settings, evaluations: usize) -> Effort {
    let training = &settings.training;
    let (rate, decay) = (training.rate, training.decay);
    let rule = match training.optimizer {
        OptimizerName::Adam => OptimizerSettings::Adam { rate, decay },
        OptimizerName::Sgd => OptimizerSettings::Sgd { rate, momentum: training.momentum, decay },
    };
    Effort { evaluations, local_steps: training.local_steps, rule, batch: training.batch }
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
    if policy.needs_benefits() {
        flows.push(settings.estimator().flow(competing));
    }
    if policy.rule() == Rule::Messages {
        let statement = "rule messages: each message carries its sender's data alone; a participant may help a friend of its competitor";
        flows.push(flow(FlowSource::Method, statement, Vec::new()));
    }
    flows.extend(settings.trainer(trainer).flows(competing, usage));
    // Weights cannot follow from an estimate that was not made.
    flows.retain(|flow| flow.source != FlowSource::Weights || policy.needs_benefits());
    if flows.iter().all(|flow| flow.source != FlowSource::Trainer) {
        flows.push(trainer.all_in_ledger());
    }
    flows
}
