//! Means and how sure they are.

/// A mean and how much the values scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample; 0 for a single value.
    pub deviation: f64,
    /// The standard error of the mean.
    pub error: f64,
}

impl Spread {
    /// Of these values.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "a mean of nothing");
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { mean, deviation, error: deviation / count.sqrt() }
    }
}

/// By how much the first values exceed the second, seed by seed: what both have in common
/// (the same data) falls out.
pub fn paired(a: &[f64], b: &[f64]) -> Spread {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Spread::of(&differences)
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
        let difference = paired(&[1.0, 2.0], &[0.5, 1.5]);
        assert!((difference.mean - 0.5).abs() < 1e-12 && difference.error.abs() < 1e-12);
    }
}
