//! The Cholesky factorisation of a symmetric positive definite matrix, in double precision.
//!
//! Written here because the libraries that are fast at a few hundred rows (`faer`) take longer to
//! build than the whole workspace may grow by, and those that build fast (`nalgebra`) do not work in
//! blocks. See `docs/decisions/0021-evidence.md`.

use crate::kernels::{View, multiply};

/// Columns that are factorised together; what is left of them goes into products of matrices.
const BLOCK: usize = 48;

/// A lower triangle `L` with `L·Lᵀ` = the matrix.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    /// Row after row; what lies above the diagonal is arbitrary.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factorises a matrix, given row after row; only its lower triangle is read. `None` if it is not
    /// positive definite, or not finite. Takes about n³/3 operations.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn new(matrix: Vec<f64>, size: usize) -> Option<Self> {
        assert_eq!(matrix.len(), size * size, "a {size} × {size} matrix");
        let mut lower = matrix;
        let mut product = Vec::new();
        for first in (0..size).step_by(BLOCK) {
            let width = BLOCK.min(size - first);
            let rows = size - first;
            if first > 0 {
                product.resize(rows * width, 0.0);
                let below = &lower[first * size..];
                let left = View::block(below, rows, first, size);
                let right = View::block(below, width, first, size).transposed();
                multiply(left, right, &mut product, false);
                for (row, product) in product.chunks_exact(width).enumerate() {
                    let row = &mut lower[(first + row) * size + first..][..width];
                    row.iter_mut().zip(product).for_each(|(value, product)| *value -= product);
                }
            }
            if !factorise_panel(&mut lower[first * size..], first, width, size) {
                return None;
            }
        }
        Some(Self { size, lower })
    }

    /// The logarithm of the matrix's determinant.
    pub fn log_determinant(&self) -> f64 {
        let diagonal = self.lower.iter().step_by(self.size + 1);
        2.0 * diagonal.map(|value| value.ln()).sum::<f64>()
    }

    /// Writes the solution of `matrix · x = right` over `right`. Takes about 2n² operations.
    ///
    /// # Panics
    /// If the length is not the matrix's.
    pub fn solve(&self, right: &mut [f64]) {
        self.solve_columns(right, 1);
    }

    /// The same for several right sides, given as a matrix with this many columns, row after row.
    ///
    /// # Panics
    /// If there are not as many rows as the matrix has.
    pub fn solve_columns(&self, right: &mut [f64], columns: usize) {
        assert_eq!(right.len(), self.size * columns, "{} rows of right sides", self.size);
        if columns == 0 {
            return;
        }
        self.forward(right, columns);
        self.backward(right, columns);
    }

    /// Writes `L⁻ᵀ · right` over several right sides, given as in [`Cholesky::solve_columns`].
    ///
    /// # Panics
    /// If there are not as many rows as the matrix has.
    pub fn solve_transposed(&self, right: &mut [f64], columns: usize) {
        assert_eq!(right.len(), self.size * columns, "{} rows of right sides", self.size);
        self.backward(right, columns);
    }

    /// `L`, row after row, with zeros above the diagonal.
    pub fn triangle(&self) -> Vec<f64> {
        let mut lower = self.lower.clone();
        for (at, row) in lower.chunks_exact_mut(self.size).enumerate() {
            row[at + 1..].fill(0.0);
        }
        lower
    }

    /// `L⁻¹ · right`.
    fn forward(&self, right: &mut [f64], columns: usize) {
        let size = self.size;
        let mut product = Vec::new();
        for first in (0..size).step_by(BLOCK) {
            let width = BLOCK.min(size - first);
            let (done, open) = right.split_at_mut(first * columns);
            let block = &mut open[..width * columns];
            if first > 0 {
                product.resize(width * columns, 0.0);
                let left = View::block(&self.lower[first * size..], width, first, size);
                multiply(left, View::new(done, first, columns), &mut product, false);
                block.iter_mut().zip(&product).for_each(|(value, product)| *value -= product);
            }
            for row in 0..width {
                let lower = &self.lower[(first + row) * size + first..][..=row];
                let (before, current) = block.split_at_mut(row * columns);
                let current = &mut current[..columns];
                for (factor, before) in lower.iter().zip(before.chunks_exact(columns)) {
                    subtract(current, *factor, before);
                }
                current.iter_mut().for_each(|value| *value /= lower[row]);
            }
        }
    }

    /// `L⁻ᵀ · right`.
    fn backward(&self, right: &mut [f64], columns: usize) {
        let size = self.size;
        let mut product = Vec::new();
        for first in (0..size).step_by(BLOCK).rev() {
            let width = BLOCK.min(size - first);
            let (open, done) = right.split_at_mut((first + width) * columns);
            let block = &mut open[first * columns..];
            let below = size - first - width;
            if below > 0 {
                product.resize(width * columns, 0.0);
                let under = &self.lower[(first + width) * size + first..];
                let left = View::block(under, below, width, size).transposed();
                multiply(left, View::new(done, below, columns), &mut product, false);
                block.iter_mut().zip(&product).for_each(|(value, product)| *value -= product);
            }
            for row in (0..width).rev() {
                let (current, after) = block[row * columns..].split_at_mut(columns);
                for (at, after) in (row + 1..width).zip(after.chunks_exact(columns)) {
                    subtract(current, self.lower[(first + at) * size + first + row], after);
                }
                let diagonal = self.lower[(first + row) * (size + 1)];
                current.iter_mut().for_each(|value| *value /= diagonal);
            }
        }
    }
}

/// `target -= factor · values`.
fn subtract(target: &mut [f64], factor: f64, values: &[f64]) {
    target.iter_mut().zip(values).for_each(|(target, value)| *target -= factor * value);
}

/// Factorises these columns, of which all products with earlier columns have been subtracted. The
/// slice begins with the panel's first row. Whether the pivots are positive.
fn factorise_panel(lower: &mut [f64], first: usize, width: usize, size: usize) -> bool {
    for row in 0..lower.len() / size {
        let (above, current) = lower.split_at_mut(row * size);
        let current = &mut current[first..][..width];
        for column in 0..width.min(row + 1) {
            let (done, open) = current.split_at_mut(column);
            if column == row {
                let rest = open[0] - done.iter().map(|value| value * value).sum::<f64>();
                if !(rest > 0.0 && rest.is_finite()) {
                    return false;
                }
                open[0] = rest.sqrt();
            } else {
                let pivot = &above[column * size + first..][..=column];
                let product: f64 = done.iter().zip(pivot).map(|(a, b)| a * b).sum();
                open[0] = (open[0] - product) / pivot[column];
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    /// A random matrix `A·Aᵀ + I/10`.
    fn positive_definite(size: usize, stream: &mut Stream) -> Vec<f64> {
        let factor: Vec<f64> = (0..size * size).map(|_| stream.unit() - 0.5).collect();
        let mut matrix = vec![0.0; size * size];
        let view = View::new(&factor[..], size, size);
        multiply(view, view.transposed(), &mut matrix, false);
        (0..size).for_each(|at| matrix[at * (size + 1)] += 0.1);
        matrix
    }

    fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
        matrix.chunks_exact(vector.len()).map(row).collect()
    }

    /// The determinant by elimination with pivots.
    fn log_determinant(matrix: &[f64], size: usize) -> f64 {
        let mut rows: Vec<Vec<f64>> = matrix.chunks_exact(size).map(<[f64]>::to_vec).collect();
        let mut sum = 0.0;
        for at in 0..size {
            let best = (at..size).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs()));
            rows.swap(at, best.expect("a row"));
            sum += rows[at][at].abs().ln();
            let pivot = rows[at].clone();
            for row in &mut rows[at + 1..] {
                let factor = row[at] / pivot[at];
                row.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
        sum
    }

    #[test]
    fn solutions_and_determinants_are_those_of_elimination() {
        for case in 0..u64::from(repeat(60)) {
            let mut stream = Stream::new(case, "cholesky", 0);
            let size = 1 + stream.below(150) as usize;
            let matrix = positive_definite(size, &mut stream);
            let cholesky = Cholesky::new(matrix.clone(), size).expect("positive definite");
            let expected = log_determinant(&matrix, size);
            assert!((cholesky.log_determinant() - expected).abs() < 1e-8, "{size}");
            let columns = 1 + stream.below(3) as usize;
            let right: Vec<f64> = (0..size * columns).map(|_| stream.unit() - 0.5).collect();
            let mut solution = right.clone();
            cholesky.solve_columns(&mut solution, columns);
            for column in 0..columns {
                let of = |values: &[f64]| -> Vec<f64> {
                    values.iter().skip(column).step_by(columns).copied().collect()
                };
                for (found, expected) in times(&matrix, &of(&solution)).iter().zip(of(&right)) {
                    assert!((found - expected).abs() < 1e-8, "{size} × {columns}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        assert!(Cholesky::new(vec![1.0, 0.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![0.0], 1).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
        assert!(Cholesky::new(vec![f64::INFINITY], 1).is_none());
        let mut large = positive_definite(120, &mut Stream::new(1, "cholesky", 1));
        large[100 * 121] = -1.0;
        assert!(Cholesky::new(large, 120).is_none());
    }
}
