//! From predictions on test folds to figures with intervals.
//!
//! [`Predictions`] are what each method has predicted for a participant's rows in cross-validation,
//! checked once. A [`Comparison`] of several participants gives each method's figures, and gains over a
//! baseline, with the interval of a bootstrap.
//!
//! [`Calibration`] says whether predicted probabilities are what happens, and [`constant_outputs`] are what a
//! model has to beat that knows nothing of the features.
//!
//! An interval says how much a figure depends on which rows there were to test with, for models as they
//! were trained. It does not contain the chance of the training rows.
//!
//! ```
//! use fedcompetitors_learn::{
//!     Accuracy, Targets,
//!     evaluation::{Comparison, Predictions, TestFold},
//! };
//!
//! # fn main() -> Result<(), fedcompetitors_learn::LearnError> {
//! let targets = Targets::Classes { labels: vec![0, 1, 0, 1, 1, 0], count: 2 };
//! let fold = |rows: [usize; 3], outputs: [f64; 3]| TestFold {
//!     repeat: 0,
//!     rows: rows.to_vec(),
//!     outputs: outputs.to_vec(),
//! };
//! let local = vec![fold([0, 1, 2], [-1.0, 0.5, 2.0]), fold([3, 4, 5], [1.0, -1.0, -2.0])];
//! let helped = vec![fold([0, 1, 2], [-1.0, 0.5, 2.0]), fold([3, 4, 5], [1.0, 1.0, -2.0])];
//! let predictions = Predictions::new(targets, None, vec![local, helped])?;
//! let seed = 1;
//! let scores = Comparison::new(vec![predictions], 0, seed)?.scores(&Accuracy);
//! let gain = scores[1].participants[0].gain.interval().expect("defined");
//! assert!((gain.value - 1.0 / 6.0).abs() < 1e-12);
//! assert!(gain.low >= 0.0 && gain.high <= 1.0);
//! # Ok(())
//! # }
//! ```

mod calibration;
mod comparison;
mod constant;
mod predictions;
mod series;

pub use calibration::{Calibration, CalibrationBin};
pub use comparison::{Comparison, MethodScores, REPLICATES};
pub use constant::{FEW_OF_A_CLASS, constant_outputs, has_few_of_a_class};
pub use predictions::{Predictions, TestFold};
