//! No plan at all: the policy `none`.

use fedcompetitors_graphs::{Entry, UsageGraph, entry};

use super::{Effort, Objective, Policy};
use crate::{Plan, Setting};

/// Every participant trains alone.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

entry!(Alone, "none", "No edges: every participant trains alone.");

impl Policy for Alone {
    fn needs_benefits(&self) -> bool {
        false
    }

    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        let usage = UsageGraph::builder(setting.participants()).build();
        Plan::new(self.name(), setting, usage)
    }
}
