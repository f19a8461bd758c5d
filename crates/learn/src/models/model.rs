//! What all native models have in common.

use std::fmt::Debug;

use fedcompetitors_graphs::random::Stream;

use crate::kernels::NarrowWork;

/// A model is a function of a flat vector of parameters and rows of features. It knows
/// neither data nor loss.
///
/// The first [`Model::shared`] parameters may be shared with others; the rest is a
/// participant's own head.
pub trait Model: Debug + Send + Sync {
    /// Features of a row.
    fn inputs(&self) -> usize;

    /// Outputs of a row.
    fn outputs(&self) -> usize;

    /// How many parameters there are.
    fn parameters(&self) -> usize;

    /// How many of them, from the first on, may be shared.
    fn shared(&self) -> usize;

    /// Whether outputs are weighted sums of the features: its parameters are then a weight for each
    /// feature and output, feature after feature, and the intercepts.
    fn is_linear(&self) -> bool {
        false
    }

    /// How many of the parameters, from the first on, are in front of the last layer: its trunk.
    fn trunk(&self) -> usize;

    /// The number of units in the last two hidden layers, or in the only one; 0 without hidden layers.
    fn hidden(&self) -> usize;

    /// Appends the values of these units for rows, row after row; of the parameters only the trunk is
    /// read.
    fn activations(&self, trunk: &[f32], rows: &[f32], work: &mut Work, to: &mut Vec<f32>);

    /// What the parameters are, piece after piece, with the shape of each.
    fn tensors(&self) -> Vec<(String, Vec<usize>)>;

    /// Parameters to begin with.
    fn initial(&self, stream: &mut Stream) -> Vec<f32>;

    /// Rows that are best handled at once: few enough for what lies between the layers to
    /// stay in the nearest caches.
    fn tile(&self) -> usize;

    /// The outputs of rows, row after row, in [`Work::outputs`].
    fn forward(&self, parameters: &[f32], rows: &[f32], work: &mut Work);

    /// Given the same rows after [`Model::forward`] and the gradient of the loss by the
    /// outputs in [`Work::outputs`], adds to the gradient by the parameters.
    fn backward(&self, parameters: &[f32], rows: &[f32], work: &mut Work, gradient: &mut [f32]);
}

/// Memory for what lies between the layers, kept from batch to batch.
#[derive(Debug, Default)]
pub struct Work {
    pub(crate) layers: Vec<Vec<f32>>,
    pub(crate) spare: Vec<Vec<f32>>,
    pub(crate) places: Vec<Vec<u32>>,
    pub(crate) outputs: Vec<f32>,
    pub(crate) narrow: NarrowWork,
}

impl Work {
    /// The outputs, or the gradient of the loss by them.
    pub fn outputs(&mut self) -> &mut [f32] {
        &mut self.outputs
    }
}

/// The `at`-th of several buffers, with this length; its content is arbitrary.
pub(crate) fn buffer<T: Clone + Default>(
    buffers: &mut Vec<Vec<T>>,
    at: usize,
    length: usize,
) -> &mut [T] {
    let buffer = buffer_owned(buffers, at);
    buffer.resize(length, T::default());
    buffer
}

/// The `at`-th of several buffers, to be taken out or given another length.
pub(crate) fn buffer_owned<T>(buffers: &mut Vec<Vec<T>>, at: usize) -> &mut Vec<T> {
    if buffers.len() <= at {
        buffers.resize_with(at + 1, Vec::new);
    }
    &mut buffers[at]
}

/// Weights and biases of a layer, both uniform up to one by the root of the inputs.
pub(crate) fn uniform_layer(inputs: usize, count: usize, stream: &mut Stream, to: &mut Vec<f32>) {
    let most = 1.0 / (inputs as f64).sqrt();
    to.extend((0..count).map(|_| ((2.0 * stream.unit() - 1.0) * most) as f32));
}
