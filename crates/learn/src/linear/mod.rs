//! Linear models fitted exactly, and what a participant's data says about their coefficients.
//!
//! [`Rows`] are a participant's samples, [`fit`] minimises their loss with a penalty, and [`Own`] chooses the
//! penalty by cross-validation. A [`Summary`] is a participant's data as others use it; [`relatedness`] shows,
//! from two summaries, how probable it is that both are about one task.

mod cholesky;
mod fit;
mod own;
mod relatedness;
mod ridges;
mod rows;
mod summary;
mod tuned;

use tuned::{Folds, Tuned};

use cholesky::Cholesky;
pub use fit::{Curvature, Penalty, fit};
pub use own::Own;
pub use relatedness::{Prepared, Relation, likeliest_variance, log_evidences, relatedness};
pub use ridges::ridges;
pub use rows::Rows;
pub use summary::{BadSummary, Summary};
