//! Times and what is said of them.

use std::time::Instant;

/// What work gives, and the seconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// The smallest.
pub fn best(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The middle one; of an even number the mean of the two in the middle.
pub fn middle(list: &[f64]) -> f64 {
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_between_the_halves() {
        assert!((middle(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((middle(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }
}
