//! How a budget of steps is parted into rounds.

use serde::{Deserialize, Serialize};

/// Rounds of equally many steps, the last perhaps of fewer.
#[derive(Serialize, Deserialize)]
pub struct Pace {
    local_steps: usize,
    /// Steps in all, and those that were made.
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

    /// How many steps the next round has.
    pub fn next(&self) -> usize {
        self.local_steps.min(self.steps - self.done)
    }

    /// Counts a round of so many steps; says whether it was the last.
    pub fn count(&mut self, steps: usize) -> bool {
        self.done += steps;
        self.done >= self.steps
    }
}
