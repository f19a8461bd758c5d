//! What training makes small.

use crate::{LearnError, Targets};

/// How far outputs are from targets, as a mean over samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// The square of the difference; one output.
    SquaredError,
    /// The negative logarithm of the softmax of the right class; one output for each.
    CrossEntropy,
    /// The negative logarithm of the probability of the right one of two classes, where
    /// the one output is the logarithm of the odds of class 1; each class counts with its
    /// weight.
    BinaryCrossEntropy {
        /// The weights of class 0 and class 1.
        weights: [f32; 2],
    },
}

impl Loss {
    /// The loss for two classes in which both count as much, however rare one is.
    pub fn balanced(labels: &[u32]) -> Self {
        let ones = labels.iter().filter(|&&label| label == 1).count();
        let weight = |count: usize| labels.len() as f32 / (2.0 * count.max(1) as f32);
        Self::BinaryCrossEntropy { weights: [weight(labels.len() - ones), weight(ones)] }
    }

    /// Do these targets and this many outputs go with it?
    ///
    /// # Errors
    /// If not.
    pub fn check(self, targets: &Targets, outputs: usize) -> Result<(), LearnError> {
        let fits = match (self, targets) {
            (Self::SquaredError, Targets::Values(_)) => outputs == 1,
            (Self::CrossEntropy, Targets::Classes { count, .. }) => outputs == *count as usize,
            (Self::BinaryCrossEntropy { .. }, Targets::Classes { count, .. }) => {
                outputs == 1 && *count == 2
            }
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(LearnError::Unsuitable("the loss does not fit the targets and the outputs"))
        }
    }

    /// The sum of the losses of these outputs, over which their gradient is written, each
    /// sample counting `share`.
    ///
    /// The targets are those of rows `first` and following.
    pub(crate) fn backward(
        self,
        outputs: &mut [f32],
        targets: &Targets,
        first: usize,
        share: f32,
    ) -> f64 {
        match (self, targets) {
            (Self::SquaredError, Targets::Values(values)) => {
                let mut sum = 0.0;
                for (output, target) in outputs.iter_mut().zip(&values[first..]) {
                    let difference = *output - target;
                    sum += f64::from(difference) * f64::from(difference);
                    *output = 2.0 * share * difference;
                }
                sum
            }
            (Self::BinaryCrossEntropy { weights }, Targets::Classes { labels, .. }) => {
                let mut sum = 0.0;
                for (output, &label) in outputs.iter_mut().zip(&labels[first..]) {
                    let weight = weights[label as usize];
                    // For class 0 the odds turn round.
                    let odds = if label == 1 { *output } else { -*output };
                    // ln(1 + e^-x) without overflow.
                    let loss = (-odds.abs()).exp().ln_1p() + (-odds).max(0.0);
                    sum += f64::from(weight * loss);
                    let wrong = 1.0 / (1.0 + odds.exp());
                    let sign = if label == 1 { -1.0 } else { 1.0 };
                    *output = share * weight * sign * wrong;
                }
                sum
            }
            (Self::CrossEntropy, Targets::Classes { labels, count }) => {
                let mut sum = 0.0;
                let rows = outputs.chunks_exact_mut(*count as usize);
                for (row, &label) in rows.zip(&labels[first..]) {
                    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let right = row[label as usize] - most;
                    let mut total = 0.0;
                    for output in &mut *row {
                        *output = (*output - most).exp();
                        total += *output;
                    }
                    sum += f64::from(total.ln() - right);
                    for output in &mut *row {
                        *output *= share / total;
                    }
                    row[label as usize] -= share;
                }
                sum
            }
            // `check` has seen to it that this does not happen.
            _ => f64::NAN,
        }
    }
}
