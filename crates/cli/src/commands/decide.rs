//! From the policy that was asked for to a plan.

use std::time::{Duration, Instant};

use fedcompetitors_graphs::Choice;
use fedcompetitors_select::{Effort, Objective, Plan, Policy, Setting};

use crate::{
    Failure,
    arguments::{EffortArguments, PolicyArguments},
    interrupt::while_searching,
};

/// Makes plans by one policy, which share a limit of time.
pub struct Decider<'a> {
    policy: Choice<dyn Policy>,
    objective: Objective,
    effort: &'a EffortArguments,
    /// How many plans are still to be made.
    plans: usize,
    deadline: Instant,
}

impl<'a> Decider<'a> {
    /// For so many plans, beginning now.
    pub fn new(
        policy: Choice<dyn Policy>,
        objective: Objective,
        effort: &'a EffortArguments,
        plans: usize,
    ) -> Self {
        let now = Instant::now();
        let most = Duration::from_secs_f64(effort.time_limit);
        let deadline = now.checked_add(most).unwrap_or(now + Duration::from_secs(1_000_000_000));
        Self { policy, objective, effort, plans, deadline }
    }

    /// For so many plans as the options ask for.
    ///
    /// # Errors
    /// If an objective is given to a policy that has its own.
    pub fn of(arguments: &'a PolicyArguments, plans: usize) -> Result<Self, Failure> {
        let PolicyArguments { policy, objective, effort } = arguments;
        if !policy.searches() && **objective != Objective::Welfare {
            return Err(Failure::Usage {
                error: "only the policy `optimal` has objectives other than welfare".into(),
                hint: "add `--policy optimal`, or omit `--objective`".into(),
            });
        }
        Ok(Self::new(*policy, **objective, effort, plans))
    }

    /// Is the plan the best there is or a search for it, rather than a heuristic's?
    pub fn seeks_the_largest_welfare(&self) -> bool {
        self.policy.searches() && self.objective == Objective::Welfare
    }

    /// The next plan.
    pub fn plan(&mut self, setting: &Setting<'_>) -> Plan {
        let left = self.deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let seconds = left / self.plans.max(1) as f64;
        self.plans = self.plans.saturating_sub(1);
        if !self.policy.searches() {
            return self.policy.plan(setting, self.objective, Effort::default());
        }
        while_searching(|stop| {
            let effort = self.effort.effort(seconds, stop);
            self.policy.plan(setting, self.objective, effort)
        })
    }
}
