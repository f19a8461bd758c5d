//! Means over seeds, and how sure they are.

/// A mean and how much the values scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample; 0 for a single value.
    pub deviation: f64,
    /// The standard error of the mean.
    pub error: f64,
    /// How far to either side of the mean its 95 % interval reaches, by Student's
    /// distribution; 0 for a single value, of which nothing is known.
    pub interval: f64,
}

/// Where 97.5 % of Student's distribution lie below, for 1, 2, … degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same for any number of them: beyond the table by the first terms of its expansion.
fn student(degrees: usize) -> f64 {
    if let Some(&quantile) = degrees.checked_sub(1).and_then(|at| STUDENT.get(at)) {
        return quantile;
    }
    let (z, n) = (1.959_964_f64, degrees.max(1) as f64);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
    z + (z.powi(3) + z) / (4.0 * n) + second
}

impl Spread {
    /// The spread of some values.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "a mean of nothing");
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let error = deviation / count.sqrt();
        let interval = error * student(values.len() - 1);
        Self { mean, deviation, error, interval }
    }

    /// The spread of the differences of paired values: what both have in common, such as the data of a
    /// seed, falls out.
    ///
    /// # Panics
    /// If there are none.
    pub fn of_differences(a: &[f64], b: &[f64]) -> Self {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Self::of(&differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_and_its_error() {
        let spread = Spread::of(&[1.0, 2.0, 3.0, 6.0]);
        assert!((spread.mean - 3.0).abs() < 1e-12);
        assert!((spread.deviation - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((spread.error - spread.deviation / 2.0).abs() < 1e-12);
        assert!((spread.interval - 3.182 * spread.error).abs() < 1e-12);
        let single = Spread::of(&[1.0]);
        assert_eq!(single.interval.to_bits(), 0.0_f64.to_bits());
        let difference = Spread::of_differences(&[1.0, 2.0], &[0.5, 1.5]);
        assert!((difference.mean - 0.5).abs() < 1e-12 && difference.error.abs() < 1e-12);
    }

    #[test]
    fn students_table_goes_on() {
        // 2.0395 and 1.9840 in printed tables.
        assert!((student(31) - 2.0395).abs() < 2e-4 && (student(100) - 1.9840).abs() < 1e-4);
        assert!((0..200).all(|degrees| degrees == 0 || student(degrees + 1) < student(degrees)));
    }
}
