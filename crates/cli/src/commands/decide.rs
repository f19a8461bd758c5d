//! From the policy that was asked for to a plan.

use std::time::{Duration, Instant};

use fedcompetitors_files::read_samples;
use fedcompetitors_graphs::{Choice, Participants, Rule};
use fedcompetitors_report::Measure;
use fedcompetitors_select::{
    Effort, Objective, ObjectiveKind, Plan, Policy, SampleCounts, SamplesMissing, Setting,
};

use crate::{
    Failure,
    arguments::{EffortArguments, ObjectiveArguments, PolicyArguments},
    interrupt::while_searching,
    output::tell,
};

/// Makes plans by one policy, which share a limit of time.
pub struct Decider<'a> {
    policy: Choice<dyn Policy>,
    objective: Objective<'a>,
    effort: &'a EffortArguments,
    /// How many plans are still to be made.
    plans: usize,
    deadline: Instant,
}

impl ObjectiveArguments {
    /// Reads the sample counts, where the objective needs them.
    ///
    /// # Errors
    /// If they are missing, given to another objective, or cannot be read.
    pub fn read_samples(
        &self,
        participants: &Participants,
    ) -> Result<Option<SampleCounts>, Failure> {
        match (*self.objective, &self.samples) {
            (ObjectiveKind::Diminishing, None) => Err(samples_missing(SamplesMissing)),
            (ObjectiveKind::Diminishing, Some(path)) => Ok(Some(read_samples(path, participants)?)),
            (_, None) => Ok(None),
            (_, Some(_)) => Err(Failure::Usage {
                error: "only the objective `diminishing` uses sample counts".into(),
                hint: "add `--objective diminishing`, or omit `--samples`".into(),
            }),
        }
    }

    /// The objective, with the sample counts that were read for it.
    ///
    /// # Errors
    /// If it needs counts and there are none.
    pub fn with<'a>(&self, samples: Option<&'a SampleCounts>) -> Result<Objective<'a>, Failure> {
        self.objective.with(samples).map_err(samples_missing)
    }

    /// What plans are measured by.
    pub fn measure(&self) -> Measure {
        match *self.objective {
            ObjectiveKind::Welfare => Measure::Welfare,
            ObjectiveKind::MaxMin | ObjectiveKind::Proportional => Measure::Fairness,
            ObjectiveKind::Diminishing => Measure::Diminishing,
        }
    }
}

fn samples_missing(error: SamplesMissing) -> Failure {
    Failure::Usage {
        error: error.to_string(),
        hint: "add `--samples FILE`, a CSV file with the header `participant,samples`".into(),
    }
}

impl<'a> Decider<'a> {
    /// For so many plans, beginning now.
    pub fn new(
        policy: Choice<dyn Policy>,
        objective: Objective<'a>,
        effort: &'a EffortArguments,
        plans: usize,
    ) -> Self {
        let now = Instant::now();
        let most = Duration::from_secs_f64(effort.time_limit);
        let deadline = now.checked_add(most).unwrap_or(now + Duration::from_secs(1_000_000_000));
        Self { policy, objective, effort, plans, deadline }
    }

    /// For so many plans as the options ask for, with the sample counts that were read for them.
    ///
    /// # Errors
    /// If an objective is given to a policy that has its own.
    pub fn of(
        arguments: &'a PolicyArguments,
        samples: Option<&'a SampleCounts>,
        plans: usize,
    ) -> Result<Self, Failure> {
        let PolicyArguments { policy, objective, effort } = arguments;
        check_served(*policy, objective)?;
        Ok(Self::new(*policy, objective.with(samples)?, effort, plans))
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

/// Refuses a policy whose plans do not keep the rule, and notes one that keeps a stronger one.
pub fn check_rule(policy: Choice<dyn Policy>, rule: Option<Choice<Rule>>) -> Result<(), Failure> {
    let Some(rule) = rule else {
        return Ok(());
    };
    if !policy.rule().implies(*rule) {
        return Err(Failure::Usage {
            error: format!("the policy `{policy}` does not keep the rule `{rule}`"),
            hint: format!("use `--rule {}`, or choose another policy", policy.rule()),
        });
    }
    if policy.rule() != *rule {
        tell(&format!(
            "the policy `{policy}` keeps the stronger rule `{}`, which the plan names; `friends` makes the best plan under `{rule}`",
            policy.rule()
        ));
    }
    Ok(())
}

/// Refuses an objective for a policy that has its own.
pub fn check_served(
    policy: Choice<dyn Policy>,
    objective: &ObjectiveArguments,
) -> Result<(), Failure> {
    objective.objective.check_served(policy).map_err(|error| Failure::Usage {
        error: error.to_string(),
        hint: "add `--policy optimal`, or omit `--objective`".into(),
    })
}
