//! How a budget of steps is parted into rounds, and when validation data looks.

use serde::{Deserialize, Serialize};

use super::LOOK;

/// Rounds of equally many steps, the last perhaps of fewer.
#[derive(Serialize, Deserialize)]
pub struct Pace {
    local_steps: usize,
    /// Steps in all, those that were made, and those before the last look.
    steps: usize,
    done: usize,
    looked: usize,
}

impl Pace {
    pub fn new(local_steps: usize, steps: usize) -> Self {
        Self { local_steps: local_steps.max(1), steps, done: 0, looked: 0 }
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

    /// Counts a round of so many steps; says whether it is time to look.
    pub fn count(&mut self, steps: usize) -> bool {
        self.done += steps;
        let looks = self.done >= self.looked + LOOK || self.done >= self.steps;
        if looks {
            self.looked = self.done;
        }
        looks
    }
}
