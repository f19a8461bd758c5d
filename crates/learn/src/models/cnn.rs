//! A network for small square images, of the size of LeNet: two convolutions and three
//! layers of weighted sums.

use fedcompetitors_graphs::random::Stream;

use super::{
    Mlp,
    model::{Model, Work, buffer, buffer_owned, uniform_layer},
};
use crate::kernels::{
    self,
    convolve::{Convolution, Gradients, Layout, MOST_LANES, Passed},
};

/// A convolutional network: 16 filters of 5 × 5, ReLU, 2 × 2 max-pooling, 32 filters of
/// 5 × 5, ReLU, 2 × 2 max-pooling, then layers of 120, 84 and as many units as there are
/// classes with ReLU between them.
///
/// A row is an image: channel after channel, each with its rows one after the other.
///
/// Parameters, layer after layer, the weights before the biases. The weights of a
/// convolution are its filters one after the other, each with its rows, their columns and
/// for each of these all channels: so the rows of a filter lie as what they are multiplied
/// with. The other layers are those of an [`Mlp`], one row for each input; the inputs of
/// the first are the positions of the second pooling, each with all filters.
#[derive(Debug, Clone, PartialEq)]
pub struct Cnn {
    first: Convolution,
    second: Convolution,
    dense: Mlp,
}

const FIRST_FILTERS: usize = 16;
const SECOND_FILTERS: usize = 32;
/// Rows and columns of a filter.
const SIDE: usize = 5;
const HIDDEN: [usize; 2] = [120, 84];

/// The smallest images of which something is left after the second pooling.
const LEAST_SIDE: usize = 16;

/// Images of a tile: with more of them, what lies between the layers leaves the cache of a
/// core; with fewer, the weights of the layers behind are read more often.
const TILE: usize = 16;

/// Which buffer of [`Work::layers`] holds what; the perceptron has those before.
const FIRST_POOLED: usize = HIDDEN.len();
const SECOND_POOLED: usize = FIRST_POOLED + 1;

/// Which buffer of [`Work::spare`] holds what; the perceptron has the one before.
const PACKED: usize = 1;
const SECOND_GRADIENT: usize = 2;
const FIRST_GRADIENT: usize = 3;
const IMAGE: usize = 4;

impl Cnn {
    /// A network for images of `side` × `side` pixels with this many channels.
    ///
    /// # Panics
    /// If the side is less than 16, or if there are no channels or no classes.
    pub fn new(side: usize, channels: usize, classes: usize) -> Self {
        assert!(side >= LEAST_SIDE, "images of at least {LEAST_SIDE} × {LEAST_SIDE} pixels");
        let first = Convolution::new(side, channels, FIRST_FILTERS);
        let second = Convolution::new(first.pooled_side(), FIRST_FILTERS, SECOND_FILTERS);
        let dense = Mlp::new(&[second.outputs(), HIDDEN[0], HIDDEN[1], classes], 0.0);
        Self { first, second, dense }
    }

    /// The same with a last layer that each participant keeps to itself.
    #[must_use]
    pub fn with_own_head(self) -> Self {
        Self { dense: self.dense.with_own_head(), ..self }
    }

    /// How many parameters the convolutions have.
    fn convolved(&self) -> usize {
        self.first.weights() + FIRST_FILTERS + self.second.weights() + SECOND_FILTERS
    }

    /// Parameters, or their gradient, by layer.
    fn layers<'a>(&self, parameters: &'a [f32]) -> Layers<&'a [f32]> {
        let (first, rest) = parameters.split_at(self.first.weights());
        let (first_biases, rest) = rest.split_at(FIRST_FILTERS);
        let (second, rest) = rest.split_at(self.second.weights());
        let (second_biases, dense) = rest.split_at(SECOND_FILTERS);
        Layers { first, first_biases, second, second_biases, dense }
    }

    fn layers_mut<'a>(&self, parameters: &'a mut [f32]) -> Layers<&'a mut [f32]> {
        let (first, rest) = parameters.split_at_mut(self.first.weights());
        let (first_biases, rest) = rest.split_at_mut(FIRST_FILTERS);
        let (second, rest) = rest.split_at_mut(self.second.weights());
        let (second_biases, dense) = rest.split_at_mut(SECOND_FILTERS);
        Layers { first, first_biases, second, second_biases, dense }
    }
}

/// The parts of a flat vector.
struct Layers<T> {
    first: T,
    first_biases: T,
    second: T,
    second_biases: T,
    dense: T,
}

impl Model for Cnn {
    fn inputs(&self) -> usize {
        self.first.inputs()
    }

    fn outputs(&self) -> usize {
        self.dense.outputs()
    }

    fn parameters(&self) -> usize {
        self.convolved() + self.dense.parameters()
    }

    fn shared(&self) -> usize {
        self.convolved() + self.dense.shared()
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let convolution = |name: &str, weights: usize, filters: usize| {
            let channels = weights / (filters * SIDE * SIDE);
            [
                (format!("{name}.weights"), vec![filters, SIDE, SIDE, channels]),
                (format!("{name}.biases"), vec![filters]),
            ]
        };
        let first = convolution("convolution1", self.first.weights(), FIRST_FILTERS);
        let second = convolution("convolution2", self.second.weights(), SECOND_FILTERS);
        first.into_iter().chain(second).chain(self.dense.tensors()).collect()
    }

    fn initial(&self, stream: &mut Stream) -> Vec<f32> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for (layer, filters) in [(self.first, FIRST_FILTERS), (self.second, SECOND_FILTERS)] {
            uniform_layer(layer.window(), layer.weights() + filters, stream, &mut parameters);
        }
        parameters.extend(self.dense.initial(stream));
        parameters
    }

    fn tile(&self) -> usize {
        TILE
    }

    fn forward(&self, parameters: &[f32], rows: &[f32], work: &mut Work) {
        let features = self.convolved_rows(parameters, rows, work);
        self.dense.forward(self.layers(parameters).dense, &features, work);
        work.layers[SECOND_POOLED] = features;
    }

    fn trunk(&self) -> usize {
        self.convolved() + self.dense.trunk()
    }

    fn hidden(&self) -> usize {
        self.dense.hidden()
    }

    fn activations(&self, trunk: &[f32], rows: &[f32], work: &mut Work, to: &mut Vec<f32>) {
        let features = self.convolved_rows(trunk, rows, work);
        self.dense.activations(self.layers(trunk).dense, &features, work, to);
        work.layers[SECOND_POOLED] = features;
    }

    fn backward(&self, parameters: &[f32], rows: &[f32], work: &mut Work, gradient: &mut [f32]) {
        let layers = self.layers(parameters);
        let mut gradients = self.layers_mut(gradient);
        let features = std::mem::take(&mut work.layers[SECOND_POOLED]);
        let mut above = std::mem::take(buffer_owned(&mut work.spare, SECOND_GRADIENT));
        above.resize(features.len(), 0.0);
        self.dense.backward_to_inputs(
            layers.dense,
            &features,
            work,
            gradients.dense,
            Some(&mut above),
        );
        kernels::unbend(&mut above, &features, 0.0);
        work.layers[SECOND_POOLED] = features;
        self.back_through_convolutions(&layers, rows, &above, work, &mut gradients);
        work.spare[SECOND_GRADIENT] = above;
    }
}

impl Cnn {
    /// What comes out of the second pooling. Its buffer is taken out of the memory, and belongs there as
    /// that of [`SECOND_POOLED`].
    fn convolved_rows(&self, parameters: &[f32], rows: &[f32], work: &mut Work) -> Vec<f32> {
        let count = rows.len() / self.inputs();
        let layers = self.layers(parameters);
        let mut pooled = std::mem::take(buffer_owned(&mut work.layers, FIRST_POOLED));
        let mut features = std::mem::take(buffer_owned(&mut work.layers, SECOND_POOLED));
        pooled.resize(count * self.first.outputs(), 0.0);
        features.resize(count * self.second.outputs(), 0.0);
        self.first.forward(
            Layout::Planes,
            rows,
            layers.first,
            layers.first_biases,
            aligned(buffer_owned(&mut work.spare, PACKED), self.first.weights()),
            &mut pooled,
            buffer(&mut work.places, 0, count * self.first.outputs()),
        );
        self.second.forward(
            Layout::Positions,
            &pooled,
            layers.second,
            layers.second_biases,
            aligned(buffer_owned(&mut work.spare, PACKED), self.second.weights()),
            &mut features,
            buffer(&mut work.places, 1, count * self.second.outputs()),
        );
        work.layers[FIRST_POOLED] = pooled;
        features
    }

    /// The way back from the gradient by what came out of the second pooling.
    fn back_through_convolutions(
        &self,
        layers: &Layers<&[f32]>,
        rows: &[f32],
        above: &[f32],
        work: &mut Work,
        gradients: &mut Layers<&mut [f32]>,
    ) {
        buffer_owned(&mut work.spare, IMAGE);
        let [image, between] = work
            .spare
            .get_disjoint_mut([IMAGE, FIRST_GRADIENT])
            .expect("the buffer of the image is the last, and there now");
        let [first_places, second_places, ..] = &work.places[..] else {
            unreachable!("forward has noted the places of both convolutions")
        };
        let most = self.first.inputs().max(self.second.inputs());
        let image = aligned(image, most + MOST_LANES);
        let between = aligned(between, self.second.inputs());
        let mut hits = Vec::new();
        for (at, row) in rows.chunks_exact(self.inputs()).enumerate() {
            let part = |layer: Convolution| at * layer.outputs()..(at + 1) * layer.outputs();
            let (first, second) = (part(self.first), part(self.second));
            let pooled = &work.layers[FIRST_POOLED][first.clone()];
            image[..pooled.len()].copy_from_slice(pooled);
            between.fill(0.0);
            self.second.backward(
                &Passed {
                    image: &image[..self.second.inputs() + MOST_LANES],
                    places: &second_places[second.clone()],
                    above: &above[second],
                },
                Gradients {
                    weights: gradients.second,
                    biases: gradients.second_biases,
                    image: Some((layers.second, &mut *between)),
                },
                &mut hits,
            );
            kernels::unbend(between, pooled, 0.0);
            let image = &mut image[..self.first.inputs() + MOST_LANES];
            interleave(row, self.first.channels(), image);
            self.first.backward(
                &Passed { image, places: &first_places[first], above: between },
                Gradients { weights: gradients.first, biases: gradients.first_biases, image: None },
                &mut hits,
            );
        }
    }
}

/// An image that lies channel after channel, position after position.
fn interleave(row: &[f32], channels: usize, image: &mut [f32]) {
    for (channel, plane) in row.chunks_exact(row.len() / channels).enumerate() {
        for (position, value) in image.chunks_exact_mut(channels).zip(plane) {
            position[channel] = *value;
        }
    }
}

/// So many values of this memory that begin where a line of the cache does: a vector that
/// lies in two lines is read twice. Their content is arbitrary.
fn aligned(memory: &mut Vec<f32>, length: usize) -> &mut [f32] {
    memory.resize(length + MOST_LANES, 0.0);
    let start = memory.as_ptr().align_offset(MOST_LANES * size_of::<f32>());
    &mut memory[start.min(MOST_LANES)..][..length]
}
