//! The paper's synthetic experiments: every method on the same data, from the same start,
//! with the same number of gradients.
//!
//! Learning rate and decay are chosen for each method by the validation data of two
//! federations drawn with other seeds than those in the table. A method that
//! estimates benefits pays for that out of the same gradient budget.

#![forbid(unsafe_code)]

pub mod banks;
pub mod cifar10;
mod contest;
pub mod eicu;
mod method;
mod paper;

use fedcompetitors_federate::FederateError;
use fedcompetitors_files::FileError;
use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{Learner, NativeLearner, OptimizerSettings, Part};

use contest::{BEFORE_FIRST_SEED, CHOICE_SEEDS, Contest, method_result, usual_rules};

pub use contest::{Estimates, MethodResult, Progress};
pub use method::{Method, Source};
pub use paper::Setting;

/// Why an experiment cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Participants cannot learn.
    #[error(transparent)]
    Learning(#[from] FederateError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Which of the paper's settings.
    pub setting: Setting,
    /// How many federations, drawn with the seeds 901, 902, ….
    pub seeds: u64,
    /// Gradients for each participant and method.
    pub evaluations: usize,
    /// The rules among which each method's validation data chooses.
    pub rules: Vec<OptimizerSettings>,
    /// Also compare the estimates with measured gains.
    pub measure: bool,
}

/// Of a hundred samples so many are for choices.
const VALIDATION: usize = 20;

/// Samples that each participant's model is tested on.
const TEST_SAMPLES: usize = 1000;

impl Experiment {
    /// The usual budget and choice.
    pub fn new(setting: Setting, seeds: u64) -> Self {
        Self { setting, seeds, evaluations: 2000, rules: usual_rules(), measure: false }
    }
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Results {
    /// The setting.
    pub setting: Setting,
    /// Who competes with whom.
    pub competing: CompetingGraph,
    /// Gradients that each method may take for each participant.
    pub budget: usize,
    /// Among how many rules each method's validation data has chosen.
    pub rules: usize,
    /// The estimates of each seed.
    pub estimates: Vec<Estimates>,
    /// The methods.
    pub methods: Vec<MethodResult>,
}

impl Experiment {
    /// Runs it, in parallel as far as there are threads; the result does not depend on
    /// their number.
    ///
    /// # Errors
    /// If a training diverges, with every rule or with the chosen one in the table, or if the
    /// estimates cost the whole budget.
    pub fn run(&self, progress: Progress<'_>) -> Result<Results, FederateError> {
        let competing = self.setting.competing();
        let seeds: Vec<u64> = (1..=self.seeds).map(|at| BEFORE_FIRST_SEED + at).collect();
        let contest = Contest {
            competing: &competing,
            methods: &Method::SYNTHETIC,
            evaluations: self.evaluations,
            rules: &self.rules,
            measure: self.measure,
            error: |learner, model| squared_error(learner, Part::Validation, model),
        };
        let learners = |&seed: &u64| Ok((seed, self.learners(&competing, seed)?));
        let (instances, outcomes) = contest.run(&CHOICE_SEEDS, &seeds, learners, progress)?;
        let methods = outcomes.into_iter().map(|(trial, runs)| {
            let cells = instances.iter().zip(&runs).map(|(instance, run)| {
                let measured = instance.learners.iter().zip(&run.models);
                measured.map(|(one, model)| squared_error(one, Part::Test, model)).collect()
            });
            method_result(trial, &runs, cells.collect())
        });
        Ok(Results {
            setting: self.setting,
            budget: self.evaluations,
            rules: self.rules.len(),
            methods: methods.collect(),
            estimates: instances.into_iter().map(|instance| instance.estimates).collect(),
            competing,
        })
    }

    fn learners(
        &self,
        competing: &CompetingGraph,
        seed: u64,
    ) -> Result<Vec<NativeLearner>, FederateError> {
        let learners = self.setting.synthetic().learners(seed, VALIDATION, TEST_SAMPLES);
        learners.map_err(|error| FederateError::Participant {
            participant: competing.participants().name(0).to_owned(),
            error,
        })
    }
}

/// The metric of a participant's model. For squared errors it is always defined.
fn squared_error(learner: &NativeLearner, part: Part, model: &[f32]) -> f64 {
    learner.metric(part, model).unwrap_or(f64::NAN)
}
