//! Learning against independent computations: differences, PyTorch, plain loops.

mod data;
mod ensemble;
mod evaluation;
mod evidence;
mod gradients;
mod pytorch;
mod tabular;
