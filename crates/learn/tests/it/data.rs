//! What comes in from outside: good, bad and odd.

use std::sync::Arc;

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{
    Accuracy, Dependence, Division, LearnError, Loss, Mlp, NativeLearner, Samples, Split, Targets,
    shuffle, simplex,
};
use fedcompetitors_testing::repeat;

fn classes(labels: &[u32], count: u32) -> Targets {
    Targets::Classes { labels: labels.to_vec(), count }
}

#[test]
fn bad_samples_are_refused_by_row_and_column() {
    let values = |count| Targets::Values(vec![0.0; count]);
    let cases = [
        (Samples::new(vec![], 2, values(0)), "there are no samples"),
        (Samples::new(vec![1.0; 3], 2, values(2)), "3 numbers do not make 2 rows of 2 columns"),
        (
            Samples::new(vec![1.0, 2.0, 3.0, f32::NAN], 2, values(2)),
            "row 2, column 2: NaN is not a finite number",
        ),
        (
            Samples::new(vec![1.0; 2], 1, Targets::Values(vec![0.0, f32::INFINITY])),
            "row 2, column 0: inf is not a finite number",
        ),
        (Samples::new(vec![1.0; 2], 1, classes(&[0, 2], 2)), "row 2: class 2 of 2"),
    ];
    for (found, expected) in cases {
        assert_eq!(found.expect_err("bad").to_string(), expected);
    }
}

#[test]
fn a_constant_column_becomes_nothing() {
    let samples =
        Samples::new(vec![7.0, 1.0, 7.0, 3.0], 2, Targets::Values(vec![0.0; 2])).expect("good");
    let standardised = samples.standardised(&samples.scales());
    assert_eq!(standardised.features(), [0.0, -1.0, 0.0, 1.0]);
    // Elsewhere it may vary, but nothing was learned of that.
    let other = Samples::new(vec![9.0, 2.0], 2, Targets::Values(vec![0.0])).expect("good");
    assert_eq!(other.standardised(&samples.scales()).features(), [0.0, 0.0]);
}

#[test]
fn a_split_deals_out_everything_once_and_classes_in_proportion() {
    for seed in 0..u64::from(repeat(50)) {
        let labels: Vec<u32> = (0..200).map(|row| u32::from(row % 10 == 0)).collect();
        let mut stream = Stream::new(seed, "split", 0);
        let split = Split::new(&classes(&labels, 2), 0.2, 0.3, &mut stream).expect("enough");
        let mut all: Vec<u32> = [&split.training[..], &split.validation, &split.test].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..200));
        let ones = |rows: &[u32]| rows.iter().filter(|&&row| labels[row as usize] == 1).count();
        for (rows, expected) in [(&split.training, 10), (&split.validation, 4), (&split.test, 6)] {
            assert!(ones(rows).abs_diff(expected) <= 1, "{} of {expected}", ones(rows));
        }
    }
    let mut stream = Stream::new(1, "split", 0);
    let few = |count| Targets::Values(vec![0.0; count]);
    assert_eq!(Split::new(&few(2), 0.2, 0.2, &mut stream), Err(LearnError::TooFew { samples: 2 }));
    let split = Split::new(&few(3), 0.2, 0.2, &mut stream).expect("one each");
    assert_eq!([split.training.len(), split.validation.len(), split.test.len()], [1, 1, 1]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let samples = Samples::new(vec![1.0; 6], 2, classes(&[0, 1, 2], 3)).expect("good");
    let split = Split { training: vec![0], validation: vec![1], test: vec![2] };
    let learner = |inputs, outputs, loss, split: &Split| {
        let model = Arc::new(Mlp::linear(inputs, outputs));
        NativeLearner::new(model, loss, &Accuracy, &samples, split).map(|_| ())
    };
    assert_eq!(learner(2, 3, Loss::CrossEntropy, &split), Ok(()));
    let binary = Loss::BinaryCrossEntropy { weights: [1.0; 2] };
    for (inputs, outputs, loss) in [
        (2, 2, Loss::CrossEntropy),
        (2, 1, binary),
        (2, 1, Loss::SquaredError),
        (3, 3, Loss::CrossEntropy),
    ] {
        assert!(learner(inputs, outputs, loss, &split).is_err());
    }
    let without = Split { validation: Vec::new(), ..split };
    let error = learner(2, 3, Loss::CrossEntropy, &without).expect_err("nothing to choose by");
    assert_eq!(error.to_string(), "there are no samples for validation");
}

/// The nearest point, by trying every set of coordinates that may be positive.
fn naive_projection(point: &[f32]) -> Vec<f32> {
    let mut best: Option<(f32, Vec<f32>)> = None;
    for set in 1_u32..1 << point.len() {
        let inside = |at: &usize| set >> at & 1 == 1;
        let members: Vec<usize> = (0..point.len()).filter(inside).collect();
        let excess =
            (members.iter().map(|&at| point[at]).sum::<f32>() - 1.0) / members.len() as f32;
        let candidate: Vec<f32> =
            (0..point.len()).map(|at| if inside(&at) { point[at] - excess } else { 0.0 }).collect();
        let distance = candidate.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum();
        if candidate.iter().all(|&value| value >= 0.0)
            && best.as_ref().is_none_or(|(least, _)| distance < *least)
        {
            best = Some((distance, candidate));
        }
    }
    best.expect("one coordinate alone is a candidate").1
}

#[test]
fn points_stay_on_the_simplex() {
    for seed in 0..u64::from(repeat(200)) {
        let mut stream = Stream::new(seed, "simplex", 0);
        let count = 1 + stream.below(6) as usize;
        let mut point: Vec<f32> = (0..count).map(|_| stream.unit() as f32 * 4.0 - 2.0).collect();
        let expected = naive_projection(&point);
        simplex::project(&mut point);
        assert!(point.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{point:?}");
        let drawn = simplex::dirichlet(count, [0.01, 0.2, 5.0][seed as usize % 3], &mut stream);
        assert!((drawn.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(drawn.iter().all(|&part| part >= 0.0));
    }
}

#[test]
fn equals_stay_equal_and_harm_goes_to_nothing() {
    let prior = [0.25_f32; 4];
    let mut weights = prior;
    for _ in 0..200 {
        simplex::mirror_step(&mut weights, &[0.0, 0.0, 1.0, 50.0], 0.2, &prior, 1.0);
    }
    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(weights[0].to_bits(), weights[1].to_bits());
    // Where it comes to rest: in proportion to prior · exp(−gradient / pull).
    assert!((weights[2] / weights[0] - (-1.0_f32).exp()).abs() < 1e-3);
    assert!(weights[3] < 1e-9);
}

/// Against the definition: every row is tested once, the parts of a fold don't overlap, and
/// classes are as even as whole numbers allow.
#[test]
fn folds_test_every_row_once_and_share_classes_evenly() {
    for case in 0..u64::from(repeat(200)) {
        let mut stream = Stream::new(case, "folds", 0);
        let rows = 10 + stream.below(60) as usize;
        let ones = 2 + stream.below(rows as u64 - 3) as usize;
        let mut labels: Vec<u32> = (0..rows).map(|row| u32::from(row < ones)).collect();
        shuffle(&mut labels, &mut stream);
        let folds = 2 + stream.below(5) as usize;
        let targets = Targets::Classes { labels: labels.clone(), count: 2 };
        let splits = Split::folds(&targets, folds, 0.2, &mut stream).expect("enough");
        assert_eq!(splits.len(), folds);
        let mut tested: Vec<u32> = splits.iter().flat_map(|split| split.test.clone()).collect();
        tested.sort_unstable();
        assert!(tested.iter().copied().eq(0..rows as u32), "case {case}");
        let of =
            |part: &[u32], class| part.iter().filter(|&&row| labels[row as usize] == class).count();
        for split in &splits {
            let mut all = [&split.training[..], &split.validation, &split.test].concat();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..rows as u32), "case {case}");
            for class in 0..2 {
                let share = of(&all, class) / folds;
                assert!((share..=share + 1).contains(&of(&split.test, class)), "case {case}");
                let others = of(&split.training, class) + of(&split.validation, class);
                assert_eq!(of(&split.validation, class) > 0, others > 1, "case {case}");
                assert_eq!(of(&split.training, class) > 0, others > 0, "case {case}");
            }
        }
        let again = Split::folds(&targets, folds, 0.2, &mut Stream::new(case, "again", 0));
        assert_ne!(again.expect("enough"), splits);
    }
    // With fewer rows than folds each row still is tested once.
    let folds = |rows| {
        let targets = Targets::Values(vec![1.0; rows]);
        Split::folds(&targets, 5, 0.2, &mut Stream::new(0, "folds", 0))
    };
    let tested: Vec<usize> = folds(3).expect("enough").iter().map(|one| one.test.len()).collect();
    assert_eq!(tested, [1, 1, 1, 0, 0]);
    assert!(folds(2).is_err());
}

/// Three rows are enough, whatever their classes: what is left after the test trains and chooses.
#[test]
fn three_rows_are_enough_for_folds() {
    for labels in [[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 1, 1]] {
        for (seed, folds) in (0..10).flat_map(|seed| [(seed, 3), (seed, 5)]) {
            let mut stream = Stream::new(seed, "three", 0);
            let splits = Split::folds(&classes(&labels, 3), folds, 0.2, &mut stream);
            let splits = splits.expect("three rows");
            for split in &splits {
                assert!(!split.training.is_empty() && split.validation.len() == 1);
                let mut all = [&split.training[..], &split.validation, &split.test].concat();
                all.sort_unstable();
                assert_eq!(all, [0, 1, 2]);
            }
            assert_eq!(splits.iter().map(|split| split.test.len()).sum::<usize>(), 3);
        }
    }
}

/// Too few groups or times are called so.
#[test]
fn too_few_groups_are_not_called_samples() {
    let targets = classes(&[0, 1, 0, 1, 0, 1], 2);
    let division = |folds| Division { folds, test: 0.2, validation: 0.2 };
    let split = |dependence: &Dependence, folds| {
        let mut stream = Stream::new(1, "groups", 0);
        let whole = Split::without_test(&targets, dependence, 0.2, &mut stream).map(|_| ());
        let parts = Split::evaluation(&targets, dependence, division(folds), &mut stream);
        (whole, parts.map(|_| ()))
    };
    let few = |what, found| Err(LearnError::TooFewUnits { what, found });
    let groups = Dependence::Groups(vec![0, 0, 0, 1, 1, 1]);
    assert_eq!(split(&groups, 5), (Ok(()), few("groups", 2)));
    assert_eq!(split(&groups, 1), (Ok(()), few("groups", 2)));
    assert_eq!(split(&Dependence::Groups(vec![4; 6]), 5).0, few("groups", 1));
    assert_eq!(split(&Dependence::Time(vec![4; 6]), 5), (few("times", 1), few("times", 1)));
    assert_eq!(split(&Dependence::Time(vec![0, 0, 1, 1, 2, 2]), 5).1, few("times", 3));
    let error = LearnError::TooFewUnits { what: "groups", found: 2 };
    assert_eq!(error.to_string(), "2 groups are too few for training, validation and test");
}
