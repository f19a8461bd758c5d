//! How much may be spent on a plan, and how much has been.

use std::{
    cell::Cell,
    sync::atomic::{self, AtomicBool},
    time::Instant,
};

/// How long to look, and how hard.
#[derive(Debug, Clone, Copy)]
pub struct Effort<'a> {
    /// Stop at this time.
    pub deadline: Option<Instant>,
    /// Stop as soon as this is set.
    pub stop: Option<&'a AtomicBool>,
    /// Stop after about this many elementary operations. They are counted, not timed: the same
    /// budget gives the same plan on every machine. A second has a few billion.
    pub budget: Option<u64>,
    /// Stop once the bound exceeds the value by no more than this part of it.
    pub gap: f64,
    /// The seed of the search for good plans.
    pub seed: u64,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Self { deadline: None, stop: None, budget: None, gap: 0.0, seed: 1 }
    }
}

/// An effort, and how much of it is spent.
pub struct Clock<'a> {
    pub effort: Effort<'a>,
    spent: Cell<u64>,
}

impl<'a> Clock<'a> {
    /// Nothing is spent yet.
    pub fn new(effort: Effort<'a>) -> Self {
        Self { effort, spent: Cell::new(0) }
    }

    /// Counts elementary operations.
    pub fn spend(&self, operations: usize) {
        self.spent.set(self.spent.get().saturating_add(operations as u64));
    }

    /// The elementary operations so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Is nothing left?
    pub fn is_over(&self) -> bool {
        let Effort { deadline, stop, budget, .. } = self.effort;
        budget.is_some_and(|budget| self.spent.get() >= budget)
            || deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || stop.is_some_and(|stop| stop.load(atomic::Ordering::Relaxed))
    }

    /// Does it end by itself, without proof?
    pub fn is_limited(&self) -> bool {
        self.effort.deadline.is_some() || self.effort.budget.is_some()
    }

    /// Lets something have a part of what is left, one in so many.
    pub fn share<T>(&self, parts: u32, work: impl FnOnce(&Clock<'a>) -> T) -> T {
        let now = Instant::now();
        let part = |deadline: Instant| now + deadline.saturating_duration_since(now) / parts;
        let left = |budget: u64| budget.saturating_sub(self.spent.get()) / u64::from(parts);
        let deadline = self.effort.deadline.map(part);
        let budget = self.effort.budget.map(left);
        let clock = Clock::new(Effort { deadline, budget, ..self.effort });
        let made = work(&clock);
        self.spend(clock.spent.get() as usize);
        made
    }
}
