//! A network with one hidden layer and one output, there and back, for a tile of rows.
//!
//! Such networks are what tabular data asks for, and their products are too small for a
//! general product to shine: here weights are laid out once for a tile, sums stay in
//! registers from the first feature to the bent value, and what lies between the layers
//! never leaves the nearest cache.

use std::{array, ops::Range};

use pulp::{Arch, Simd, WithSimd};

/// Rows whose sums, or inputs whose gradients, are in registers at the same time.
const TOGETHER: usize = 3;

/// A multiple of the bytes of any vector: what begins there crosses no line of the cache.
const ALIGNMENT: usize = 64;

/// The network: features → hidden, with leaky ReLU → one output. The weights have one row
/// for each input.
#[derive(Debug, Clone, Copy)]
pub struct Narrow<'a> {
    weights: &'a [f32],
    biases: &'a [f32],
    output_weights: &'a [f32],
    output_bias: f32,
    slope: f32,
}

/// Memory between the way there and the way back.
#[derive(Debug, Default)]
pub struct NarrowWork {
    packed: Aligned,
    hidden: Aligned,
    sums: Aligned,
}

/// Numbers that begin at a line of the cache.
#[derive(Debug, Default)]
struct Aligned(Vec<f32>);

impl Aligned {
    /// So many numbers, arbitrary unless nothing has changed since they were written.
    fn get(&mut self, length: usize) -> &mut [f32] {
        let spare = ALIGNMENT / size_of::<f32>();
        if self.0.len() < length + spare {
            self.0.resize(length + spare, 0.0);
        }
        let first = self.0.as_ptr().align_offset(ALIGNMENT).min(spare);
        &mut self.0[first..first + length]
    }
}

impl<'a> Narrow<'a> {
    /// A network, from parameters that lie one layer after the other.
    ///
    /// # Panics
    /// If there are more or fewer parameters.
    pub fn new(inputs: usize, hidden: usize, parameters: &'a [f32], slope: f32) -> Self {
        assert_eq!(parameters.len(), (inputs + 2) * hidden + 1, "the parameters of two layers");
        let (weights, rest) = parameters.split_at(inputs * hidden);
        let (biases, rest) = rest.split_at(hidden);
        Self { weights, biases, output_weights: &rest[..hidden], output_bias: rest[hidden], slope }
    }

    fn hidden(&self) -> usize {
        self.biases.len()
    }

    fn inputs(&self) -> usize {
        self.weights.len() / self.hidden()
    }

    /// The output of each row.
    ///
    /// # Panics
    /// If there is not one output for each row.
    pub fn forward(self, rows: &[f32], work: &mut NarrowWork, outputs: &mut [f32]) {
        assert_eq!(rows.len(), outputs.len() * self.inputs(), "one output for each row");
        Arch::new().dispatch(Forward { network: self, rows, work, outputs });
    }

    /// Adds to the gradient of the parameters, given that of the outputs; after
    /// [`Narrow::forward`] with the same rows and memory.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn backward(
        self,
        rows: &[f32],
        work: &mut NarrowWork,
        output_gradients: &[f32],
        gradient: &mut [f32],
    ) {
        assert_eq!(rows.len(), output_gradients.len() * self.inputs(), "one output for each row");
        assert_eq!(gradient.len(), self.weights.len() + 2 * self.hidden() + 1, "the gradient");
        Arch::new().dispatch(Backward { network: self, rows, work, output_gradients, gradient });
    }

    /// Columns of the hidden layer whose sums fit into registers together, in vectors; all
    /// of one size but for one more here and there.
    #[inline(always)]
    fn blocks<S: Simd>(&self) -> impl Iterator<Item = Range<usize>> + use<S> {
        // Wide vectors come with 32 registers, others with 16.
        let most = if S::F32_LANES == 16 { 8 } else { 4 };
        let vectors = self.hidden().div_ceil(S::F32_LANES);
        let blocks = vectors.div_ceil(most);
        (0..blocks).map(move |at| at * vectors / blocks..(at + 1) * vectors / blocks)
    }

    /// Where a block of vectors lies, for so many rows.
    #[inline(always)]
    fn place<S: Simd>(&self, block: Range<usize>, rows: usize) -> Place {
        let (first, end) = (block.start * S::F32_LANES, block.end * S::F32_LANES);
        Place {
            columns: first..self.hidden().min(end),
            values: first * rows..end * rows,
            all: self.hidden().next_multiple_of(S::F32_LANES) * rows,
        }
    }
}

/// Where some columns of the hidden layer lie.
struct Place {
    columns: Range<usize>,
    /// Their values, in the memory for all hidden values; and how many those are. The blocks
    /// lie one after the other, each with all rows.
    values: Range<usize>,
    all: usize,
}

/// Calls a method of an unknown number of vectors as one of a known number.
macro_rules! with_vectors {
    ($count:expr, $self:ident.$method:ident::<$simd:ident>($($argument:expr),*)) => {
        match $count {
            1 => $self.$method::<$simd, 1>($($argument),*),
            2 => $self.$method::<$simd, 2>($($argument),*),
            3 => $self.$method::<$simd, 3>($($argument),*),
            4 => $self.$method::<$simd, 4>($($argument),*),
            5 => $self.$method::<$simd, 5>($($argument),*),
            6 => $self.$method::<$simd, 6>($($argument),*),
            7 => $self.$method::<$simd, 7>($($argument),*),
            _ => $self.$method::<$simd, 8>($($argument),*),
        }
    };
}

/// Copies some columns of rows into rows of a multiple of a vector, with zeros behind them.
#[inline(always)]
fn pack(rows: &[f32], width: usize, columns: Range<usize>, to: &mut [f32], padded: usize) {
    let count = columns.len();
    for (from, to) in rows.chunks_exact(width).zip(to.chunks_exact_mut(padded)) {
        to[..count].copy_from_slice(&from[columns.clone()]);
        to[count..].fill(0.0);
    }
}

struct Forward<'a> {
    network: Narrow<'a>,
    rows: &'a [f32],
    work: &'a mut NarrowWork,
    outputs: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.outputs.fill(self.network.output_bias);
        for block in self.network.blocks::<S>() {
            with_vectors!(block.len(), self.block::<S>(simd, block));
        }
    }
}

impl Forward<'_> {
    /// The bent values of some columns, and what they add to the outputs.
    #[inline(always)]
    fn block<S: Simd, const VECTORS: usize>(&mut self, simd: S, block: Range<usize>) {
        let network = self.network;
        let (inputs, hidden) = (network.inputs(), network.hidden());
        let padded = VECTORS * S::F32_LANES;
        let Place { columns, values, all } = network.place::<S>(block, self.outputs.len());
        let bent = &mut self.work.hidden.get(all)[values];
        let bent = S::as_mut_simd_f32s(bent).0.as_chunks_mut::<VECTORS>().0;
        let packed = self.work.packed.get((inputs + 2) * padded);
        let (weights, rest) = packed.split_at_mut(inputs * padded);
        pack(network.weights, hidden, columns.clone(), weights, padded);
        pack(network.biases, hidden, columns.clone(), &mut rest[..padded], padded);
        pack(network.output_weights, hidden, columns, &mut rest[padded..], padded);
        let packed = S::as_simd_f32s(packed).0.as_chunks::<VECTORS>().0;
        let (weights, rest) = packed.split_at(inputs);
        let layer = Block { inputs, weights, biases: rest[0], output_weights: rest[1] };
        let slope = network.slope;

        let (bent, bent_left) = bent.as_chunks_mut::<TOGETHER>();
        let (outputs, outputs_left) = self.outputs.as_chunks_mut::<TOGETHER>();
        let (rows, rows_left) = self.rows.split_at(bent.len() * TOGETHER * inputs);
        let rows = rows.chunks_exact(TOGETHER * inputs);
        for ((rows, bent), outputs) in rows.zip(bent).zip(outputs) {
            layer.forward(simd, slope, rows, bent, outputs);
        }
        let rows = rows_left.chunks_exact(inputs);
        for ((row, bent), output) in rows.zip(bent_left).zip(outputs_left) {
            layer.forward(simd, slope, row, array::from_mut(bent), array::from_mut(output));
        }
    }
}

/// Some columns of the hidden layer, laid out in vectors.
struct Block<'a, S: Simd, const VECTORS: usize> {
    inputs: usize,
    weights: &'a [[S::f32s; VECTORS]],
    biases: [S::f32s; VECTORS],
    output_weights: [S::f32s; VECTORS],
}

impl<S: Simd, const VECTORS: usize> Block<'_, S, VECTORS> {
    /// The bent values of some rows, and what they add to the outputs.
    #[inline(always)]
    fn forward<const ROWS: usize>(
        &self,
        simd: S,
        slope: f32,
        rows: &[f32],
        bent: &mut [[S::f32s; VECTORS]; ROWS],
        outputs: &mut [f32; ROWS],
    ) {
        let rows: [&[f32]; ROWS] = array::from_fn(|at| &rows[at * self.inputs..][..self.inputs]);
        let mut sums = [self.biases; ROWS];
        for (input, weights) in self.weights.iter().enumerate() {
            let features: [S::f32s; ROWS] = array::from_fn(|at| simd.splat_f32s(rows[at][input]));
            for vector in 0..VECTORS {
                for at in 0..ROWS {
                    let sum = &mut sums[at][vector];
                    *sum = simd.mul_add_f32s(features[at], weights[vector], *sum);
                }
            }
        }
        let (slope, zero) = (simd.splat_f32s(slope), simd.splat_f32s(0.0));
        for at in 0..ROWS {
            let mut sum = zero;
            for vector in 0..VECTORS {
                let value = sums[at][vector];
                let above = simd.greater_than_f32s(value, zero);
                let value = simd.select_f32s(above, value, simd.mul_f32s(value, slope));
                sum = simd.mul_add_f32s(value, self.output_weights[vector], sum);
                bent[at][vector] = value;
            }
            outputs[at] += simd.reduce_sum_f32s(sum);
        }
    }
}

struct Backward<'a> {
    network: Narrow<'a>,
    rows: &'a [f32],
    work: &'a mut NarrowWork,
    output_gradients: &'a [f32],
    gradient: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if let Some(last) = self.gradient.last_mut() {
            *last += self.output_gradients.iter().sum::<f32>();
        }
        for block in self.network.blocks::<S>() {
            with_vectors!(block.len(), self.block::<S>(simd, block));
        }
    }
}

impl Backward<'_> {
    /// The gradients of the weights to and from some columns.
    #[inline(always)]
    fn block<S: Simd, const VECTORS: usize>(&mut self, simd: S, block: Range<usize>) {
        let network = self.network;
        let (inputs, hidden) = (network.inputs(), network.hidden());
        let padded = VECTORS * S::F32_LANES;
        let Place { columns, values, all } = network.place::<S>(block, self.output_gradients.len());
        let bent = &mut self.work.hidden.get(all)[values];
        let bent = S::as_mut_simd_f32s(bent).0.as_chunks_mut::<VECTORS>().0;
        let packed = self.work.packed.get(padded);
        pack(network.output_weights, hidden, columns.clone(), packed, padded);
        let packed = S::as_simd_f32s(packed).0.as_chunks::<VECTORS>().0;
        let all_sums = self.work.sums.get((inputs + 2) * padded);
        let sums = S::as_mut_simd_f32s(all_sums).0.as_chunks_mut::<VECTORS>().0;

        (sums[inputs], sums[inputs + 1]) =
            bend_back(simd, self.output_gradients, network.slope, bent, packed[0]);
        let (blocks, left) = sums[..inputs].as_chunks_mut::<TOGETHER>();
        let first_left = blocks.len() * TOGETHER;
        for (at, block) in blocks.iter_mut().enumerate() {
            *block = products(simd, self.rows, inputs, bent, at * TOGETHER);
        }
        match left {
            [a, b] => [*a, *b] = products(simd, self.rows, inputs, bent, first_left),
            [a] => [*a] = products(simd, self.rows, inputs, bent, first_left),
            _ => {}
        }

        let rows = self.gradient.chunks_exact_mut(hidden).zip(all_sums.chunks_exact(padded));
        for (gradient, sums) in rows {
            for (gradient, sum) in gradient[columns.clone()].iter_mut().zip(sums) {
                *gradient += sum;
            }
        }
    }
}

/// Puts the gradient before the bend in the place of the bent values; returns its sum,
/// the gradient of the biases, and that of the weights to the output.
#[inline(always)]
fn bend_back<S: Simd, const VECTORS: usize>(
    simd: S,
    output_gradients: &[f32],
    slope: f32,
    bent: &mut [[S::f32s; VECTORS]],
    output_weights: [S::f32s; VECTORS],
) -> ([S::f32s; VECTORS], [S::f32s; VECTORS]) {
    let zero = simd.splat_f32s(0.0);
    let (mut biases, mut weights) = ([zero; VECTORS], [zero; VECTORS]);
    for (bent, &output) in bent.iter_mut().zip(output_gradients) {
        let whole = simd.splat_f32s(output);
        let part = simd.splat_f32s(output * slope);
        for vector in 0..VECTORS {
            let value = bent[vector];
            weights[vector] = simd.mul_add_f32s(whole, value, weights[vector]);
            let above = simd.greater_than_f32s(value, zero);
            let passed = simd.select_f32s(above, whole, part);
            bent[vector] = simd.mul_f32s(passed, output_weights[vector]);
            biases[vector] = simd.add_f32s(biases[vector], bent[vector]);
        }
    }
    (biases, weights)
}

/// The gradients of the weights of some inputs.
#[inline(always)]
fn products<S: Simd, const VECTORS: usize, const INPUTS: usize>(
    simd: S,
    rows: &[f32],
    inputs: usize,
    bent: &[[S::f32s; VECTORS]],
    first: usize,
) -> [[S::f32s; VECTORS]; INPUTS] {
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; INPUTS];
    for (row, bent) in rows.chunks_exact(inputs).zip(bent) {
        let Some(features) = row[first..].first_chunk::<INPUTS>() else { break };
        let features = features.map(|feature| simd.splat_f32s(feature));
        for vector in 0..VECTORS {
            for at in 0..INPUTS {
                let sum = &mut sums[at][vector];
                *sum = simd.mul_add_f32s(features[at], bent[vector], *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    /// Outputs and gradient by the definition, with more digits.
    fn naive(network: Narrow<'_>, rows: &[f32], above: &[f32]) -> (Vec<f64>, Vec<f64>) {
        let (inputs, hidden) = (network.inputs(), network.hidden());
        let slope = f64::from(network.slope);
        let mut outputs = Vec::new();
        let mut gradient = vec![0.0; (inputs + 2) * hidden + 1];
        for (row, &above) in rows.chunks_exact(inputs).zip(above) {
            let above = f64::from(above);
            let mut output = f64::from(network.output_bias);
            for column in 0..hidden {
                let weight = |input: usize| f64::from(network.weights[input * hidden + column]);
                let products = (0..inputs).map(|input| f64::from(row[input]) * weight(input));
                let sum = f64::from(network.biases[column]) + products.sum::<f64>();
                let factor = if sum > 0.0 { 1.0 } else { slope };
                let output_weight = f64::from(network.output_weights[column]);
                output += output_weight * factor * sum;
                let below = above * output_weight * factor;
                for input in 0..inputs {
                    gradient[input * hidden + column] += below * f64::from(row[input]);
                }
                gradient[inputs * hidden + column] += below;
                gradient[(inputs + 1) * hidden + column] += above * factor * sum;
            }
            outputs.push(output);
            gradient[(inputs + 2) * hidden] += above;
        }
        (outputs, gradient)
    }

    /// Runs on this processor's widest vectors, on narrower ones and on single numbers.
    fn dispatched(kind: u64, kernel: impl WithSimd) {
        #[cfg(target_arch = "x86_64")]
        if kind == 1
            && let Some(simd) = pulp::x86::V3::try_new()
        {
            Simd::vectorize(simd, kernel);
            return;
        }
        if kind == 2 {
            Simd::vectorize(pulp::Scalar::new(), kernel);
        } else {
            Arch::new().dispatch(kernel);
        }
    }

    #[test]
    fn there_and_back_are_those_of_the_definition() {
        let mut work = NarrowWork::default();
        for case in 0..u64::from(repeat(120)) {
            let mut stream = Stream::new(case, "narrow networks", 0);
            let mut size = |most: u64| 1 + (stream.bits() % most) as usize;
            let (inputs, hidden, count) = (size(30), size(200), size(70));
            let mut numbers =
                |count| (0..count).map(|_| stream.unit() as f32 - 0.5).collect::<Vec<_>>();
            let parameters = numbers((inputs + 2) * hidden + 1);
            let (rows, above) = (numbers(count * inputs), numbers(count));
            let network = Narrow::new(inputs, hidden, &parameters, 0.2);
            let (expected_outputs, expected_gradient) = naive(network, &rows, &above);

            // Whatever was there before is overwritten, or added to.
            let mut outputs = numbers(count);
            let mut gradient = vec![1.0; parameters.len()];
            let (work, rows) = (&mut work, &rows);
            let outputs = &mut outputs;
            dispatched(case % 3, Forward { network, rows, work, outputs });
            let output_gradients = &above;
            let gradient = &mut gradient;
            dispatched(case % 3, Backward { network, rows, work, output_gradients, gradient });
            let shape = format!("case {case}: {count} rows, {inputs} → {hidden} → 1");
            for (found, expected) in outputs.iter().zip(&expected_outputs) {
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{shape}");
            }
            for (found, expected) in gradient.iter().zip(&expected_gradient) {
                assert!((f64::from(*found) - 1.0 - expected).abs() < 1e-4, "{shape}");
            }
        }
    }
}
