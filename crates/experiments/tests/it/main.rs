//! The experiments, and estimators on the settings of the paper.

mod estimators;
mod images;
