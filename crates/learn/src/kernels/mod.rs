//! Arithmetic on slices of numbers, on one thread, with the widest vectors the processor
//! at hand has: chosen at run time, so that one build is fast everywhere.
//!
//! Participants, seeds and methods run in parallel; a kernel never does. Sums run in a
//! fixed order, so nothing depends on the number of threads.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined into the dispatch is compiled without the vectors"
)]

pub mod convolve;
mod mix;
mod multiply;
mod narrow;

use pulp::{Arch, Simd, WithSimd};

pub use mix::Mixture;
pub use multiply::{View, multiply};
pub use narrow::{Narrow, NarrowWork};

/// Defines a function that is compiled for each kind of processor. The body is an ordinary
/// loop, which the compiler turns into that processor's vectors.
macro_rules! kernel {
    (
        $(#[$about:meta])*
        pub fn $name:ident<$life:lifetime>($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? $body:block
    ) => {
        $(#[$about])*
        pub fn $name<$life>($($argument: $type),*) $(-> $result)? {
            struct Kernel<$life> {
                $($argument: $type,)*
            }
            impl WithSimd for Kernel<'_> {
                type Output = kernel!(@result $($result)?);

                #[inline(always)]
                fn with_simd<S: Simd>(self, _: S) -> Self::Output {
                    let Self { $($argument,)* } = self;
                    $body
                }
            }
            Arch::new().dispatch(Kernel { $($argument,)* })
        }
    };
    (@result) => { () };
    (@result $result:ty) => { $result };
}

mod triangle;

pub use triangle::{MOST_FACTORISED, Order, factorise, solve_lower, solve_upper, substitute};

kernel! {
    /// `target += factor · values`.
    pub fn add_scaled<'a>(target: &'a mut [f32], factor: f32, values: &'a [f32]) {
        assert_eq!(target.len(), values.len(), "two vectors of one length");
        for (target, value) in target.iter_mut().zip(values) {
            *target += factor * value;
        }
    }
}

kernel! {
    /// `target *= factor`.
    pub fn scale<'a>(target: &'a mut [f32], factor: f32) {
        for target in target {
            *target *= factor;
        }
    }
}

/// The inner product.
///
/// # Panics
/// If the lengths differ.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut product = [0.0];
    if b.is_empty() {
        return 0.0;
    }
    rows_times_vector(a, b, 0.0, &mut product);
    product[0]
}

kernel! {
    /// Adds the bias to every row.
    pub fn add_bias<'a>(rows: &'a mut [f32], bias: &'a [f32]) {
        for row in rows.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    }
}

/// Adds the bias to every row and lets what is negative through only in part: leaky ReLU.
pub fn add_bias_and_bend(rows: &mut [f32], bias: &[f32], slope: f32) {
    Arch::new().dispatch(AddBiasAndBend { rows, bias, slope });
}

struct AddBiasAndBend<'a> {
    rows: &'a mut [f32],
    bias: &'a [f32],
    slope: f32,
}

impl WithSimd for AddBiasAndBend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (zero, slope) = (simd.splat_f32s(0.0), simd.splat_f32s(self.slope));
        let bend = |value: S::f32s, bias: S::f32s| {
            let sum = simd.add_f32s(value, bias);
            let above = simd.greater_than_f32s(sum, zero);
            simd.select_f32s(above, sum, simd.mul_f32s(sum, slope))
        };
        let (bias, bias_rest) = S::as_simd_f32s(self.bias);
        let bias_rest = simd.partial_load_f32s(bias_rest);
        for row in self.rows.chunks_exact_mut(self.bias.len()) {
            let (row, row_rest) = S::as_mut_simd_f32s(row);
            for (value, bias) in row.iter_mut().zip(bias) {
                *value = bend(*value, *bias);
            }
            if !row_rest.is_empty() {
                let value = bend(simd.partial_load_f32s(row_rest), bias_rest);
                simd.partial_store_f32s(row_rest, value);
            }
        }
    }
}

kernel! {
    /// The gradient before [`add_bias_and_bend`], given what came out of it.
    pub fn unbend<'a>(gradient: &'a mut [f32], bent: &'a [f32], slope: f32) {
        for (gradient, bent) in gradient.iter_mut().zip(bent) {
            *gradient *= if *bent > 0.0 { 1.0 } else { slope };
        }
    }
}

kernel! {
    /// Adds up rows.
    pub fn add_rows<'a>(sum: &'a mut [f32], rows: &'a [f32]) {
        for row in rows.chunks_exact(sum.len()) {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
    }
}

/// For a layer with one output: the output of every row.
///
/// # Panics
/// If the sizes don't fit.
pub fn rows_times_vector(rows: &[f32], weights: &[f32], bias: f32, outputs: &mut [f32]) {
    assert_eq!(rows.len(), weights.len() * outputs.len(), "one output for each row");
    Arch::new().dispatch(RowsTimesVector { rows, weights, bias, outputs });
}

struct RowsTimesVector<'a> {
    rows: &'a [f32],
    weights: &'a [f32],
    bias: f32,
    outputs: &'a mut [f32],
}

impl WithSimd for RowsTimesVector<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (weights, weights_rest) = S::as_simd_f32s(self.weights);
        let (weights_four, weights_left) = weights.as_chunks::<4>();
        let weights_rest = simd.partial_load_f32s(weights_rest);
        for (row, output) in self.rows.chunks_exact(self.weights.len()).zip(self.outputs) {
            let (row, row_rest) = S::as_simd_f32s(row);
            let (row_four, row_left) = row.as_chunks::<4>();
            let mut sums = [simd.splat_f32s(0.0); 4];
            for (row, weights) in row_four.iter().zip(weights_four) {
                for at in 0..4 {
                    sums[at] = simd.mul_add_f32s(row[at], weights[at], sums[at]);
                }
            }
            for ((row, weights), sum) in row_left.iter().zip(weights_left).zip(&mut sums) {
                *sum = simd.mul_add_f32s(*row, *weights, *sum);
            }
            if !row_rest.is_empty() {
                let row_rest = simd.partial_load_f32s(row_rest);
                sums[3] = simd.mul_add_f32s(row_rest, weights_rest, sums[3]);
            }
            let sum =
                simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
            *output = self.bias + simd.reduce_sum_f32s(sum);
        }
    }
}

kernel! {
    /// For a matrix that a row is multiplied by, given the gradient by each of its products:
    /// adds the gradient by the row, and writes the gradient by the matrix.
    pub fn back_through_product<'a>(
        matrix: &'a [f32],
        slopes: &'a [f32],
        row: &'a [f32],
        back: &'a mut [f32],
        gradient: &'a mut [f32],
    ) {
        let lines = matrix.chunks_exact(row.len()).zip(gradient.chunks_exact_mut(row.len()));
        for ((weights, gradient), slope) in lines.zip(slopes) {
            for (back, weight) in back.iter_mut().zip(weights) {
                *back += slope * weight;
            }
            for (gradient, value) in gradient.iter_mut().zip(row) {
                *gradient = slope * value;
            }
        }
    }
}

/// The same number, or 0 where it is so small that it is about to lose its digits: such
/// numbers are what a memory without new gradients fades to, they move nothing, and
/// processors take a hundred times as long for them.
#[inline(always)]
fn normal(value: f32) -> f32 {
    if value.abs() < 1e-36 { 0.0 } else { value }
}

kernel! {
    /// A step of gradient descent with momentum: `velocity = momentum · velocity +
    /// gradient`, `parameters −= rate · velocity`, the gradient of the decay included.
    pub fn momentum_step<'a>(
        parameters: &'a mut [f32],
        gradient: &'a [f32],
        velocity: &'a mut [f32],
        rate: f32,
        momentum: f32,
        decay: f32,
    ) {
        for ((parameter, gradient), velocity) in parameters.iter_mut().zip(gradient).zip(velocity) {
            *velocity = normal(momentum * *velocity + (gradient + decay * *parameter));
            *parameter -= rate * *velocity;
        }
    }
}

/// What a step of Adam needs beside the vectors; the correction of the first moment is
/// already in the rate.
#[derive(Debug, Clone, Copy)]
pub struct AdamStep {
    /// The learning rate.
    pub rate: f32,
    /// How much of the mean of the gradients is kept.
    pub first_decay: f32,
    /// How much of the mean of their squares is kept.
    pub second_decay: f32,
    /// By what the mean of the squares is multiplied, as it began at 0.
    pub second_correction: f32,
    /// Keeps the division from blowing up.
    pub epsilon: f32,
    /// How much of each parameter is added to its gradient.
    pub decay: f32,
}

kernel! {
    /// A step of Adam.
    pub fn adam_step<'a>(
        parameters: &'a mut [f32],
        gradient: &'a [f32],
        first: &'a mut [f32],
        second: &'a mut [f32],
        step: AdamStep,
    ) {
        let AdamStep { rate, first_decay, second_decay, second_correction, epsilon, decay } = step;
        for (((parameter, gradient), first), second) in
            parameters.iter_mut().zip(gradient).zip(first).zip(second)
        {
            let gradient = gradient + decay * *parameter;
            *first = normal(first_decay * *first + (1.0 - first_decay) * gradient);
            *second = normal(second_decay * *second + (1.0 - second_decay) * gradient * gradient);
            *parameter -= rate * *first / ((*second * second_correction).sqrt() + epsilon);
        }
    }
}
