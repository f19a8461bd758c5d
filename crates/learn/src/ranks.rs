//! Ranks as normal scores: numbers of any distribution become numbers of the normal one.

/// The most values that are kept of a column.
const MOST_KNOTS: usize = 101;

/// What normal score each value of a column has.
///
/// The value of rank r among n (ranks of equal values are averaged) has the score Φ⁻¹((r − ½) / n).
/// Between two values scores are interpolated; below the smallest and above the largest they stay at
/// theirs. Of more than 101 different values 101 are kept, at even steps in their order, the first and the
/// last among them: the file of a model holds them, and should not hold a whole column.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    knots: Vec<(f64, f64)>,
}

impl Ranks {
    /// The ranks of these values.
    pub fn of(values: impl Iterator<Item = f32>) -> Self {
        // The sum makes 0 of −0.
        let mut values: Vec<f32> = values.map(|value| value + 0.0).collect();
        values.sort_unstable_by(f32::total_cmp);
        let count = values.len() as f64;
        let mut below = 0;
        let knots: Vec<(f64, f64)> = values
            .chunk_by(|a, b| a.to_bits() == b.to_bits())
            .map(|equal| {
                let rank = below as f64 + (equal.len() + 1) as f64 / 2.0;
                below += equal.len();
                (f64::from(equal[0]), normal_quantile((rank - 0.5) / count))
            })
            .collect();
        if knots.len() <= MOST_KNOTS {
            return Self { knots };
        }
        let last = knots.len() - 1;
        let kept = (0..MOST_KNOTS).map(|at| knots[at * last / (MOST_KNOTS - 1)]);
        Self { knots: kept.collect() }
    }

    /// The values that are kept, in ascending order, each with its score.
    pub fn knots(&self) -> &[(f64, f64)] {
        &self.knots
    }

    /// The score of a value; 0 if nothing is known of the column.
    pub fn score(&self, value: f64) -> f64 {
        let above = self.knots.partition_point(|&(knot, _)| knot < value);
        match (above.checked_sub(1).map(|below| self.knots[below]), self.knots.get(above)) {
            (Some((low, low_score)), Some(&(high, high_score))) => {
                low_score + (high_score - low_score) * ((value - low) / (high - low))
            }
            (Some((_, score)), None) | (None, Some(&(_, score))) => score,
            (None, None) => 0.0,
        }
    }
}

/// Φ⁻¹, the quantile of the standard normal distribution, to about 16 digits: Wichura's algorithm AS 241.
fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180_625 - q * q);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let tail = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    tail.copysign(q)
}

/// A ratio of two polynomials of the seventh degree.
fn ratio([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    let polynomial = |of: &[f64; 8]| of.iter().rev().fold(0.0, |sum, term| sum * x + term);
    polynomial(above) / polynomial(below)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "scores of the same rank are the same")]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let known = [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.25, -0.674_489_750_196_081_7),
            (0.9999, 3.719_016_485_455_709),
            (1e-12, -7.034_483_825_301_132),
            (0.001, -3.090_232_306_167_813_5),
        ];
        for (p, expected) in known {
            assert!((normal_quantile(p) - expected).abs() < 1e-9, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn equal_values_share_their_rank() {
        let ranks = Ranks::of([2.0, 1.0, 2.0, 9.0].into_iter());
        let score = |rank: f64| normal_quantile((rank - 0.5) / 4.0);
        assert_eq!(ranks.knots(), [(1.0, score(1.0)), (2.0, score(2.5)), (9.0, score(4.0))]);
        assert!((ranks.score(5.5) - f64::midpoint(score(2.5), score(4.0))).abs() < 1e-12);
        assert_eq!(ranks.score(-1e30), score(1.0));
        assert_eq!(ranks.score(1e30), score(4.0));
    }

    #[test]
    fn few_values_say_little() {
        assert_eq!(Ranks::of([].into_iter()).score(7.0), 0.0);
        let one = Ranks::of([3.0].into_iter());
        assert_eq!([one.score(-5.0), one.score(3.0), one.score(5.0)], [0.0; 3]);
        assert_eq!(Ranks::of([0.0, -0.0].into_iter()).knots(), [(0.0, 0.0)]);
    }

    #[test]
    fn of_many_values_some_are_kept() {
        let ranks = Ranks::of((0..5000).map(|value| value as f32));
        assert_eq!(ranks.knots().len(), MOST_KNOTS);
        for value in 0..5000 {
            let exact = normal_quantile((f64::from(value) + 0.5) / 5000.0);
            let off = (ranks.score(f64::from(value)) - exact).abs();
            assert!(off < if (100..4900).contains(&value) { 0.02 } else { 0.6 }, "{value}: {off}");
        }
    }
}
