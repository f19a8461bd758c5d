//! The figures of a run: how good models are on rows that they were not trained on.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use fedcompetitors_files::federation::Method;
use fedcompetitors_graphs::Registry;
use fedcompetitors_learn::{
    Dependence, LearnError, Metric, Split, TaskKind,
    evaluation::{Calibration, Comparison, MethodScores, Predictions, TestFold, constant_outputs},
};
use fedcompetitors_record::{
    self as record, Direction, Figure, Score, Scores, Session, StandardError,
};

use crate::{Prepared, RunError, Store, store::StoredPrediction, summary::Known};

/// What figures of a constant prediction are stored as.
pub const CONSTANT: &str = "constant";

/// Test figures of one method by session and participant.
type Tests = BTreeMap<(Session, usize), f64>;

/// Adds the figures of methods: those of all sessions together where they are done, until then means
/// over the sessions that are.
pub fn add_scores(
    known: &Known<'_>,
    methods: &mut [record::Method],
    metric: &record::Metric,
) -> Result<(), RunError> {
    let tests: Vec<Tests> = methods
        .iter()
        .map(|method| tests(known, &method.name, &metric.name))
        .collect::<Result<_, _>>()?;
    let local = methods.iter().position(|method| method.is_local).map(|at| &tests[at]);
    for (method, tests) in methods.iter_mut().zip(&tests) {
        method.scores = known.store.figures(&method.name, known.count)?;
        if method.scores.is_empty() && !tests.is_empty() {
            method.scores = vec![means(tests, local, known.count, metric)];
        }
    }
    Ok(())
}

fn tests(known: &Known<'_>, method: &str, metric: &str) -> Result<Tests, RunError> {
    let rows: Vec<(Session, usize, f64)> = known.store.rows(
        "SELECT session, participant, value FROM metrics
         JOIN trainings ON trainings.id = training
         WHERE method = ? AND metric = ? AND split = 'test' AND value IS NOT NULL
           AND gradients IS NOT NULL AND round = rounds",
        (method, metric),
        |row| Ok((crate::store::named(row, 0)?, row.get(1)?, row.get(2)?)),
    )?;
    known.all(rows.iter().map(|row| row.1))?;
    Ok(rows.into_iter().map(|(session, who, value)| ((session, who), value)).collect())
}

/// Means over sessions, of which no interval is known.
fn means(tests: &Tests, local: Option<&Tests>, count: usize, metric: &record::Metric) -> Scores {
    let sign = match metric.direction {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
    };
    let mean = |values: Vec<f64>| {
        let sum: f64 = values.iter().sum();
        match values.len() {
            0 => Figure::Undefined,
            count => Figure::Value(sum / count as f64),
        }
    };
    let of = |participant: usize| {
        let own = || tests.iter().filter(move |((_, who), _)| *who == participant);
        let gain = |(at, value): (&(Session, usize), &f64)| {
            local.and_then(|local| Some(sign * (value - local.get(at)?)))
        };
        Score {
            value: mean(own().map(|(_, value)| *value).collect()),
            gain: mean(own().filter_map(gain).collect()),
        }
    };
    let participants: Vec<Score> = (0..count).map(of).collect();
    let over = |part: fn(&Score) -> Figure| {
        mean(participants.iter().filter_map(|one| part(one).value()).collect())
    };
    let mean = Score { value: over(|one| one.value), gain: over(|one| one.gain) };
    Scores { metric: metric.name.clone(), mean, participants }
}

/// What methods predict for a participant, and which of them have outputs that are not finite. Those have
/// no figures for the participant.
struct Predicted {
    predictions: Predictions,
    is_overflown: Vec<bool>,
}

/// The figures of a run, all sessions together.
pub struct Figures {
    /// Those of each method by each metric, by name.
    pub methods: Vec<(String, Vec<Scores>)>,
    /// How sure differences between means by the reported metric are.
    pub standard_errors: Vec<StandardError>,
}

/// The figures of all sessions together, for each method and a constant prediction, with the intervals of
/// a bootstrap. Where an output is not finite, the method's figures for the participant are undefined, and
/// so are its means: those over the others would not compare with other methods.
///
/// # Errors
/// If predictions cannot be read.
pub fn all(prepared: &Prepared, store: &Store) -> Result<Figures, RunError> {
    let settings = prepared.settings();
    let methods = settings.methods();
    let names: Vec<String> = methods.iter().map(|method| method.name()).collect();
    let stored = store.predictions()?;
    let participants = (0..prepared.sources().len())
        .map(|participant| {
            let of = |name: &String| {
                let own = stored.iter();
                own.filter(|one| one.participant == participant && one.method == *name).collect()
            };
            let methods: Vec<Vec<_>> = names.iter().map(of).collect();
            predictions(prepared, participant, &methods)
                .map_err(|error| prepared.of(participant, error))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let baseline = methods.iter().position(|method| *method == Method::local());
    let names: Vec<String> = names.into_iter().chain([CONSTANT.to_owned()]).collect();
    let calibrations = calibrations(prepared, &participants);
    let (participants, overflown): (Vec<Predictions>, Vec<Vec<bool>>) =
        participants.into_iter().map(|one| (one.predictions, one.is_overflown)).unzip();
    let comparison = Comparison::new(participants, baseline.unwrap_or(0), settings.seed)
        .map_err(|error| prepared.of(0, error))?
        .with_replicates(settings.evaluation.replicates as usize);
    let mut figures: Vec<(String, Vec<Scores>)> =
        names.iter().map(|name| (name.clone(), Vec::new())).collect();
    let mut errors = None;
    for metric in metrics(prepared) {
        let mut found = comparison.scores(metric);
        // The reported metric comes first.
        errors.get_or_insert_with(|| standard_errors(&names, &found));
        leave_undefined(&mut found, &overflown, baseline);
        for ((_, scores), found) in figures.iter_mut().zip(found) {
            scores.push(of_method(metric, found, baseline.is_some()));
        }
    }
    for ((_, scores), calibration) in figures.iter_mut().zip(calibrations) {
        scores.extend(calibration);
    }
    Ok(Figures { methods: figures, standard_errors: errors.unwrap_or_default() })
}

/// The standard errors of the differences between means, for each pair of methods where they are known.
fn standard_errors(names: &[String], found: &[MethodScores]) -> Vec<StandardError> {
    let of = |(at, scores): (usize, &MethodScores)| {
        let others = names.iter().zip(&scores.standard_errors).skip(at + 1);
        let error = |(other, error): (&String, &Option<f64>)| {
            Some(StandardError { methods: [names[at].clone(), other.clone()], error: (*error)? })
        };
        others.filter_map(error).collect::<Vec<_>>()
    };
    found.iter().enumerate().flat_map(of).collect()
}

/// Takes back the figures of methods with outputs that are not finite, and the gains over a baseline with
/// such outputs. `overflown` says for each participant which methods have them.
fn leave_undefined(found: &mut [MethodScores], overflown: &[Vec<bool>], baseline: Option<usize>) {
    for (participant, overflown) in overflown.iter().enumerate() {
        for (method, scores) in found.iter_mut().enumerate() {
            let MethodScores { participants, mean, .. } = scores;
            let own = &mut participants[participant];
            if overflown[method] {
                (*own, *mean) = (Score::default(), Score::default());
            }
            if baseline.is_some_and(|baseline| overflown[baseline]) {
                (own.gain, mean.gain) = (Figure::Undefined, Figure::Undefined);
            }
        }
    }
}

/// For each method slope and intercept of the calibration, where probabilities of two classes are
/// predicted. A loss with other weights than 1 predicts none.
fn calibrations(prepared: &Prepared, participants: &[Predicted]) -> Vec<Vec<Scores>> {
    let task = &prepared.settings().task;
    if task.kind != TaskKind::Binary || task.balanced {
        return Vec::new();
    }
    let of = |method: usize| {
        let is_finite = |one: &&Predicted| !one.is_overflown[method];
        let of = |one: &Predicted| Some(one).filter(is_finite)?.predictions.calibration(method);
        let all: Vec<Option<Calibration>> = participants.iter().map(of).collect();
        let is_comparable = participants.iter().all(|one| is_finite(&one));
        let part = |title: &str, part: fn(&Calibration) -> f64| {
            let values: Vec<Option<f64>> =
                all.iter().map(|found| found.as_ref().map(part)).collect();
            let score = |value: Option<f64>| Score {
                value: value.map_or(Figure::Undefined, Figure::Value),
                gain: Figure::Undefined,
            };
            let defined: Vec<f64> = values.iter().flatten().copied().collect();
            let sum: f64 = defined.iter().sum();
            let has_mean = is_comparable && !defined.is_empty();
            let mean = has_mean.then(|| sum / defined.len() as f64);
            let participants = values.into_iter().map(score).collect();
            Scores { metric: title.into(), mean: score(mean), participants }
        };
        vec![
            part("calibration slope", |found| found.slope),
            part("calibration intercept", |found| found.intercept),
        ]
    };
    // A constant prediction has no slope.
    (0..prepared.settings().methods().len()).map(of).collect()
}

/// The metrics that fit the task, the reported one first.
fn metrics(prepared: &Prepared) -> impl Iterator<Item = &'static dyn Metric> {
    let (reported, task) = (prepared.metric().0, prepared.settings().task.kind);
    let is_other = move |metric: &&dyn Metric| metric.title() != reported.title();
    let fitting = <dyn Metric>::entries().iter().copied();
    iter::once(reported).chain(fitting.filter(is_other).filter(move |metric| metric.fits(task)))
}

fn of_method(metric: &dyn Metric, found: MethodScores, has_baseline: bool) -> Scores {
    let MethodScores { mut participants, mut mean, .. } = found;
    if !has_baseline {
        participants.iter_mut().chain([&mut mean]).for_each(|one| one.gain = Figure::Undefined);
    }
    Scores { metric: metric.title().to_owned(), mean, participants }
}

/// What each method has predicted for a participant's rows that were tested.
fn predictions(
    prepared: &Prepared,
    participant: usize,
    methods: &[Vec<&StoredPrediction>],
) -> Result<Predicted, LearnError> {
    let source = &prepared.sources()[participant];
    let test = |session| &prepared.splits(session)[participant].test;
    let folds = || prepared.sessions().into_iter().filter(|session| *session != Session::Final);
    let tested: BTreeSet<u32> = folds().flat_map(test).copied().collect();
    let tested: Vec<u32> = tested.into_iter().collect();
    let place = |row: &u32| tested.partition_point(|other| other < row);
    let units = match source.dependence.chosen(&tested) {
        Dependence::Groups(groups) => Some(groups.into_iter().map(|group| group as usize)),
        Dependence::None | Dependence::Time(_) => None,
    };
    let has_finite = |one: &&StoredPrediction| one.outputs.iter().all(|output| output.is_finite());
    let mut is_overflown: Vec<bool> =
        methods.iter().map(|folds| !folds.iter().all(has_finite)).collect();
    is_overflown.push(false);
    // Any number stands for one that is not finite: figures of it are taken back.
    let finite = |output: &f32| if output.is_finite() { f64::from(*output) } else { 0.0 };
    let fold = |one: &&StoredPrediction| TestFold {
        repeat: repeat(one.session),
        rows: test(one.session).iter().map(place).collect(),
        outputs: one.outputs.iter().map(finite).collect(),
    };
    let of = |all: &Vec<&StoredPrediction>| all.iter().map(fold).collect();
    let mut methods: Vec<Vec<TestFold>> = methods.iter().map(of).collect();
    methods.push(folds().map(|session| constant(prepared, participant, session, &place)).collect());
    let units: Option<Vec<usize>> = units.map(Iterator::collect);
    let targets = source.targets().chosen(&tested);
    let predictions = Predictions::new(targets, units.as_deref(), methods)?;
    Ok(Predicted { predictions, is_overflown })
}

/// What the other rows predict for those of a test, whatever their features.
fn constant(
    prepared: &Prepared,
    participant: usize,
    session: Session,
    place: &dyn Fn(&u32) -> usize,
) -> TestFold {
    let Split { training, validation, test } = &prepared.splits(session)[participant];
    let others =
        prepared.sources()[participant].targets().chosen(&[&training[..], validation].concat());
    let outputs = constant_outputs(prepared.settings().task.kind, &others, test.len());
    TestFold { repeat: repeat(session), rows: test.iter().map(place).collect(), outputs }
}

fn repeat(session: Session) -> usize {
    match session {
        Session::Final => 0,
        Session::Fold { repeat, .. } => repeat as usize,
    }
}
