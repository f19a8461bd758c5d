//! Figures with intervals: against copies of rows, and on simulated data.

#![expect(clippy::float_cmp, reason = "ties are equal, and classes are whole numbers")]

mod naive;

use fedcompetitors_graphs::{Registry, random::Stream};
use fedcompetitors_learn::{
    Accuracy, Auc, Brier, LearnError, LogLoss, Metric, Mse, R2, Targets, TaskKind,
    evaluation::{Calibration, Comparison, MethodScores, Predictions, TestFold},
    shuffle,
};
use fedcompetitors_record::Figure;
use fedcompetitors_testing::repeat;
use rand_distr::{Distribution, StandardNormal};

/// A participant as the twin sees it.
#[derive(Debug, Clone)]
struct Case {
    targets: Targets,
    units: Vec<usize>,
    methods: Vec<Vec<TestFold>>,
}

impl Case {
    fn predictions(&self) -> Predictions {
        Predictions::new(self.targets.clone(), Some(&self.units), self.methods.clone())
            .expect("each row is tested")
    }

    /// A random task with few rows and few different outputs, so that ties and undefined figures occur.
    fn random(task: TaskKind, methods: usize, stream: &mut Stream) -> Self {
        let rows = 2 + stream.below(20) as usize;
        let value = |stream: &mut Stream| [-1.5, -0.0, 0.0, 0.5, 2.0][stream.below(5) as usize];
        let classes = match task {
            TaskKind::Regression => 1,
            TaskKind::Binary => 2,
            TaskKind::Classes => 3,
        };
        let width = if task == TaskKind::Classes { 3 } else { 1 };
        let targets = match task {
            TaskKind::Regression => {
                Targets::Values((0..rows).map(|_| value(stream) as f32).collect())
            }
            _ => Targets::Classes {
                labels: (0..rows).map(|_| stream.below(classes) as u32).collect(),
                count: classes as u32,
            },
        };
        let units = (0..rows).map(|_| 7 * stream.below(rows as u64) as usize).collect();
        let repeats = 1 + stream.below(2) as usize;
        let methods = (0..methods).map(|_| {
            let folds = 1 + stream.below(3) as usize;
            folds_of(rows, repeats, folds, stream, |_, stream| {
                (0..width).map(|_| value(stream)).collect()
            })
        });
        Self { targets, units, methods: methods.collect() }
    }
}

/// Test folds for all rows, with outputs by a function of the row.
fn folds_of(
    rows: usize,
    repeats: usize,
    folds: usize,
    stream: &mut Stream,
    mut output: impl FnMut(usize, &mut Stream) -> Vec<f64>,
) -> Vec<TestFold> {
    let mut all = Vec::new();
    for repeat in 0..repeats {
        let mut order: Vec<usize> = (0..rows).collect();
        shuffle(&mut order, stream);
        for rows in order.chunks(rows.div_ceil(folds)) {
            let outputs = rows.iter().flat_map(|&row| output(row, stream)).collect();
            all.push(TestFold { repeat, rows: rows.to_vec(), outputs });
        }
    }
    all
}

fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream.source())
}

fn plain(figure: Figure) -> [Option<f64>; 3] {
    let interval = figure.interval();
    [figure.value(), interval.map(|one| one.low), interval.map(|one| one.high)]
}

fn assert_close(found: [Option<f64>; 3], expected: [Option<f64>; 3], what: &dyn std::fmt::Debug) {
    for (found, expected) in found.into_iter().zip(expected) {
        match (found, expected) {
            (None, None) => {}
            (Some(a), Some(b)) if (a - b).abs() <= 1e-9 * (1.0 + b.abs()) => {}
            _ => panic!("{found:?} instead of {expected:?}: {what:?}"),
        }
    }
}

#[test]
fn intervals_are_those_of_copied_rows() {
    let mut with_interval = 0;
    for number in 0..u64::from(repeat(60)) {
        let mut stream = Stream::new(number, "evaluation", 0);
        let task = TaskKind::ALL[number as usize % 3];
        let cases: Vec<Case> =
            (0..=stream.below(3)).map(|_| Case::random(task, 3, &mut stream)).collect();
        let (baseline, replicates) = (stream.below(3) as usize, 40);
        let predictions = cases.iter().map(Case::predictions).collect();
        let comparison = Comparison::new(predictions, baseline, number)
            .expect("as many methods")
            .with_replicates(replicates);
        for metric in <dyn Metric>::entries().iter().filter(|metric| metric.fits(task)) {
            let scores = comparison.scores(*metric);
            let name = fedcompetitors_graphs::Entry::name(*metric);
            let sign = if metric.more_is_better() { 1.0 } else { -1.0 };
            for (at, case) in cases.iter().enumerate() {
                let draws = naive::draws(case, number, at, replicates);
                let all: Vec<usize> = (0..case.targets.len()).collect();
                let figure = |method, rows: &[usize]| naive::figure(name, case, method, rows);
                let gain = |method, rows: &[usize]| {
                    Some(sign * (figure(method, rows)? - figure(baseline, rows)?))
                };
                for (method, scores) in scores.iter().enumerate() {
                    let of_draws: Vec<_> = draws.iter().map(|rows| figure(method, rows)).collect();
                    let expected = naive::summary(figure(method, &all), &of_draws);
                    assert_close(plain(scores.participants[at].value), expected, &(name, case));
                    with_interval += u32::from(expected[1].is_some());
                    let of_draws: Vec<_> = draws.iter().map(|rows| gain(method, rows)).collect();
                    let expected = naive::summary(gain(method, &all), &of_draws);
                    assert_close(plain(scores.participants[at].gain), expected, &(name, case));
                }
            }
        }
    }
    assert!(with_interval > 100, "most figures have an interval: {with_interval}");
}

/// The mean's draws are the means of the participants' draws, where all are defined.
#[test]
fn a_mean_is_taken_draw_by_draw() {
    let mut stream = Stream::new(1, "evaluation", 1);
    let cases: Vec<Case> =
        (0..3).map(|_| Case::random(TaskKind::Regression, 2, &mut stream)).collect();
    let predictions = cases.iter().map(Case::predictions).collect();
    let comparison = Comparison::new(predictions, 0, 9).expect("good").with_replicates(50);
    let scores = comparison.scores(&Mse);
    let draws: Vec<_> = (0..3).map(|at| naive::draws(&cases[at], 9, at, 50)).collect();
    for (method, scores) in scores.iter().enumerate() {
        let figure = |at: usize, rows: &[usize]| naive::figure("mse", &cases[at], method, rows);
        let mean = |rows: &dyn Fn(usize) -> Vec<usize>| {
            Some((0..3).map(|at| figure(at, &rows(at))).sum::<Option<f64>>()? / 3.0)
        };
        let of_draws: Vec<_> = (0..50).map(|draw| mean(&|at| draws[at][draw].clone())).collect();
        let value = mean(&|at| (0..cases[at].targets.len()).collect());
        assert_close(plain(scores.mean.value), naive::summary(value, &of_draws), &method);
    }
}

/// Numbers of variance 1, one for all rows of a unit, and for each of these parts the predictions of a method
/// that misses this part of them, and has noise of its own.
fn simulated(units: usize, of_unit: usize, missed: &[f64], stream: &mut Stream) -> Case {
    let rows = units * of_unit;
    let common: Vec<f64> = (0..units).map(|_| normal(stream)).collect();
    let targets: Vec<f64> = (0..rows).map(|row| common[row / of_unit]).collect();
    let methods = missed.iter().map(|&missed| {
        folds_of(rows, 1, 5, stream, |row, stream| {
            vec![targets[row] * (1.0 - missed) + 0.3 * normal(stream)]
        })
    });
    let methods = methods.collect();
    let targets = Targets::Values(targets.iter().map(|&target| target as f32).collect());
    Case { targets, units: (0..rows).map(|row| row / of_unit).collect(), methods }
}

/// How many of 200 simulated intervals contain the truth.
fn covered(mut simulate: impl FnMut(u64) -> (Figure, f64)) -> usize {
    (0..200)
        .filter(|&set| {
            let (figure, truth) = simulate(set);
            let interval = figure.interval().expect("numbers have a mean error");
            interval.low <= truth && truth <= interval.high
        })
        .count()
}

fn scores_of(cases: &[Case], seed: u64, metric: &dyn Metric) -> Vec<MethodScores> {
    let predictions = cases.iter().map(Case::predictions).collect();
    let comparison = Comparison::new(predictions, 0, seed).expect("good").with_replicates(400);
    comparison.scores(metric)
}

/// The squared error of outputs (1 − m)·y + 0.3·e, for y and e of variance 1.
fn true_error(missed: f64) -> f64 {
    missed.powi(2) + 0.09
}

#[test]
fn intervals_contain_the_truth_as_often_as_they_should() {
    let sets = |set| {
        let mut stream = Stream::new(set, "coverage", 0);
        let cases: Vec<Case> =
            (0..3).map(|_| simulated(100, 1, &[1.0, 0.6], &mut stream)).collect();
        scores_of(&cases, set, &Mse)
    };
    let value = covered(|set| (sets(set)[1].participants[0].value, true_error(0.6)));
    let truth = true_error(1.0) - true_error(0.6);
    let gain = covered(|set| (sets(set)[1].participants[0].gain, truth));
    let mean = covered(|set| (sets(set)[1].mean.gain, truth));
    for covered in [value, gain, mean] {
        assert!((180..=198).contains(&covered), "{value}, {gain}, {mean} of 200");
    }
}

/// Rows of a patient are alike: drawn one by one, they would seem to say more than they do.
#[test]
fn rows_of_a_unit_are_drawn_together() {
    let coverage = |has_units: bool| {
        covered(|set| {
            let mut case = simulated(150, 3, &[1.0], &mut Stream::new(set, "coverage", 1));
            if !has_units {
                case.units = (0..450).collect();
            }
            (scores_of(&[case], set, &Mse)[0].participants[0].value, true_error(1.0))
        })
    };
    let (with, without) = (coverage(true), coverage(false));
    assert!((180..=198).contains(&with) && without < 160, "{with} and {without} of 200");
}

#[test]
fn names_and_orders_do_not_matter() {
    for number in 0..u64::from(repeat(20)) {
        let mut stream = Stream::new(number, "evaluation", 2);
        let case = Case::random(TaskKind::Binary, 3, &mut stream);
        let mut other = case.clone();
        // The same units by other names, methods and folds in another order.
        other.units.iter_mut().for_each(|unit| *unit = 1000 - *unit);
        other.methods.swap(1, 2);
        other.methods.iter_mut().for_each(|folds| shuffle(folds, &mut stream));
        for metric in [&Auc as &dyn Metric, &Brier] {
            let [scores, others] =
                [&case, &other].map(|case| scores_of(std::slice::from_ref(case), 3, metric));
            for (method, same) in [(0, 0), (1, 2), (2, 1)] {
                let (one, two) = (&scores[method].participants[0], &others[same].participants[0]);
                assert_close(plain(one.value), plain(two.value), &case);
                assert_close(plain(one.gain), plain(two.gain), &case);
            }
        }
        // The other class as class 1, with the odds turned round.
        if let Targets::Classes { labels, .. } = &mut other.targets {
            labels.iter_mut().for_each(|label| *label = 1 - *label);
        }
        let outputs = other.methods.iter_mut().flatten().flat_map(|fold| &mut fold.outputs);
        outputs.for_each(|output| *output = -*output);
        let [scores, others] =
            [&case, &other].map(|case| scores_of(std::slice::from_ref(case), 3, &Auc));
        assert_close(plain(scores[1].mean.value), plain(others[2].mean.value), &case);
    }
}

#[test]
fn threads_change_no_bit() {
    let mut stream = Stream::new(1, "evaluation", 3);
    let cases: Vec<Case> = (0..7).map(|_| Case::random(TaskKind::Binary, 2, &mut stream)).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| format!("{:?}", scores_of(&cases, 5, &LogLoss)))
    };
    assert_eq!(with(1), with(5));
}

#[test]
fn one_class_has_no_auc_and_no_gain() {
    let fold = |rows: &[usize], outputs: &[f64]| TestFold {
        repeat: 0,
        rows: rows.to_vec(),
        outputs: outputs.to_vec(),
    };
    let case = |labels: &[u32]| Case {
        targets: Targets::Classes { labels: labels.to_vec(), count: 2 },
        units: (0..labels.len()).collect(),
        methods: vec![vec![fold(&[2, 0], &[0.1, 0.7]), fold(&[1, 3], &[0.5, 0.5])]; 2],
    };
    let scores = scores_of(&[case(&[0; 4]), case(&[1, 0, 0, 1])], 1, &Auc);
    let alone = scores[1].participants[0];
    assert_eq!((alone.value, alone.gain), (Figure::Undefined, Figure::Undefined));
    // One fold has its pair in order, the other a tie.
    assert_eq!(scores[1].participants[1].value.value(), Some(0.75));
    assert_eq!(scores[1].participants[1].gain.value(), Some(0.0));
    // The mean is that of the others.
    assert_eq!(scores[1].mean, scores[1].participants[1]);
    assert_eq!(scores_of(&[case(&[0; 4])], 1, &Accuracy)[0].mean.value.value(), Some(0.0));
}

#[test]
fn what_is_rarely_defined_has_no_interval() {
    // The one fold with two classes is complete in a quarter of the draws at most.
    let folds = (0..4).map(|at| TestFold {
        repeat: 0,
        rows: vec![2 * at, 2 * at + 1],
        outputs: vec![0.0, 1.0],
    });
    let mut case = Case {
        targets: Targets::Classes { labels: vec![0, 1, 0, 0, 0, 0, 0, 0], count: 2 },
        units: (0..8).collect(),
        methods: vec![folds.collect()],
    };
    let score =
        |case: &Case, metric| scores_of(std::slice::from_ref(case), 1, metric)[0].mean.value;
    assert_eq!(score(&case, &Auc), Figure::Value(1.0));
    assert!(score(&case, &Accuracy).interval().is_some());
    case.units = vec![3; 8];
    assert_eq!(
        score(&case, &Accuracy),
        Figure::Value(0.625),
        "a single unit says nothing of others"
    );
}

#[test]
fn a_constant_explains_nothing() {
    let fold = |rows: &[usize]| TestFold {
        repeat: 0,
        rows: rows.to_vec(),
        outputs: vec![2.0; rows.len()],
    };
    let case = |folds: &[&[usize]]| Case {
        targets: Targets::Values(vec![1.0, 3.0, 1.0, 3.0]),
        units: (0..4).collect(),
        methods: vec![folds.iter().map(|rows| fold(rows)).collect()],
    };
    let value = |case: Case| scores_of(&[case], 1, &R2)[0].mean.value.value();
    assert_eq!(value(case(&[&[0, 1], &[2, 3]])), Some(0.0));
    assert_eq!(value(case(&[&[0], &[1], &[2], &[3]])), None, "each fold has one row");
}

#[test]
fn the_calibration_is_that_of_all_repeats() {
    let mut stream = Stream::new(1, "evaluation", 4);
    let labels: Vec<u32> = (0..40).map(|_| stream.below(2) as u32).collect();
    let methods = vec![folds_of(40, 2, 5, &mut stream, |_, stream| vec![normal(stream)])];
    let rows: Vec<(f64, bool)> = (methods[0].iter())
        .flat_map(|fold| fold.rows.iter().zip(&fold.outputs))
        .map(|(&row, &odds)| (odds, labels[row] == 1))
        .collect();
    let predictions = Predictions::new(Targets::Classes { labels, count: 2 }, None, methods);
    let found = predictions.expect("good").calibration(0);
    assert_eq!(found, Calibration::of(&rows));
    assert_eq!(found.expect("two classes").bins.len(), 10);
    for (ones, is_defined) in [(0, false), (9, false), (10, true), (30, true), (31, false)] {
        let labels: Vec<u32> = (0..40).map(|row| u32::from(row < ones)).collect();
        let methods = vec![folds_of(40, 2, 5, &mut stream, |_, stream| vec![normal(stream)])];
        let targets = Targets::Classes { labels, count: 2 };
        let predictions = Predictions::new(targets, None, methods).expect("good");
        assert_eq!(predictions.calibration(0).is_some(), is_defined, "{ones} of 40 rows");
    }
    let numbers = Case::random(TaskKind::Regression, 1, &mut stream).predictions();
    let classes = Case::random(TaskKind::Classes, 1, &mut stream).predictions();
    assert_eq!((numbers.calibration(0), classes.calibration(0)), (None, None));
}

#[test]
fn predictions_that_do_not_fit_are_refused() {
    let targets = Targets::Classes { labels: vec![0, 1, 1], count: 2 };
    let fold = |rows: &[usize], outputs: &[f64]| TestFold {
        repeat: 3,
        rows: rows.to_vec(),
        outputs: outputs.to_vec(),
    };
    let refused = |units: Option<&[usize]>, folds: Vec<TestFold>| {
        let found = Predictions::new(targets.clone(), units, vec![folds]);
        let error = found.expect_err("refused");
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    let good = || vec![fold(&[1], &[0.0]), fold(&[0, 2], &[0.0, 1.0])];
    assert!(Predictions::new(targets.clone(), Some(&[4, 4, 9]), vec![good()]).is_ok());
    assert_eq!(refused(Some(&[1]), good()), "the units of 1 rows instead of 3");
    assert_eq!(refused(None, Vec::new()), "method 0: there are no test folds");
    let cases = [
        (fold(&[0], &[0.0]), "row 0 is tested twice"),
        (fold(&[3], &[0.0]), "there is no row 3"),
        (fold(&[], &[0.0]), "1 outputs for 0 rows"),
        (fold(&[1, 0], &[0.0; 3]), "3 outputs for 2 rows"),
    ];
    for (bad, expected) in cases {
        let folds = good().into_iter().chain([bad]).collect();
        assert_eq!(refused(None, folds), format!("method 0: repeat 3: {expected}"));
    }
    assert_eq!(
        refused(None, vec![fold(&[1, 0, 2], &[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0])]),
        "method 0: repeat 3, row 0: the output NaN is not finite"
    );
    assert_eq!(refused(None, vec![fold(&[1, 2], &[0.0; 2])]), "method 0: row 0 is not tested");
    let predictions = |methods| Predictions::new(targets.clone(), None, vec![good(); methods]);
    let [one, two] = [1, 2].map(|methods| predictions(methods).expect("good"));
    for (participants, baseline) in [(vec![one.clone(), two], 0), (vec![one], 1), (vec![], 0)] {
        let found = Comparison::new(participants, baseline, 0);
        assert!(matches!(found, Err(LearnError::Predictions(_))));
    }
    assert!(Predictions::new(Targets::Values(vec![]), None, vec![]).is_err());
    assert!(Predictions::new(Targets::Values(vec![f32::NAN]), None, vec![]).is_err());
}
