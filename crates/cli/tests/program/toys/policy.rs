//! A toy policy.

use fedcompetitors_graphs::{Entry, entry};

use super::{Effort, Objective, Policy, inside};
use crate::{Plan, Setting};

/// All edges that help and that the rule allows, the most useful ones first.
#[derive(Debug, Clone, Copy)]
pub struct Toy;

entry!(Toy, "toy-plan", "A toy: the most useful edges first.");

impl Policy for Toy {
    fn plan(&self, setting: &Setting<'_>, _: Objective, _: Effort<'_>) -> Plan {
        let everybody: Vec<usize> = (0..setting.participants().len()).collect();
        let helps = |from, to| setting.benefit.benefit(from, to) > 0.0;
        Plan::new(self.name(), setting, inside(setting, &[everybody], helps))
    }
}
