//! From the policy that was asked for to a plan.

use std::time::{Duration, Instant};

use fedcompetitors_select::{
    Alone, Cliques, Coalitions, Effort, Egoists, Greedy, Optimal, Plan, Policy, Setting,
};

use crate::{
    Failure,
    arguments::{EffortArguments, ObjectiveName, PolicyArguments, PolicyName},
    interrupt::while_searching,
};

/// Makes plans by one policy, which share a limit of time.
pub struct Decider<'a> {
    policy: PolicyName,
    objective: ObjectiveName,
    effort: &'a EffortArguments,
    /// How many plans are still to be made.
    plans: usize,
    deadline: Instant,
}

impl<'a> Decider<'a> {
    /// For so many plans, beginning now.
    pub fn new(
        policy: PolicyName,
        objective: ObjectiveName,
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
        if *policy != PolicyName::Optimal && *objective != ObjectiveName::Welfare {
            return Err(Failure::Usage {
                error: "only the policy `optimal` has objectives other than welfare".into(),
                hint: "add `--policy optimal`, or omit `--objective`".into(),
            });
        }
        Ok(Self::new(*policy, *objective, effort, plans))
    }

    /// Is the plan the best there is or a search for it, rather than a heuristic's?
    pub fn seeks_the_largest_welfare(&self) -> bool {
        self.policy == PolicyName::Optimal && self.objective == ObjectiveName::Welfare
    }

    /// The next plan.
    pub fn plan(&mut self, setting: &Setting<'_>) -> Plan {
        let left = self.deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let seconds = left / self.plans.max(1) as f64;
        self.plans = self.plans.saturating_sub(1);
        if self.policy == PolicyName::Optimal {
            return while_searching(|stop| {
                let effort = self.effort.effort(seconds, stop);
                plan_by(self.policy, self.objective, effort, setting)
            });
        }
        plan_by(self.policy, self.objective, Effort::default(), setting)
    }
}

/// The plan of a policy; only `optimal` has an objective and takes an effort.
pub fn plan_by(
    policy: PolicyName,
    objective: ObjectiveName,
    effort: Effort<'_>,
    setting: &Setting<'_>,
) -> Plan {
    match policy {
        PolicyName::Greedy => Greedy.plan(setting),
        PolicyName::Cliques => Cliques.plan(setting),
        PolicyName::Coalitions => Coalitions.plan(setting),
        PolicyName::Egoists => Egoists.plan(setting),
        PolicyName::None => Alone.plan(setting),
        PolicyName::Optimal => Optimal { objective: objective.into(), effort }.plan(setting),
    }
}
