//! The Cholesky factorisation of a symmetric positive definite matrix, in double precision.
//!
//! Written here because the libraries that are fast at a few hundred rows (`faer`) take longer to
//! build than the whole workspace may grow by, and those that build fast (`nalgebra`) do not work in
//! blocks. See `docs/decisions/0021-evidence.md`.

use crate::kernels::{
    MOST_FACTORISED, Order, View, factorise, multiply, solve_lower, solve_upper, substitute,
};

/// Rows that are factorised together; what is left of them goes into products of matrices.
const BLOCK: usize = 48;
const _: () = assert!(BLOCK <= MOST_FACTORISED, "a block is factorised at once");

/// A triangle `U` with `Uᵀ·U` = the matrix.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    /// Row after row; what lies below the diagonal is arbitrary.
    upper: Vec<f64>,
}

impl Cholesky {
    /// Factorises a matrix, given row after row; only its upper triangle is read. `None` if it is not
    /// positive definite, or not finite. Takes about n³/3 operations.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn new(matrix: Vec<f64>, size: usize) -> Option<Self> {
        assert_eq!(matrix.len(), size * size, "a {size} × {size} matrix");
        let mut upper = matrix;
        let (mut product, mut square, mut factors) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..size).step_by(BLOCK) {
            let width = BLOCK.min(size - first);
            let columns = size - first;
            if first > 0 {
                product.resize(width * columns, 0.0);
                let above = &upper[first..];
                let left = View::block(above, first, width, size).transposed();
                multiply(left, View::block(above, first, columns, size), &mut product, false);
                let rows = upper[first * size..].chunks_exact_mut(size);
                for (row, product) in rows.zip(product.chunks_exact(columns)) {
                    let row = &mut row[first..];
                    row.iter_mut().zip(product).for_each(|(value, product)| *value -= product);
                }
            }
            // The square on the diagonal, then what stands to the right of it.
            let rows = &mut upper[first * size..][..width * size];
            take(rows, size, first, width, &mut square);
            if !factorise(&mut square, width) {
                return None;
            }
            put(&square, width, rows, size, first);
            let rest = columns - width;
            if rest > 0 {
                transpose(&square, width, &mut factors);
                take(rows, size, first + width, rest, &mut product);
                substitute(&factors, width, Order::Forward, &mut product);
                put(&product, rest, rows, size, first + width);
            }
        }
        Some(Self { size, upper })
    }

    /// The logarithm of the matrix's determinant.
    pub fn log_determinant(&self) -> f64 {
        let diagonal = self.upper.iter().step_by(self.size + 1);
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
        if columns == 1 {
            solve_lower(&self.upper, right);
            solve_upper(&self.upper, right);
        } else if columns > 1 {
            self.forward(right, columns);
            self.backward(right, columns);
        }
    }

    /// Writes `U⁻¹ · right` over several right sides, given as in [`Cholesky::solve_columns`].
    ///
    /// # Panics
    /// If there are not as many rows as the matrix has.
    pub fn solve_transposed(&self, right: &mut [f64], columns: usize) {
        assert_eq!(right.len(), self.size * columns, "{} rows of right sides", self.size);
        if columns > 0 {
            self.backward(right, columns);
        }
    }

    /// `L = Uᵀ`, row after row, with zeros above the diagonal.
    pub fn triangle(&self) -> Vec<f64> {
        let mut lower = vec![0.0; self.size * self.size];
        for (at, row) in lower.chunks_exact_mut(self.size.max(1)).enumerate() {
            let column = self.upper[at..].iter().step_by(self.size);
            row[..=at].iter_mut().zip(column).for_each(|(value, upper)| *value = *upper);
        }
        lower
    }

    /// `U⁻ᵀ · right`.
    fn forward(&self, right: &mut [f64], columns: usize) {
        let size = self.size;
        let (mut product, mut square, mut factors) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..size).step_by(BLOCK) {
            let width = BLOCK.min(size - first);
            let (done, open) = right.split_at_mut(first * columns);
            let block = &mut open[..width * columns];
            if first > 0 {
                product.resize(width * columns, 0.0);
                let left = View::block(&self.upper[first..], first, width, size).transposed();
                multiply(left, View::new(done, first, columns), &mut product, false);
                block.iter_mut().zip(&product).for_each(|(value, product)| *value -= product);
            }
            take(&self.upper[first * size..][..width * size], size, first, width, &mut square);
            transpose(&square, width, &mut factors);
            substitute(&factors, width, Order::Forward, block);
        }
    }

    /// `U⁻¹ · right`.
    fn backward(&self, right: &mut [f64], columns: usize) {
        let size = self.size;
        let (mut product, mut factors) = (Vec::new(), Vec::new());
        for first in (0..size).step_by(BLOCK).rev() {
            let width = BLOCK.min(size - first);
            let (open, done) = right.split_at_mut((first + width) * columns);
            let block = &mut open[first * columns..];
            let behind = size - first - width;
            let rows = &self.upper[first * size..][..width * size];
            if behind > 0 {
                product.resize(width * columns, 0.0);
                let left = View::block(&rows[first + width..], width, behind, size);
                multiply(left, View::new(done, behind, columns), &mut product, false);
                block.iter_mut().zip(&product).for_each(|(value, product)| *value -= product);
            }
            take(rows, size, first, width, &mut factors);
            substitute(&factors, width, Order::Backward, block);
        }
    }
}

/// Copies `width` columns of rows, from `first` on.
fn take(rows: &[f64], size: usize, first: usize, width: usize, into: &mut Vec<f64>) {
    into.clear();
    rows.chunks_exact(size).for_each(|row| into.extend_from_slice(&row[first..][..width]));
}

/// Copies such columns back.
fn put(from: &[f64], width: usize, rows: &mut [f64], size: usize, first: usize) {
    let rows = rows.chunks_exact_mut(size).zip(from.chunks_exact(width));
    rows.for_each(|(row, from)| row[first..][..width].copy_from_slice(from));
}

/// Exchanges rows and columns of a square.
fn transpose(square: &[f64], size: usize, into: &mut Vec<f64>) {
    into.clear();
    into.extend((0..size * size).map(|at| square[at % size * size + at / size]));
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
            let columns = 1 + stream.below(if case % 10 == 0 { 200 } else { 3 }) as usize;
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
        assert!(Cholesky::new(vec![1.0, 2.0, 0.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![0.0], 1).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
        assert!(Cholesky::new(vec![f64::INFINITY], 1).is_none());
        let mut large = positive_definite(120, &mut Stream::new(1, "cholesky", 1));
        large[100 * 121] = -1.0;
        assert!(Cholesky::new(large, 120).is_none());
    }
}
