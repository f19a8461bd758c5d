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
use fedcompetitors_record::{self as record, Direction, Figure, Score, Scores, Session};

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

/// The figures of all sessions together, for each method and a constant prediction, with the intervals of
/// a bootstrap.
///
/// # Errors
/// If predictions cannot be read or are not finite.
pub fn all(prepared: &Prepared, store: &Store) -> Result<Vec<(String, Vec<Scores>)>, RunError> {
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
    let names = names.into_iter().chain([CONSTANT.to_owned()]);
    let calibrations = calibrations(prepared, &participants);
    let comparison = Comparison::new(participants, baseline.unwrap_or(0), settings.seed)
        .map_err(|error| prepared.of(0, error))?
        .with_replicates(settings.evaluation.replicates as usize);
    let mut figures: Vec<(String, Vec<Scores>)> = names.map(|name| (name, Vec::new())).collect();
    for metric in metrics(prepared) {
        for ((_, scores), found) in figures.iter_mut().zip(comparison.scores(metric)) {
            scores.push(of_method(metric, found, baseline.is_some()));
        }
    }
    for ((_, scores), calibration) in figures.iter_mut().zip(calibrations) {
        scores.extend(calibration);
    }
    Ok(figures)
}

/// For each method slope and intercept of the calibration, where probabilities of two classes are
/// predicted. A loss with other weights than 1 predicts none.
fn calibrations(prepared: &Prepared, participants: &[Predictions]) -> Vec<Vec<Scores>> {
    let task = &prepared.settings().task;
    if task.kind != TaskKind::Binary || task.balanced {
        return Vec::new();
    }
    let of = |method: usize| {
        let all: Vec<Option<Calibration>> =
            participants.iter().map(|one| one.calibration(method)).collect();
        let part = |title: &str, part: fn(&Calibration) -> f64| {
            let values: Vec<Option<f64>> =
                all.iter().map(|found| found.as_ref().map(part)).collect();
            let score = |value: Option<f64>| Score {
                value: value.map_or(Figure::Undefined, Figure::Value),
                gain: Figure::Undefined,
            };
            let defined: Vec<f64> = values.iter().flatten().copied().collect();
            let sum: f64 = defined.iter().sum();
            let mean = (!defined.is_empty()).then(|| sum / defined.len() as f64);
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
    let MethodScores { mut participants, mut mean } = found;
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
) -> Result<Predictions, LearnError> {
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
    let fold = |one: &&StoredPrediction| TestFold {
        repeat: repeat(one.session),
        rows: test(one.session).iter().map(place).collect(),
        outputs: one.outputs.iter().map(|output| f64::from(*output)).collect(),
    };
    let of = |all: &Vec<&StoredPrediction>| all.iter().map(fold).collect();
    let mut methods: Vec<Vec<TestFold>> = methods.iter().map(of).collect();
    methods.push(folds().map(|session| constant(prepared, participant, session, &place)).collect());
    let units: Option<Vec<usize>> = units.map(Iterator::collect);
    let targets = source.targets().chosen(&tested);
    Predictions::new(targets, units.as_deref(), methods)
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
