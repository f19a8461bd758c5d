//! A network that makes the parameters of another from a ray.

use fedcompetitors_graphs::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    kernels::{self, View, multiply},
    models::{Mlp, Model, Work, uniform_layer},
    optimizer::{OneStep, Optimizer, OptimizerSettings},
};

/// Ray → hidden → hidden → parameters, with ReLU behind the hidden layers.
///
/// Its last layer is large (the hidden width times the parameters it makes), and its
/// gradient is a product of two vectors: the way back, the optimiser and the update are
/// one pass over it, and hardly any of the gradient is held.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hypernetwork {
    trunk: Mlp,
    trunk_parameters: Vec<f32>,
    trunk_optimizer: Optimizer,
    trunk_gradient: Vec<f32>,
    /// For each parameter that is made its weights and its bias.
    head: Vec<f32>,
    head_optimizer: Optimizer,
    hidden: usize,
    #[serde(skip)]
    work: Work,
    /// What comes out of the trunk, and a 1 for the bias.
    inner: Vec<f32>,
}

/// Rows of the head that are handled at once: the sums over them are made in this order,
/// whatever the number of threads.
const ROWS: usize = 256;

/// Rows of the head whose gradient is held: few enough to stay in the nearest cache.
const FEW_ROWS: usize = 16;

/// Below this many weights, more threads are not worth their start.
const FEW_WEIGHTS: usize = 100_000;

impl Hypernetwork {
    /// A network from rays of this length to this many parameters.
    pub fn new(
        rays: usize,
        hidden: usize,
        made: usize,
        rule: OptimizerSettings,
        stream: &mut Stream,
    ) -> Self {
        let trunk = Mlp::new(&[rays, hidden, hidden], 0.0);
        let trunk_parameters = trunk.initial(stream);
        let mut head = Vec::with_capacity(made * (hidden + 1));
        uniform_layer(hidden, made * (hidden + 1), stream, &mut head);
        Self {
            trunk_optimizer: Optimizer::new(rule, trunk_parameters.len()),
            trunk_gradient: vec![0.0; trunk_parameters.len()],
            head_optimizer: Optimizer::new(rule, head.len()),
            trunk,
            trunk_parameters,
            head,
            hidden,
            work: Work::default(),
            inner: Vec::new(),
        }
    }

    /// How many parameters it has itself.
    pub fn parameters(&self) -> usize {
        self.trunk_parameters.len() + self.head.len()
    }

    /// How many parameters it makes.
    pub fn made(&self) -> usize {
        self.head.len() / (self.hidden + 1)
    }

    /// Lets the network make these parameters for every ray to begin with, plus a little
    /// that depends on the ray: a target network trains from its usual start only if it
    /// gets it.
    ///
    /// # Panics
    /// If it makes another number of parameters.
    pub fn start_from(&mut self, parameters: &[f32], variation: f32) {
        assert_eq!(parameters.len(), self.made(), "the parameters that are made");
        for (row, parameter) in self.head.chunks_exact_mut(self.hidden + 1).zip(parameters) {
            kernels::scale(&mut row[..self.hidden], variation);
            row[self.hidden] = *parameter;
        }
    }

    /// The parameters for a ray.
    ///
    /// # Panics
    /// If the ray or the parameters have another length than it was made for.
    pub fn make(&mut self, ray: &[f32], parameters: &mut [f32]) {
        assert_eq!(parameters.len(), self.made(), "the parameters that are made");
        self.trunk.forward(&self.trunk_parameters, ray, &mut self.work);
        self.inner.clear();
        self.inner.extend_from_slice(self.work.outputs());
        self.inner.iter_mut().for_each(|value| *value = value.max(0.0));
        self.inner.push(1.0);
        let (width, inner) = (self.hidden + 1, &self.inner);
        let rows = |(head, made): (&[f32], &mut [f32])| {
            kernels::rows_times_vector(head, inner, 0.0, made);
        };
        if self.head.len() < FEW_WEIGHTS {
            rows((&self.head, parameters));
        } else {
            self.head.par_chunks(ROWS * width).zip(parameters.par_chunks_mut(ROWS)).for_each(rows);
        }
        debug_assert_eq!(inner.len(), width);
    }

    /// One step down the gradient by the parameters that the last [`Hypernetwork::make`]
    /// made for this ray.
    pub fn step(&mut self, ray: &[f32], gradient: &[f32]) {
        let back = self.head_optimizer.step_product(&mut self.head, gradient, &self.inner);
        self.back_to_trunk(&back);
        self.trunk_gradient.fill(0.0);
        self.trunk.backward(&self.trunk_parameters, ray, &mut self.work, &mut self.trunk_gradient);
        self.trunk_optimizer.step(&mut self.trunk_parameters, &self.trunk_gradient);
    }

    /// The gradient by the ray, given that by the parameters that the last
    /// [`Hypernetwork::make`] made for it; the network stays as it is.
    pub fn ray_gradient(&mut self, ray: &[f32], gradient: &[f32]) -> Vec<f32> {
        let width = self.hidden + 1;
        let mut back = vec![0.0; width];
        let head = View::new(&self.head, self.made(), width);
        multiply(View::new(gradient, 1, self.made()), head, &mut back, false);
        self.back_to_trunk(&back);
        self.trunk.input_gradient(&self.trunk_parameters, ray, &mut self.work)
    }

    /// Puts the gradient by the trunk's outputs where the trunk looks for it.
    fn back_to_trunk(&mut self, back: &[f32]) {
        for ((output, back), inner) in self.work.outputs().iter_mut().zip(back).zip(&self.inner) {
            *output = if *inner > 0.0 { *back } else { 0.0 };
        }
    }
}

/// Some rows of a matrix, the same rows of a column, and what the optimiser remembers.
struct Piece<'a> {
    matrix: &'a mut [f32],
    column: &'a [f32],
    first: &'a mut [f32],
    /// Empty unless the rule has a second memory.
    second: &'a mut [f32],
}

impl Piece<'_> {
    /// A step down the product of the column and a row; returns the column times the
    /// matrix as it was before.
    fn step(self, step: OneStep, row: &[f32]) -> Vec<f32> {
        let few = FEW_ROWS * row.len();
        let mut back = vec![0.0; row.len()];
        let mut gradient = vec![0.0; few];
        let mut seconds = self.second.chunks_mut(few);
        for ((weights, slopes), first) in self
            .matrix
            .chunks_mut(few)
            .zip(self.column.chunks(FEW_ROWS))
            .zip(self.first.chunks_mut(few))
        {
            let gradient = &mut gradient[..weights.len()];
            kernels::back_through_product(weights, slopes, row, &mut back, gradient);
            step.apply(weights, gradient, first, seconds.next().unwrap_or_default());
        }
        back
    }
}

impl Optimizer {
    /// A step on a matrix whose gradient is the product of a column and a row, in one pass.
    /// Returns the column times the matrix as it was before.
    fn step_product(&mut self, matrix: &mut [f32], column: &[f32], row: &[f32]) -> Vec<f32> {
        let step = self.begin_step();
        let piece = ROWS * row.len();
        let matrix_weights = matrix.len();
        let mut seconds = self.second.chunks_mut(piece);
        let pieces: Vec<Piece<'_>> = matrix
            .chunks_mut(piece)
            .zip(column.chunks(ROWS))
            .zip(self.first.chunks_mut(piece))
            .map(|((matrix, column), first)| {
                let second = seconds.next().unwrap_or_default();
                Piece { matrix, column, first, second }
            })
            .collect();
        let backs: Vec<Vec<f32>> = if matrix_weights < FEW_WEIGHTS {
            pieces.into_iter().map(|piece| piece.step(step, row)).collect()
        } else {
            pieces.into_par_iter().map(|piece| piece.step(step, row)).collect()
        };
        let mut back = vec![0.0; row.len()];
        backs.iter().for_each(|piece| kernels::add_scaled(&mut back, 1.0, piece));
        back
    }
}
