//! Layers of weighted sums with leaky ReLU between them; without hidden layers this is
//! linear or logistic regression.

use std::{ops::Range, sync::Arc};

use fedcompetitors_graphs::{entry, random::Stream};
use serde::{Deserialize, Serialize};

use super::{
    Layers, ModelKind,
    model::{Model, Work, buffer, buffer_owned, uniform_layer},
};
use crate::kernels::{self, Narrow, View, multiply};

/// The kind `mlp`.
#[derive(Debug, Clone, Copy)]
pub struct MlpKind;

/// The slope of the hidden units below zero, as in the paper's models.
const SLOPE: f32 = 0.2;

entry!(MlpKind, "mlp", "Dense layers of the widths `hidden`, with leaky ReLU between them.");

impl ModelKind for MlpKind {
    fn has_hidden_layers(&self) -> bool {
        true
    }

    fn build(&self, inputs: usize, outputs: usize, layers: &Layers) -> Arc<dyn Model> {
        let widths = [&[inputs], &*layers.hidden, &[outputs]].concat();
        let model = Mlp::new(&widths, SLOPE);
        if layers.own_head { Arc::new(model.with_own_head()) } else { Arc::new(model) }
    }
}

/// A multilayer perceptron.
///
/// Parameters, layer after layer: the weights, one row for each input, then the biases.
/// (Rows are then as long as the layer is wide, which fills vectors better than rows as
/// long as the few features.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mlp {
    widths: Vec<usize>,
    slope: f32,
    own_head: bool,
}

impl Mlp {
    /// A perceptron with these numbers of inputs, hidden units (layer after layer) and
    /// outputs; between the layers what is negative is multiplied by `slope`.
    ///
    /// # Panics
    /// If there are not at least inputs and outputs, all of them positive.
    pub fn new(widths: &[usize], slope: f32) -> Self {
        assert!(widths.len() >= 2 && widths.iter().all(|&width| width > 0), "inputs and outputs");
        Self { widths: widths.to_vec(), slope, own_head: false }
    }

    /// Linear regression, or by its loss logistic regression.
    pub fn linear(inputs: usize, outputs: usize) -> Self {
        Self::new(&[inputs, outputs], 0.0)
    }

    /// The same with a last layer that each participant keeps to itself; without hidden layers with
    /// intercepts of its own.
    #[must_use]
    pub fn with_own_head(self) -> Self {
        Self { own_head: true, ..self }
    }

    /// (inputs, outputs, first parameter) of each layer.
    fn layers(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + ExactSizeIterator {
        let mut first = 0;
        let layers: Vec<_> = self
            .widths
            .windows(2)
            .map(|pair| {
                let layer = (pair[0], pair[1], first);
                first += (pair[0] + 1) * pair[1];
                layer
            })
            .collect();
        layers.into_iter()
    }

    /// One hidden layer and one output have a kernel of their own, where there are rows
    /// enough to be worth laying out the weights.
    fn narrow<'a>(&self, parameters: &'a [f32], rows: usize) -> Option<Narrow<'a>> {
        match self.widths[..] {
            [inputs, hidden, 1] if rows >= FEW => {
                Some(Narrow::new(inputs, hidden, parameters, self.slope))
            }
            _ => None,
        }
    }
}

/// Rows below which laying out the weights costs more than it saves.
const FEW: usize = 8;

impl Model for Mlp {
    fn inputs(&self) -> usize {
        self.widths[0]
    }

    fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    fn parameters(&self) -> usize {
        self.layers().map(|(inputs, outputs, _)| (inputs + 1) * outputs).sum()
    }

    fn shared(&self) -> usize {
        match self.layers().next_back() {
            Some((inputs, outputs, _)) if self.own_head && self.is_linear() => inputs * outputs,
            Some((_, _, first)) if self.own_head => first,
            _ => self.parameters(),
        }
    }

    fn is_linear(&self) -> bool {
        self.widths.len() == 2
    }

    fn trunk(&self) -> usize {
        self.layers().next_back().map_or(0, |(_, _, first)| first)
    }

    fn hidden(&self) -> usize {
        self.widths[self.last_hidden()].iter().sum()
    }

    fn activations(&self, trunk: &[f32], rows: &[f32], work: &mut Work, to: &mut Vec<f32>) {
        let count = rows.len() / self.inputs();
        self.forward_layers(trunk, rows, work, self.layers().len() - 1);
        for row in 0..count {
            for at in self.last_hidden() {
                let width = self.widths[at];
                to.extend_from_slice(&work.layers[at - 1][row * width..][..width]);
            }
        }
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        self.layers()
            .enumerate()
            .flat_map(|(at, (inputs, outputs, _))| {
                let name = |what| format!("layer{}.{what}", at + 1);
                [(name("weights"), vec![inputs, outputs]), (name("biases"), vec![outputs])]
            })
            .collect()
    }

    fn initial(&self, stream: &mut Stream) -> Vec<f32> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for (inputs, outputs, _) in self.layers() {
            uniform_layer(inputs, (inputs + 1) * outputs, stream, &mut parameters);
        }
        parameters
    }

    fn tile(&self) -> usize {
        // A multiple of the rows that the narrow kernel takes together.
        63
    }

    fn forward(&self, parameters: &[f32], rows: &[f32], work: &mut Work) {
        let count = rows.len() / self.inputs();
        if let Some(network) = self.narrow(parameters, count) {
            work.outputs.resize(count, 0.0);
            network.forward(rows, &mut work.narrow, &mut work.outputs);
            return;
        }
        self.forward_layers(parameters, rows, work, self.layers().len());
    }

    fn backward(&self, parameters: &[f32], rows: &[f32], work: &mut Work, gradient: &mut [f32]) {
        if let Some(network) = self.narrow(parameters, rows.len() / self.inputs()) {
            network.backward(rows, &mut work.narrow, &work.outputs, gradient);
            return;
        }
        self.backward_to_inputs(parameters, rows, work, gradient, None);
    }
}

impl Mlp {
    /// The places of the last two hidden layers, or of the only one, among the widths.
    fn last_hidden(&self) -> Range<usize> {
        let output = self.widths.len() - 1;
        output.saturating_sub(2).max(1)..output
    }

    /// The values of the first layers for rows: of hidden ones in [`Work::layers`], of the last in
    /// [`Work::outputs`].
    fn forward_layers(&self, parameters: &[f32], rows: &[f32], work: &mut Work, layers: usize) {
        let count = rows.len() / self.inputs();
        let last = self.layers().len() - 1;
        for (at, (inputs, outputs, first)) in self.layers().enumerate().take(layers) {
            let (weights, biases) =
                parameters[first..][..(inputs + 1) * outputs].split_at(inputs * outputs);
            // The buffer of this layer is taken out while the one before is read.
            let mut out = if at == last {
                std::mem::take(&mut work.outputs)
            } else {
                std::mem::take(buffer_owned(&mut work.layers, at))
            };
            out.resize(count * outputs, 0.0);
            let input = if at == 0 { rows } else { &work.layers[at - 1][..] };
            if outputs == 1 {
                kernels::rows_times_vector(input, weights, biases[0], &mut out);
                if at < last {
                    kernels::add_bias_and_bend(&mut out, &[0.0], self.slope);
                }
            } else {
                let weights = View::new(weights, inputs, outputs);
                multiply(View::new(input, count, inputs), weights, &mut out, false);
                if at < last {
                    kernels::add_bias_and_bend(&mut out, biases, self.slope);
                } else {
                    kernels::add_bias(&mut out, biases);
                }
            }
            if at == last {
                work.outputs = out;
            } else {
                work.layers[at] = out;
            }
        }
    }

    /// [`Model::backward`] that also writes the gradient by the inputs of all rows where
    /// it is asked for.
    pub(crate) fn backward_to_inputs(
        &self,
        parameters: &[f32],
        rows: &[f32],
        work: &mut Work,
        gradient: &mut [f32],
        mut input_gradient: Option<&mut [f32]>,
    ) {
        let count = rows.len() / self.inputs();
        let last = self.layers().len() - 1;
        // The gradient by the outputs of the layer that is looked at.
        let mut above = std::mem::take(&mut work.outputs);
        for (at, (inputs, outputs, first)) in self.layers().enumerate().rev() {
            let weights = &parameters[first..][..inputs * outputs];
            let (weight_gradient, bias_gradient) =
                gradient[first..][..(inputs + 1) * outputs].split_at_mut(inputs * outputs);
            kernels::add_rows(bias_gradient, &above);
            let mut below =
                if at > 0 { std::mem::take(&mut work.layers[at - 1]) } else { Vec::new() };
            let input = if at == 0 { rows } else { &below[..count * inputs] };
            let above_view = View::new(&above, count, outputs);
            let input_view = View::new(input, count, inputs);
            multiply(input_view.transposed(), above_view, weight_gradient, true);
            let weights = View::new(weights, inputs, outputs).transposed();
            if at > 0 {
                let spare = buffer(&mut work.spare, 0, count * inputs);
                multiply(above_view, weights, spare, false);
                kernels::unbend(spare, &below, self.slope);
                std::mem::swap(&mut below, &mut work.spare[0]);
            } else if let Some(input_gradient) = input_gradient.as_deref_mut() {
                multiply(above_view, weights, input_gradient, false);
            }
            // The memory of the gradient above goes back to where it came from.
            if at == last {
                work.outputs = std::mem::replace(&mut above, below);
            } else {
                work.layers[at] = std::mem::replace(&mut above, below);
            }
        }
    }

    /// The gradient by the inputs of one row, given that by its outputs; after
    /// [`Model::forward`].
    pub(crate) fn input_gradient(
        &self,
        parameters: &[f32],
        row: &[f32],
        work: &mut Work,
    ) -> Vec<f32> {
        debug_assert_eq!(row.len(), self.inputs());
        let mut above = work.outputs.clone();
        for (at, (inputs, outputs, first)) in self.layers().enumerate().rev() {
            let weights = &parameters[first..][..inputs * outputs];
            let mut below = vec![0.0; inputs];
            kernels::rows_times_vector(weights, &above[..outputs], 0.0, &mut below);
            if at > 0 {
                kernels::unbend(&mut below, &work.layers[at - 1], self.slope);
            }
            above = below;
        }
        above
    }
}
