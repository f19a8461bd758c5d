//! Products of matrices: the one place that is `unsafe`, as the library takes pointers.

use gemm_common::Parallelism;

/// The library's product: sizes, then pointer and strides of the product, whether to add to it,
/// pointers and strides of the factors, a factor for what is there, a factor for the product, and
/// whether numbers are to be conjugated.
type Gemm<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    isize,
    isize,
    bool,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    T,
    bool,
    bool,
    bool,
    Parallelism,
);

/// A floating-point number that the library multiplies.
pub trait Float: Copy + std::fmt::Debug {
    /// One.
    const ONE: Self;

    /// The product for the processor at hand.
    #[doc(hidden)]
    fn gemm() -> Gemm<Self>;
}

impl Float for f32 {
    const ONE: Self = 1.0;

    fn gemm() -> Gemm<Self> {
        gemm_f32::gemm::f32::get_gemm_fn()
    }
}

impl Float for f64 {
    const ONE: Self = 1.0;

    fn gemm() -> Gemm<Self> {
        gemm_f64::gemm::f64::get_gemm_fn()
    }
}

/// A matrix seen in a slice: element (i, j) lies at `i * row + j * column`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T = f32> {
    values: &'a [T],
    rows: usize,
    columns: usize,
    row: usize,
    column: usize,
}

impl<'a, T> View<'a, T> {
    /// The matrix whose rows follow each other in the slice.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn new(values: &'a [T], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} × {columns} matrix");
        Self { values, rows, columns, row: columns, column: 1 }
    }

    /// A block of a larger matrix: `stride` numbers lie between the beginnings of two rows.
    ///
    /// # Panics
    /// If the slice ends before the block does, or if a row is longer than the stride.
    pub fn block(values: &'a [T], rows: usize, columns: usize, stride: usize) -> Self {
        let end = if rows == 0 { 0 } else { (rows - 1) * stride + columns };
        assert!(columns <= stride && end <= values.len(), "a {rows} × {columns} block");
        Self { values, rows, columns, row: stride, column: 1 }
    }

    /// The same numbers, with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, row: self.column, column: self.row, ..self }
    }
}

/// `product = left · right`, or `product += left · right` where `add` is set; `product`
/// holds its rows one after the other.
///
/// # Panics
/// If the sizes don't fit.
pub fn multiply<T: Float>(left: View<'_, T>, right: View<'_, T>, product: &mut [T], add: bool) {
    assert_eq!(left.columns, right.rows, "the inner dimensions of a product");
    assert_eq!(product.len(), left.rows * right.columns, "the size of a product");
    let (depth, columns) = (left.columns, right.columns);
    if left.rows == 0 || columns == 0 {
        return;
    }
    let stride = |step: usize| isize::try_from(step).expect("slices are shorter than that");
    // The library is at its best where columns of the product lie together, and ours has rows
    // that do: it gets the transposed product, of the transposed factors the other way round.
    let is_turned = columns > 1;
    let (first, second) =
        if is_turned { (right.transposed(), left.transposed()) } else { (left, right) };
    let (next_column, next_row) = if is_turned { (columns, 1) } else { (1, columns) };
    // SAFETY: the strides of a view reach no element beyond its slice (`View::new` and
    // `View::block` have checked the length, `transposed` only exchanges the two), and
    // `product` has been checked above; it is borrowed mutably, so it overlaps neither.
    #[expect(unsafe_code, reason = "the library takes pointers and strides")]
    unsafe {
        T::gemm()(
            first.rows,
            second.columns,
            depth,
            product.as_mut_ptr(),
            stride(next_column),
            stride(next_row),
            add,
            first.values.as_ptr(),
            stride(first.column),
            stride(first.row),
            second.values.as_ptr(),
            stride(second.column),
            stride(second.row),
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    /// The definition, summed with more digits.
    fn naive(left: View<'_>, right: View<'_>) -> Vec<f64> {
        let at = |m: View<'_>, i, j| f64::from(m.values[i * m.row + j * m.column]);
        (0..left.rows * right.columns)
            .map(|c| {
                let (i, j) = (c / right.columns, c % right.columns);
                (0..left.columns).map(|p| at(left, i, p) * at(right, p, j)).sum()
            })
            .collect()
    }

    #[test]
    fn a_product_is_the_sum_of_products() {
        for case in 0..u64::from(repeat(300)) {
            let mut stream = Stream::new(case, "products", 0);
            let mut size = |most: u64| 1 + (stream.bits() % most) as usize;
            let (m, k, n) = (size(40), size(if case % 10 == 0 { 600 } else { 40 }), size(150));
            let mut numbers =
                |count| (0..count).map(|_| stream.unit() as f32 - 0.5).collect::<Vec<_>>();
            let (a, b, mut c) = (numbers(m * k), numbers(k * n), numbers(m * n));
            let left =
                if case & 1 == 0 { View::new(&a, m, k) } else { View::new(&a, k, m).transposed() };
            let right =
                if case & 2 == 0 { View::new(&b, k, n) } else { View::new(&b, n, k).transposed() };
            let add = case & 4 == 0;
            let expected: Vec<f64> = naive(left, right)
                .iter()
                .zip(&c)
                .map(|(product, before)| product + if add { f64::from(*before) } else { 0.0 })
                .collect();
            multiply(left, right, &mut c, add);
            for (found, expected) in c.iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{m} × {k} × {n}");
            }
        }
    }
}
