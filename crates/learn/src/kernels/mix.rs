//! Weighted sums of a few long vectors, for several receivers at once.
//!
//! The vectors are read from where they lie. Sums for a few receivers stay in registers while
//! the vectors go by, so what counts is the memory: each model is read once, each result
//! written once. A general product would lay the vectors out anew first.

use std::array;

use pulp::{Arch, Simd, WithSimd};

/// Receivers whose sums are in registers at the same time, two vectors each: with the vectors
/// that are read and a weight that fills the sixteen registers of most processors.
const TOGETHER: usize = 6;

/// Who gets how much of whom, laid out for [`Mixture::columns`].
#[derive(Debug)]
pub struct Mixture {
    models: usize,
    receivers: usize,
    tiles: Vec<Tile>,
}

/// A few receivers, and the models that any of them gets something of.
#[derive(Debug)]
struct Tile {
    receivers: usize,
    models: Vec<usize>,
    /// For each of those models the weights of the receivers.
    weights: Vec<f32>,
    /// For each receiver that has a weight of 0 among them, itself alone.
    alone: Vec<(usize, Tile)>,
}

impl Mixture {
    /// For weights with one row for each receiver, one column for each model.
    ///
    /// # Panics
    /// If the weights don't have so many rows and columns.
    pub fn new(weights: &[f32], receivers: usize, models: usize) -> Self {
        assert_eq!(weights.len(), receivers * models, "a weight for each receiver and model");
        // Tiles of about the same size: ten receivers are five and five.
        let tiles = receivers.div_ceil(TOGETHER).max(1);
        let rows: Vec<&[f32]> =
            (0..receivers).map(|at| &weights[at * models..(at + 1) * models]).collect();
        let tiles = rows.chunks(receivers.div_ceil(tiles).max(1)).map(Tile::new).collect();
        Self { models, receivers, tiles }
    }

    /// Writes each receiver's weighted sum of the models, added up in listed order. A model of
    /// weight 0 changes no bit, whatever is in it.
    ///
    /// # Panics
    /// If there are more or fewer models or outputs, or they differ in length.
    pub fn columns(&self, models: &[&[f32]], outputs: &mut [&mut [f32]]) {
        assert_eq!((models.len(), outputs.len()), (self.models, self.receivers), "as laid out");
        let length = models.first().map_or(0, |model| model.len());
        assert!(models.iter().all(|model| model.len() == length), "models of one length");
        if self.models == 0 {
            outputs.iter_mut().for_each(|output| output.fill(0.0));
            return;
        }
        assert!(outputs.iter().all(|output| output.len() == length), "outputs of that length");
        Arch::new().dispatch(Columns { tiles: &self.tiles, models, outputs });
    }
}

impl Tile {
    fn new(rows: &[&[f32]]) -> Self {
        let used = |&model: &usize| rows.iter().any(|row| row[model] != 0.0);
        let models: Vec<usize> = (0..rows[0].len()).filter(used).collect();
        let weights = models.iter().flat_map(|&model| rows.iter().map(move |row| row[model]));
        let alone = rows.iter().enumerate().filter_map(|(at, row)| {
            let partly = models.iter().any(|&model| row[model] == 0.0);
            partly.then(|| (at, Self::new(&[row])))
        });
        Self { receivers: rows.len(), weights: weights.collect(), alone: alone.collect(), models }
    }

    #[inline(always)]
    fn write<S: Simd>(&self, simd: S, models: &[&[f32]], outputs: &mut [&mut [f32]]) {
        let models: Vec<&[f32]> = self.models.iter().map(|&model| models[model]).collect();
        match self.receivers {
            1 => write::<S, 1>(simd, &self.weights, &models, outputs),
            2 => write::<S, 2>(simd, &self.weights, &models, outputs),
            3 => write::<S, 3>(simd, &self.weights, &models, outputs),
            4 => write::<S, 4>(simd, &self.weights, &models, outputs),
            5 => write::<S, 5>(simd, &self.weights, &models, outputs),
            _ => write::<S, TOGETHER>(simd, &self.weights, &models, outputs),
        }
    }
}

struct Columns<'a, 'b> {
    tiles: &'a [Tile],
    models: &'a [&'a [f32]],
    outputs: &'a mut [&'b mut [f32]],
}

impl WithSimd for Columns<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut rest = self.outputs;
        for tile in self.tiles {
            let (outputs, behind) = rest.split_at_mut(tile.receivers);
            rest = behind;
            tile.write(simd, self.models, outputs);
            // 0 times infinity or NaN is NaN: where a sum is not finite, it is made once more from
            // the models of this receiver alone.
            for (at, alone) in &tile.alone {
                if !all_finite(outputs[*at]) {
                    alone.write(simd, self.models, &mut outputs[*at..=*at]);
                }
            }
        }
    }
}

/// Compared as whole numbers, all of them: a loop that ends early has no vectors.
#[inline(always)]
fn all_finite(values: &[f32]) -> bool {
    let largest = values.iter().fold(0, |largest: u32, value| largest.max(value.abs().to_bits()));
    largest < f32::INFINITY.to_bits()
}

/// The sums of `R` receivers.
#[inline(always)]
fn write<S: Simd, const R: usize>(
    simd: S,
    weights: &[f32],
    models: &[&[f32]],
    outputs: &mut [&mut [f32]],
) {
    let (weights, _) = weights.as_chunks::<R>();
    let (models, rests): (Vec<&[S::f32s]>, Vec<&[f32]>) =
        models.iter().map(|model| S::as_simd_f32s(model)).unzip();
    let mut outputs = outputs.iter_mut();
    let mut outputs: [(&mut [S::f32s], &mut [f32]); R] = array::from_fn(|_| {
        S::as_mut_simd_f32s(outputs.next().map_or(&mut [], |output| &mut **output))
    });
    let count = outputs[0].0.len();
    let pairs = count / 2 * 2;
    for at in (0..pairs).step_by(2) {
        let sums =
            sums::<S, R, 2>(simd, weights, |model| [models[model][at], models[model][at + 1]]);
        for (output, sum) in outputs.iter_mut().zip(sums) {
            output.0[at..at + 2].copy_from_slice(&sum);
        }
    }
    if pairs < count {
        let sums = sums::<S, R, 1>(simd, weights, |model| [models[model][pairs]]);
        for (output, [sum]) in outputs.iter_mut().zip(sums) {
            output.0[pairs] = sum;
        }
    }
    if !outputs[0].1.is_empty() {
        let rest = |model: usize| [simd.partial_load_f32s(rests[model])];
        let sums = sums::<S, R, 1>(simd, weights, rest);
        for (output, [sum]) in outputs.iter_mut().zip(sums) {
            simd.partial_store_f32s(output.1, sum);
        }
    }
}

/// The sums of `R` receivers over `V` vectors of columns, the models in listed order.
///
/// Products are rounded before they are added: the same bits on every processor, and a sum that
/// starts at +0 never becomes −0, so a finite model of weight 0 changes no bit.
#[inline(always)]
fn sums<S: Simd, const R: usize, const V: usize>(
    simd: S,
    weights: &[[f32; R]],
    values: impl Fn(usize) -> [S::f32s; V],
) -> [[S::f32s; V]; R] {
    let mut sums = [[simd.splat_f32s(0.0); V]; R];
    for (model, weights) in weights.iter().enumerate() {
        let values = values(model);
        for (sums, weight) in sums.iter_mut().zip(weights) {
            let weight = simd.splat_f32s(*weight);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = simd.add_f32s(simd.mul_f32s(weight, value), *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    fn mixed(weights: &[f32], models: &[Vec<f32>], receivers: usize) -> Vec<Vec<f32>> {
        let length = models.first().map_or(3, Vec::len);
        let mut outputs = vec![vec![7.0; length]; receivers];
        let models: Vec<&[f32]> = models.iter().map(Vec::as_slice).collect();
        let mut slices: Vec<&mut [f32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        Mixture::new(weights, receivers, models.len()).columns(&models, &mut slices);
        outputs
    }

    /// The plain loop, which never touches what has weight 0.
    fn naive(weights: &[f32], models: &[Vec<f32>], at: usize) -> f32 {
        let mut sum = 0.0;
        for (weight, model) in weights.iter().zip(models) {
            if *weight != 0.0 {
                sum += weight * model[at];
            }
        }
        sum
    }

    /// Numbers by which a sum could let a model of weight 0 through.
    fn hostile() -> impl Strategy<Value = f32> {
        let special = [0.0, -0.0, 1e-45, -1e-45, 1e-38, -1e-38, f32::MAX, f32::MIN];
        let not_finite = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        prop_oneof![
            4 => -2.0_f32..2.0,
            4 => prop::sample::select(special.to_vec()),
            1 => prop::sample::select(not_finite.to_vec()),
        ]
    }

    fn weight() -> impl Strategy<Value = f32> {
        prop_oneof![Just(0.0_f32), Just(-0.0), Just(1e-30), 0.0_f32..1.0]
    }

    /// Weights of some receivers, and models.
    fn instances() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        (0_usize..15, 1_usize..8, 0_usize..80).prop_flat_map(|(receivers, models, length)| {
            let rows = prop::collection::vec(prop::collection::vec(weight(), models), receivers);
            (rows, prop::collection::vec(prop::collection::vec(hostile(), length), models))
        })
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// Bit by bit, NaNs aside, which have many forms.
        #[test]
        fn sums_are_those_of_the_plain_loop((rows, models) in instances()) {
            for (row, output) in rows.iter().zip(mixed(&rows.concat(), &models, rows.len())) {
                for (at, value) in output.iter().enumerate() {
                    let expected = naive(row, &models, at);
                    let is_same = value.to_bits() == expected.to_bits()
                        || (value.is_nan() && expected.is_nan());
                    prop_assert!(is_same, "{value:e} instead of {expected:e}");
                }
            }
        }
    }
}
