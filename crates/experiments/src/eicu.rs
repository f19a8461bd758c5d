//! The paper's experiment with hospitals: who dies there, as told by the first day.
//!
//! Repeated cross-validation: in each repeat the patients of every participant are dealt out
//! anew into five folds, each of which is tested by a model that has not seen it. All of a
//! participant's patients are tested in each repeat, so that no figure rests on a lucky split.
//!
//! - **Model.** Logistic regression for everybody and every method. A small participant has
//!   five or ten deaths and about ninety features: whatever has more parameters would learn
//!   those by heart.
//! - **Weights.** Death and survival count the same in the loss, by the training rows of each.
//! - **Scales.** Everybody's own, of its training rows; a missing number becomes the mean,
//!   with a feature that says so.
//! - **AUC.** Of all pairs of a dead and a surviving patient *of the same fold*, the part in
//!   which the dead one got the higher risk. Pairs of different folds would compare what two
//!   models say, whose outputs need not be on one scale. A fold without deaths has no pairs and
//!   says nothing.
//! - **Choices.** As with synthetic data, by the validation rows of other seeds. There are no
//!   other patients to choose by: what is validation there is test here. With a few rates for
//!   each method and one choice for all participants little can be learned that way, but it
//!   is not nothing, and the table says so.

pub mod federation;

use std::sync::Arc;

use fedcompetitors_federate::FederateError;
use fedcompetitors_files::{Cohort, Hospitals};
use fedcompetitors_graphs::{CompetingGraph, Participants, random::Stream};
use fedcompetitors_learn::{
    Auc, LearnError, Learner, Loss, Mlp, Model, NativeLearner, OptimizerSettings, Part, Split,
    Targets,
};

use crate::{
    Estimates, Method, MethodResult, Progress,
    contest::{BEFORE_FIRST_SEED, CHOICE_SEEDS, Contest, method_result, usual_rules},
};

/// Parts into which the patients of a participant are dealt out.
pub const FOLDS: usize = 5;

/// The part of the patients who are not tested that is for choices.
const VALIDATION: f64 = 0.2;

/// Who competes with whom, counted from 1.
const COMPETING: [(usize, usize); 3] = [(2, 5), (3, 4), (3, 5)];

/// What to run.
#[derive(Debug, Clone)]
pub struct EicuExperiment {
    /// Who takes part.
    pub hospitals: Hospitals,
    /// How often everything is cross-validated, with the seeds 901, 902, ….
    pub repeats: u64,
    /// Gradients for each participant and method.
    pub evaluations: usize,
    /// The rules among which each method's validation data chooses.
    pub rules: Vec<OptimizerSettings>,
    /// Also compare the estimates with measured gains.
    pub measure: bool,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct EicuResults {
    /// Who competes with whom.
    pub competing: CompetingGraph,
    /// Gradients that each method may take for each participant.
    pub budget: usize,
    /// Among how many rules each method's validation data has chosen.
    pub rules: usize,
    /// The estimates of each fold of each repeat.
    pub estimates: Vec<Estimates>,
    /// The methods; their cells are AUCs, for each repeat that of each participant.
    pub methods: Vec<MethodResult>,
}

impl EicuExperiment {
    /// The usual budget and choice.
    pub fn new(hospitals: Hospitals, repeats: u64) -> Self {
        Self { hospitals, repeats, evaluations: 2000, rules: usual_rules(), measure: false }
    }

    /// Runs it, in parallel as far as there are threads; the result does not depend on
    /// their number.
    ///
    /// # Errors
    /// If a participant has too few patients, if a training diverges, with every rule or with
    /// the chosen one in the table, or if the estimates cost the whole budget.
    pub fn run(&self, progress: Progress<'_>) -> Result<EicuResults, FederateError> {
        let competing = competing(self.hospitals.cohorts.len());
        let folds = |seed: u64| (0..FOLDS).map(move |fold| (seed, fold));
        let repeats = (1..=self.repeats).map(|at| BEFORE_FIRST_SEED + at);
        let to_choose: Vec<(u64, usize)> = CHOICE_SEEDS.into_iter().flat_map(folds).collect();
        let to_show: Vec<(u64, usize)> = repeats.flat_map(folds).collect();
        let contest = Contest {
            competing: &competing,
            methods: &Method::HOSPITALS,
            evaluations: self.evaluations,
            rules: &self.rules,
            measure: self.measure,
            // Validation data of a small participant may have a single death: its loss says
            // more than its AUC.
            error: |learner, model| learner.loss(Part::Validation, model),
        };
        let learners =
            |&(seed, fold): &(u64, usize)| Ok((seed, self.learners(&competing, seed, fold)?));
        let (instances, outcomes) = contest.run(&to_choose, &to_show, learners, progress)?;
        let methods = outcomes
            .into_iter()
            .map(|(trial, runs)| {
                let repeats = instances.chunks_exact(FOLDS).zip(runs.chunks_exact(FOLDS));
                let cells = repeats.map(|(instances, runs)| {
                    let folds = || instances.iter().zip(runs);
                    let of = |a: usize| {
                        auc(folds()
                            .map(|(instance, run)| (&instance.learners[a], &run.models[a][..])))
                    };
                    (0..competing.participants().len()).map(of).collect()
                });
                let cells = cells.collect();
                method_result(trial, &runs, cells)
            })
            .collect();
        Ok(EicuResults {
            budget: self.evaluations,
            rules: self.rules.len(),
            estimates: instances.into_iter().map(|instance| instance.estimates).collect(),
            methods,
            competing,
        })
    }

    /// Everybody's learner in a fold of the repeat with this seed.
    fn learners(
        &self,
        competing: &CompetingGraph,
        seed: u64,
        fold: usize,
    ) -> Result<Vec<NativeLearner>, FederateError> {
        let one = |(a, cohort): (usize, &Cohort)| {
            let mut stream = Stream::new(seed, "folds", a as u64);
            learner(cohort, fold, &mut stream).map_err(|error| FederateError::Participant {
                participant: competing.participants().name(a).to_owned(),
                error,
            })
        };
        self.hospitals.cohorts.iter().enumerate().map(one).collect()
    }
}

fn learner(cohort: &Cohort, fold: usize, stream: &mut Stream) -> Result<NativeLearner, LearnError> {
    let table = &cohort.table;
    let split = Split::folds(table.targets(), FOLDS, VALIDATION, stream)?.swap_remove(fold);
    let samples = table.encode(Some(&table.scales(&split.training)), true)?;
    let loss = match samples.chosen(&split.training)?.targets() {
        Targets::Classes { labels, .. } => Loss::balanced(labels),
        Targets::Values(_) => return Err(LearnError::Unsuitable("deaths are classes")),
    };
    let model: Arc<dyn Model> = Arc::new(Mlp::linear(samples.columns(), 1).with_own_head());
    NativeLearner::new(model, loss, &Auc, &samples, &split)
}

/// A participant's AUC in one repeat, over its folds with their models; not a number if no
/// fold has both a death and a survivor.
fn auc<'a>(folds: impl Iterator<Item = (&'a NativeLearner, &'a [f32])>) -> f64 {
    let (mut right, mut all) = (0.0, 0.0);
    for (learner, model) in folds {
        if let (Some(auc), Targets::Classes { labels, .. }) =
            (learner.metric(Part::Test, model), learner.part(Part::Test).targets())
        {
            let deaths = labels.iter().filter(|&&label| label == 1).count();
            let pairs = (deaths * (labels.len() - deaths)) as f64;
            right += auc * pairs;
            all += pairs;
        }
    }
    right / all
}

fn competing(participants: usize) -> CompetingGraph {
    let mut competing = CompetingGraph::builder(&Participants::numbered(participants));
    for (a, b) in COMPETING.into_iter().filter(|&(_, b)| b <= participants) {
        competing.report(a - 1, b - 1).expect("two different participants");
    }
    competing.build()
}

/// The AUCs that the paper has for a method.
pub fn paper(method: Method) -> Option<[f64; 10]> {
    Some(match method {
        Method::Local => {
            [0.7612, 0.6946, 0.6894, 0.6804, 0.7646, 0.4, 0.693, 0.6053, 0.5694, 0.4912]
        }
        Method::FedAvg => {
            [0.7526, 0.7209, 0.6887, 0.7413, 0.8372, 0.4167, 0.7937, 0.5441, 0.6667, 0.381]
        }
        Method::Ce => [0.8353, 0.7564, 0.7438, 0.7446, 0.8089, 0.8261, 0.7143, 0.6667, 0.6667, 0.8],
        Method::Hypernetworks | Method::BestHypernetworks | Method::Mixing => {
            [0.815, 0.7823, 0.6918, 0.8352, 0.8591, 0.8958, 0.807, 0.6889, 0.9048, 0.9524]
        }
        Method::FedProx | Method::Scaffold | Method::LocalEnsemble | Method::Trunks => return None,
    })
}

#[cfg(test)]
mod tests {
    use fedcompetitors_learn::{Column, Table};

    use super::*;

    /// Patients with one number each, which changes by `shift` where `shifted` says so.
    fn cohort(patients: u32, deaths: u32, shifted: impl Fn(u32) -> bool, shift: f32) -> Cohort {
        let value = |row| (row * 7 % 11) as f32 + if shifted(row) { shift } else { 0.0 };
        let numbers = (0..patients).map(|row| Some(value(row))).collect();
        let labels = (0..patients).map(|row| u32::from(row < deaths)).collect();
        let targets = Targets::Classes { labels, count: 2 };
        let table = Table::new(vec!["pulse".into()], vec![Column::Numbers(numbers)], targets);
        let table = table.expect("a good table");
        Cohort { about: "a hospital".into(), hospitals: 1, deaths: deaths as usize, table }
    }

    fn folds(cohort: &Cohort) -> Vec<NativeLearner> {
        let stream = || Stream::new(7, "folds", 0);
        (0..FOLDS).map(|fold| learner(cohort, fold, &mut stream()).expect("enough")).collect()
    }

    /// Every pair of a dead and a surviving patient of one fold, one by one.
    #[test]
    fn pairs_of_one_fold_are_compared() {
        // With three deaths two folds have none.
        for deaths in [3, 5, 12] {
            let learners = folds(&cohort(40, deaths, |_| false, 0.0));
            let mut tested = 0;
            let (mut right, mut all) = (0.0, 0.0);
            for (fold, learner) in learners.iter().enumerate() {
                let samples = learner.part(Part::Test);
                tested += samples.len();
                // Models of unlike scale, one of them of another mind.
                let slope = [1.0, 100.0, -1.0, 0.01, 1.0][fold];
                let risk = |row: usize| slope * samples.features()[row * samples.columns()];
                let Targets::Classes { labels, .. } = samples.targets() else {
                    panic!("deaths are classes");
                };
                let of = |class| (0..labels.len()).filter(move |&row| labels[row] == class);
                for (dead, alive) in of(1).flat_map(|dead| of(0).map(move |alive| (dead, alive))) {
                    all += 1.0;
                    right += match risk(dead).total_cmp(&risk(alive)) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
            assert_eq!(tested, 40);
            // A weight for the number, one for its being missing, and the start.
            let models = [1.0_f32, 100.0, -1.0, 0.01, 1.0].map(|slope| [slope, 0.0, 0.0]);
            let found = auc(learners.iter().zip(models.iter().map(|model| &model[..])));
            assert!((found - right / all).abs() < 1e-12, "{deaths}: {found} {}", right / all);
        }
    }

    /// What is learned from stays the same, bit by bit, whatever is tested.
    #[test]
    fn nothing_of_the_test_is_known_before() {
        let usual = cohort(40, 8, |_| false, 0.0);
        let split = |fold| {
            let folds = Split::folds(
                usual.table.targets(),
                FOLDS,
                VALIDATION,
                &mut Stream::new(7, "folds", 0),
            );
            folds.expect("enough").swap_remove(fold)
        };
        for (fold, before) in folds(&usual).iter().enumerate() {
            let test = split(fold).test;
            let after = folds(&cohort(40, 8, |row| test.contains(&row), 50.0)).swap_remove(fold);
            for part in [Part::Training, Part::Validation] {
                assert_eq!(before.part(part), after.part(part));
            }
            assert_ne!(before.part(Part::Test), after.part(Part::Test));
        }
    }

    #[test]
    fn who_competes_and_what_the_paper_says() {
        let competing = competing(10);
        assert!(competing.pairs().eq([(1, 4), (2, 3), (2, 4)]));
        let figures = paper(Method::Hypernetworks).expect("in the paper");
        assert!((figures[9] - 0.9524).abs() < 1e-12 && paper(Method::FedProx).is_none());
    }
}
