//! How a budget of steps is split into rounds.

use serde::{Deserialize, Serialize};

/// Rounds of equally many steps, the last perhaps of fewer.
#[derive(Serialize, Deserialize)]
pub struct Pace {
    local_steps: usize,
    /// All steps, and those that are done.
    steps: usize,
    done: usize,
}

impl Pace {
    pub fn new(local_steps: usize, steps: usize) -> Self {
        Self { local_steps: local_steps.max(1), steps, done: 0 }
    }

    pub fn rounds(&self) -> usize {
        self.steps.div_ceil(self.local_steps)
    }

    pub fn rounds_done(&self) -> usize {
        self.done.div_ceil(self.local_steps)
    }

    /// The steps of the next round.
    pub fn next(&self) -> usize {
        self.local_steps.min(self.steps - self.done)
    }

    /// Counts a round of these steps; returns whether it was the last.
    pub fn count(&mut self, steps: usize) -> bool {
        self.done += steps;
        self.done >= self.steps
    }
}
