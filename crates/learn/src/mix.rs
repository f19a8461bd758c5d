//! Weighted sums of whole models, for one receiver or for several at once.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::kernels::Mixture;

/// Numbers of all models and outputs that are worked on at a time: they stay in the second
/// cache of any processor of today.
const BLOCK: usize = 1 << 15;

/// For each receiver its weighted sum of the models, written to its output; `weights` has one
/// row for each receiver, one column for each model. The models are read where they lie, and
/// a weight of 0 leaves a model out, whatever is in it.
///
/// Ends early, with outputs of any content, once `stop` is set. The same bits, whatever the
/// number of threads.
///
/// # Panics
/// If the weights don't fit, or models and outputs differ in length.
pub fn mix(weights: &[f32], models: &[&[f32]], outputs: &mut [&mut [f32]], stop: &AtomicBool) {
    let mixture = Mixture::new(weights, outputs.len(), models.len());
    let columns = (BLOCK / (models.len() + outputs.len()).max(1)).next_multiple_of(64).max(256);
    let blocks = outputs.first().map_or(0, |output| output.len()).div_ceil(columns);
    let mut parts: Vec<Vec<&mut [f32]>> = (0..blocks).map(|_| Vec::new()).collect();
    for output in outputs {
        assert_eq!(output.len().div_ceil(columns), blocks, "outputs of one length");
        for (part, slice) in parts.iter_mut().zip(output.chunks_mut(columns)) {
            part.push(slice);
        }
    }
    parts.into_par_iter().enumerate().for_each(|(block, mut outputs)| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let start = block * columns;
        let length = outputs[0].len();
        let models: Vec<&[f32]> =
            models.iter().map(|model| &model[start..start + length]).collect();
        mixture.columns(&models, &mut outputs);
    });
}

/// The weighted sum of some vectors, added up in listed order; what has weight 0 is skipped. The same
/// bits as [`mix`] gives each receiver.
///
/// # Panics
/// If the vectors differ in length.
pub fn weighted_sum(parts: &[(&[f32], f32)]) -> Vec<f32> {
    let used: Vec<_> = parts.iter().filter(|(_, weight)| *weight != 0.0).collect();
    let vectors: Vec<&[f32]> = used.iter().map(|(vector, _)| *vector).collect();
    let weights: Vec<f32> = used.iter().map(|(_, weight)| *weight).collect();
    let mut sum = vec![0.0; parts.first().map_or(0, |(vector, _)| vector.len())];
    mix(&weights, &vectors, &mut [&mut sum], &AtomicBool::new(false));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_put_together_without_a_seam() {
        let length = 3 * BLOCK + 17;
        let model = |factor: f32| -> Vec<f32> {
            (0..length).map(|at| factor * (at % 1000) as f32).collect()
        };
        let (a, b) = (model(1.0), model(-2.0));
        let mut outputs = [vec![0.0; length], vec![0.0; length]];
        let [first, second] = &mut outputs;
        let mut slices: [&mut [f32]; 2] = [first, second];
        mix(&[3.0, 1.0, 0.0, 0.5], &[&a, &b], &mut slices, &AtomicBool::new(false));
        assert_eq!(outputs[0], a);
        assert_eq!(outputs[1], model(-1.0));
    }
}
