//! Tables with gaps: their scales, alone and put together, and the samples they become.

use fedcompetitors_learn::{Column, Encoding, LearnError, Scale, Table, Targets, Transform};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

fn numbers(values: &[Option<f32>]) -> Column {
    Column::Numbers(values.to_vec())
}

fn categories(names: &[&str], codes: &[Option<u32>]) -> Column {
    let names = names.iter().map(ToString::to_string).collect();
    Column::Categories { names, codes: codes.to_vec() }
}

fn table(columns: Vec<(&str, Column)>, rows: usize) -> Result<Table, LearnError> {
    let (names, columns) = columns.into_iter().map(|(name, c)| (name.to_owned(), c)).unzip();
    Table::new(names, columns, Targets::Values(vec![1.0; rows]))
}

/// Age with a gap, pain with a gap, a constant, and nothing at all.
fn patients() -> Table {
    let columns = vec![
        ("age", numbers(&[Some(40.0), None, Some(60.0), Some(80.0)])),
        ("pain", categories(&["none", "some", "much"], &[Some(2), Some(0), None, Some(2)])),
        ("ward", numbers(&[Some(7.0); 4])),
        ("dose", numbers(&[None; 4])),
    ];
    table(columns, 4).expect("good")
}

#[test]
fn a_table_becomes_samples() {
    let table = patients();
    let scales = table.scales(&[0, 1, 2]);
    let expected = [(2, 50.0, 10.0), (3, 7.0, 0.0), (0, 0.0, 0.0)];
    assert_eq!(scales, expected.map(|(count, mean, deviation)| Scale { count, mean, deviation }));
    let samples = table.encode(Some(&scales), true).expect("good");
    #[rustfmt::skip]
    assert_eq!(samples.features(), [
        -1.0, 0.0,  0.0, 0.0, 1.0,  0.0, 0.0,  0.0, 1.0,
         0.0, 1.0,  1.0, 0.0, 0.0,  0.0, 0.0,  0.0, 1.0,
         1.0, 0.0,  0.0, 0.0, 0.0,  0.0, 0.0,  0.0, 1.0,
         3.0, 0.0,  0.0, 0.0, 1.0,  0.0, 0.0,  0.0, 1.0,
    ]);
    assert_eq!(
        table.feature_names(true),
        [
            "age",
            "age is missing",
            "pain=none",
            "pain=some",
            "pain=much",
            "ward",
            "ward is missing",
            "dose",
            "dose is missing"
        ]
    );
    assert_eq!(samples.targets(), table.targets());
}

#[test]
fn without_scales_numbers_stay_and_gaps_are_0() {
    let samples = patients().encode(None, false).expect("good");
    #[rustfmt::skip]
    assert_eq!(samples.features(), [
        40.0,  0.0, 0.0, 1.0,  7.0,  0.0,
         0.0,  1.0, 0.0, 0.0,  7.0,  0.0,
        60.0,  0.0, 0.0, 0.0,  7.0,  0.0,
        80.0,  0.0, 0.0, 1.0,  7.0,  0.0,
    ]);
    assert_eq!(patients().feature_names(false).len(), samples.columns());
}

const PLAIN: Encoding = Encoding { indicators: false, clip: f64::INFINITY };

/// However numbers are scaled, a gap is filled with the participant's own mean, if it has
/// one.
#[test]
fn gaps_are_filled_with_ones_own_mean() {
    let columns = vec![
        ("age", numbers(&[Some(40.0), None, Some(60.0)])),
        ("never", numbers(&[None, None, None])),
    ];
    let table = table(columns, 3).expect("good");
    let own = table.scales(&[0, 2]);
    let plain = table.encode_filled(Some(&own), None, PLAIN).expect("good");
    assert_eq!(plain.features(), [40.0, 0.0, 50.0, 0.0, 60.0, 0.0]);
    let shared = [Scale { count: 9, mean: 45.0, deviation: 5.0 }; 2];
    let scaled = table.encode_filled(Some(&own), Some(&shared), PLAIN).expect("good");
    assert_eq!(scaled.features(), [-1.0, 0.0, 1.0, 0.0, 3.0, 0.0]);
    assert!(table.encode_filled(Some(&own[..1]), None, PLAIN).is_err(), "one for each column");
}

#[test]
fn constant_columns_are_nothing_even_where_they_vary_later() {
    let columns = vec![("ward", numbers(&[Some(0.1), Some(0.1), Some(0.1), Some(9.0)]))];
    let table = table(columns, 4).expect("good");
    let samples = table.encode(Some(&table.scales(&[0, 1, 2])), false).expect("good");
    assert_eq!(samples.features(), [0.0; 4]);
}

#[test]
fn far_numbers_are_clipped() {
    let huge = [Some(1.0), Some(-1.0), Some(f32::MAX), Some(f32::MIN), None];
    let table = table(vec![("dose", numbers(&huge))], 5).expect("good");
    let scales = table.scales(&[0, 1]);
    let clipped = Encoding { indicators: true, clip: 6.0 };
    let samples = table.encode_filled(Some(&scales), Some(&scales), clipped).expect("good");
    assert_eq!(samples.features(), [1.0, 0.0, -1.0, 0.0, 6.0, 0.0, -6.0, 0.0, 0.0, 1.0]);
    let tiny = [Scale { count: 0, mean: 0.0, deviation: 1e-5 }];
    let unclipped = table.encode_filled(Some(&scales), Some(&tiny), PLAIN);
    assert!(matches!(unclipped, Err(LearnError::NotFinite { .. })), "no panic: {unclipped:?}");
    assert!(table.encode_filled(Some(&scales), Some(&tiny), clipped).is_ok());
}

#[test]
fn numbers_are_transformed_by_the_training_rows() {
    let columns = vec![
        ("amount", numbers(&[Some(0.0), Some(-9.0), Some(99.0), Some(f32::MAX), None])),
        ("pain", categories(&["none"], &[Some(0), None, None, None, None])),
        ("wait", numbers(&[Some(5.0), Some(1.0), Some(5.0), Some(1e9), None])),
        ("age", numbers(&[Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)])),
        ("never", numbers(&[None; 5])),
    ];
    let table = table(columns, 5).expect("good");
    let transforms = [Transform::Log, Transform::Rank, Transform::None, Transform::Rank];
    let names: Vec<&str> = table.number_names().collect();
    assert_eq!(names, ["amount", "wait", "age", "never"]);
    let fitted = table.fitted(&transforms, &[0, 1, 2]);
    let (low, high) = (-0.967_421_566_101_701, 0.430_727_299_295_457_4);
    let ranks: Vec<_> = fitted.ranks.iter().map(Option::is_some).collect();
    assert_eq!(ranks, [false, true, false, true]);
    let knots = fitted.ranks[1].as_ref().expect("ranks").knots();
    assert_eq!(knots.len(), 2);
    for (knot, expected) in knots.iter().zip([(1.0, low), (5.0, high)]) {
        assert_eq!(knot.0.total_cmp(&expected.0), std::cmp::Ordering::Equal);
        assert!((knot.1 - expected.1).abs() < 1e-12, "{knot:?}");
    }
    assert_eq!(fitted.scales[1], Scale { count: 3, ..Scale::UNIT });
    assert_eq!(fitted.scales[3], Scale { count: 0, ..Scale::UNIT });
    assert!((fitted.scales[0].mean - 10.0f64.ln() / 3.0).abs() < 1e-6, "{:?}", fitted.scales);
    let samples = fitted.encode(Some(&fitted.scales), Encoding { clip: 6.0, ..PLAIN });
    let samples = samples.expect("finite");
    // The fourth row lies beyond the training rows, the last one misses everything but the age.
    let row = |at: usize| &samples.features()[at * 5..][..5];
    assert_eq!([row(3)[0], row(3)[2]].map(f32::to_bits), [6.0, high as f32].map(f32::to_bits));
    assert_eq!(&row(4)[..3], [0.0; 3]);
    assert!((0..5).all(|at| row(at)[4].to_bits() == 0), "nothing is known of this column");
}

#[test]
fn the_logarithm_is_odd_and_finite() {
    for value in [0.0, 1.0, 1e-30, f64::from(f32::MAX), f64::MAX] {
        let log = Transform::log(value);
        assert!(log.is_finite() && log >= 0.0, "{value}");
        assert_eq!(Transform::log(-value).to_bits(), (-log).to_bits());
    }
}

#[test]
fn bad_tables_are_refused() {
    let one = || numbers(&[Some(1.0)]);
    let classes = Targets::Classes { labels: vec![3], count: 2 };
    let names = |count: usize| vec!["age".to_owned(); count];
    let cases = [
        (table(vec![("age", numbers(&[]))], 0), "there are no samples"),
        (table(vec![], 3), "0 numbers do not make 3 rows of 0 columns"),
        (table(vec![("age", one())], 2), "1 values in a column instead of 2"),
        (
            Table::new(names(2), vec![one()], Targets::Values(vec![1.0])),
            "2 names of columns instead of 1",
        ),
        (
            table(vec![("age", one()), ("dose", numbers(&[Some(f32::NAN)]))], 1),
            "row 1, column 2: NaN is not a finite number",
        ),
        (
            table(vec![("pain", categories(&["none"], &[Some(0), Some(1)]))], 2),
            "row 2, column 1: category 1 of 1",
        ),
        (Table::new(names(1), vec![one()], classes), "row 1: class 3 of 2"),
        (
            Table::new(names(1), vec![one()], Targets::Values(vec![f32::INFINITY])),
            "row 1, column 0: inf is not a finite number",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found.expect_err("bad").to_string(), expected);
    }
    let error = patients().encode(Some(&[]), false).expect_err("three are needed");
    assert_eq!(error.to_string(), "0 scales instead of 3");
    let nothing = table(vec![("pain", categories(&[], &[None]))], 1).expect("a table");
    assert!(nothing.encode(None, true).is_err(), "no category, no feature");
}

#[test]
fn the_scale_of_nobody_is_none() {
    assert_eq!(Scale::pooled(&[]), []);
}

/// The scale from its definition, by the values' squares.
fn naive(values: &[Option<f32>], rows: &[u32]) -> Scale {
    let (mut count, mut sum, mut squares) = (0u64, 0.0, 0.0);
    for &row in rows {
        if let Some(value) = values[row as usize] {
            count += 1;
            sum += f64::from(value);
            squares += f64::from(value) * f64::from(value);
        }
    }
    if count == 0 {
        return Scale { count, mean: 0.0, deviation: 0.0 };
    }
    let mean = sum / count as f64;
    let deviation = (squares / count as f64 - mean * mean).max(0.0).sqrt();
    Scale { count, mean, deviation }
}

fn assert_close(found: Scale, expected: Scale, tolerance: f64) {
    assert_eq!(found.count, expected.count);
    assert!((found.mean - expected.mean).abs() < tolerance, "{found:?} {expected:?}");
    assert!((found.deviation - expected.deviation).abs() < tolerance, "{found:?} {expected:?}");
}

/// Columns of as many rows each, with gaps.
fn columns() -> impl Strategy<Value = Vec<Vec<Option<f32>>>> {
    let value = prop::option::weighted(0.7, -100.0f32..100.0);
    (1usize..5, 1usize..30).prop_flat_map(move |(columns, rows)| {
        prop::collection::vec(prop::collection::vec(value.clone(), rows), columns)
    })
}

fn of_numbers(columns: &[Vec<Option<f32>>]) -> Table {
    table(columns.iter().map(|column| ("x", numbers(column))).collect(), columns[0].len())
        .expect("good")
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn scales_are_those_of_the_definition(columns in columns(), chosen in any::<u32>()) {
        let rows: Vec<u32> =
            (0..columns[0].len() as u32).filter(|row| chosen >> row & 1 == 1).collect();
        let scales = of_numbers(&columns).scales(&rows);
        for (scale, column) in scales.into_iter().zip(&columns) {
            assert_close(scale, naive(column, &rows), 1e-5);
        }
    }

    #[test]
    fn pooled_parts_are_the_whole(columns in columns(), cuts in prop::collection::vec(0usize..30, 0..4)) {
        let rows = columns[0].len();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (rows + 1)).collect();
        cuts.extend([0, rows]);
        cuts.sort_unstable();
        let table = of_numbers(&columns);
        let scales = |from, to| table.scales(&(from as u32..to as u32).collect::<Vec<u32>>());
        let parts: Vec<Vec<Scale>> = cuts.windows(2).map(|cut| scales(cut[0], cut[1])).collect();
        for (found, expected) in Scale::pooled(&parts).into_iter().zip(scales(0, rows)) {
            assert_close(found, expected, 1e-9);
        }
    }

    /// Ranks don't care about the values, only about their order, and lie as the normal distribution does.
    #[test]
    fn ranks_are_of_the_order_alone(columns in columns()) {
        let table = of_numbers(&columns);
        let cubes: Vec<Vec<Option<f32>>> = columns
            .iter()
            .map(|column| column.iter().map(|value| value.map(|value| value.powi(3))).collect())
            .collect();
        let cubes = of_numbers(&cubes);
        let rows: Vec<u32> = (0..table.len() as u32).collect();
        let transforms = vec![Transform::Rank; columns.len()];
        let encoded = |table: &Table| {
            let fitted = table.fitted(&transforms, &rows);
            let encoding = Encoding { indicators: true, clip: 6.0 };
            fitted.encode(Some(&fitted.scales), encoding).expect("finite")
        };
        let (samples, twin) = (encoded(&table), encoded(&cubes));
        for (found, expected) in samples.features().iter().zip(twin.features()) {
            // Values next to 0 have equal cubes now and then.
            prop_assert!((found - expected).abs() < 1.5, "{found} {expected}");
            prop_assert!(found.abs() < 3.0);
        }
        for column in (0..samples.columns()).step_by(2) {
            let sum: f32 = samples.features().iter().skip(column).step_by(samples.columns()).sum();
            prop_assert!(sum.abs() < 1e-3 * rows.len() as f32 + 1.0, "{sum}");
        }
    }

    #[test]
    fn encoding_is_standardising_where_nothing_is_missing(columns in columns()) {
        let full: Vec<Vec<Option<f32>>> = columns
            .iter()
            .map(|column| column.iter().map(|value| Some(value.unwrap_or(3.5).round())).collect())
            .collect();
        let table = of_numbers(&full);
        let all: Vec<u32> = (0..table.len() as u32).collect();
        let encoded = table.encode(Some(&table.scales(&all)), false).expect("good");
        let plain = table.encode(None, false).expect("good");
        let twin = plain.standardised(&plain.scales());
        for (found, expected) in encoded.features().iter().zip(twin.features()) {
            prop_assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}
