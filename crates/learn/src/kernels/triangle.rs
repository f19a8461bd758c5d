//! What solving with a triangle and factorising a symmetric matrix need between products of matrices.

use pulp::{Arch, Simd, WithSimd};

/// Columns that are worked on together, so that a block of rows stays in the nearest cache.
const TILE: usize = 128;

/// Which rows of a triangular system are solved first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Backward,
}

kernel! {
    /// Solves a small triangular system for many right sides, given as rows that lie together, and writes the
    /// solutions over them. In row `r` of the square of factors stand the divisor of row `r`, on the diagonal,
    /// and how often the other rows are subtracted from it before: those that are solved earlier.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn substitute<'a>(factors: &'a [f64], count: usize, order: Order, rows: &'a mut [f64]) {
        assert!(count > 0 && rows.len().is_multiple_of(count), "rows of one length");
        assert_eq!(factors.len(), count * count, "a factor for each pair of rows");
        let columns = rows.len() / count;
        for first in (0..columns).step_by(TILE) {
            let width = TILE.min(columns - first);
            for step in 0..count {
                match order {
                    Order::Forward => {
                        let (solved, open) = rows.split_at_mut(step * columns);
                        let row = &mut open[first..][..width];
                        let factors = &factors[step * count..][..=step];
                        subtract_all(row, factors, solved, columns, first);
                        divide(row, factors[step]);
                    }
                    Order::Backward => {
                        let at = count - 1 - step;
                        let (open, solved) = rows.split_at_mut((at + 1) * columns);
                        let row = &mut open[at * columns + first..][..width];
                        let factors = &factors[at * count..][..count];
                        subtract_all(row, &factors[at + 1..], solved, columns, first);
                        divide(row, factors[at]);
                    }
                }
            }
        }
    }
}

kernel! {
    /// Factorises the square of these rows, of which only the upper triangle is read: writes over it the
    /// triangle `U` with `UᵀU` = the square. Whether it is positive definite.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn factorise<'a>(square: &'a mut [f64], size: usize) -> bool {
        assert!(square.len() == size * size && size <= MOST_FACTORISED, "a small square");
        let mut factors = [0.0; MOST_FACTORISED];
        for at in 0..size {
            let (done, open) = square.split_at_mut(at * size);
            for (factor, row) in factors.iter_mut().zip(done.chunks_exact(size)) {
                *factor = row[at];
            }
            let row = &mut open[at..size];
            subtract_all(row, &factors[..at], done, size, at);
            let pivot = row[0];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            divide(row, pivot.sqrt());
        }
        true
    }
}

/// The largest square that [`factorise`] takes.
pub const MOST_FACTORISED: usize = 64;

kernel! {
    /// Solves `Uᵀ · x = right`, given the rows of a matrix with `U` as its upper triangle, and writes the
    /// solution over the right side.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn solve_lower<'a>(upper: &'a [f64], right: &'a mut [f64]) {
        let size = right.len();
        assert_eq!(upper.len(), size * size, "a square");
        for (at, row) in upper.chunks_exact(size.max(1)).enumerate() {
            let (solved, open) = right.split_at_mut(at + 1);
            solved[at] /= row[at];
            let factor = solved[at];
            open.iter_mut().zip(&row[at + 1..]).for_each(|(value, row)| *value -= factor * row);
        }
    }
}

kernel! {
    /// Solves `U · x = right` in the same way.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn solve_upper<'a>(upper: &'a [f64], right: &'a mut [f64]) {
        let size = right.len();
        assert_eq!(upper.len(), size * size, "a square");
        for (at, row) in upper.chunks_exact(size.max(1)).enumerate().rev() {
            let (open, solved) = right.split_at_mut(at + 1);
            open[at] = (open[at] - product(&row[at + 1..], solved)) / row[at];
        }
    }
}

/// Subtracts rows from another, each as often as its factor says. Of `rows`, which have this many columns,
/// those from `first` on count.
#[inline(always)]
fn subtract_all(row: &mut [f64], factors: &[f64], rows: &[f64], columns: usize, first: usize) {
    let width = row.len();
    let of = |at: usize| &rows[at * columns + first..][..width];
    let count = (rows.len() / columns).min(factors.len());
    let mut at = 0;
    // Four at once, so that the row is read and written less often.
    while at + 4 <= count {
        let (a, b, c, d) = (of(at), of(at + 1), of(at + 2), of(at + 3));
        let [fa, fb, fc, fd] = [factors[at], factors[at + 1], factors[at + 2], factors[at + 3]];
        for (place, value) in row.iter_mut().enumerate() {
            *value -= (fa * a[place] + fb * b[place]) + (fc * c[place] + fd * d[place]);
        }
        at += 4;
    }
    while at < count {
        let factor = factors[at];
        row.iter_mut().zip(of(at)).for_each(|(value, other)| *value -= factor * other);
        at += 1;
    }
}

#[inline(always)]
fn divide(row: &mut [f64], by: f64) {
    row.iter_mut().for_each(|value| *value /= by);
}

/// The inner product, summed in lanes.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 32;
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
