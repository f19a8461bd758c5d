//! Everybody learns from everybody that helps it and does not compete: the policy `friends`.

use fedcompetitors_graphs::{Entry, Rule, UsageGraph, entry};

use super::{Effort, Objective, Policy};
use crate::{Plan, Setting};

/// All edges that help and do not connect competitors.
///
/// Chains may connect competitors, so this is for messages that carry their senders' data alone. There is
/// nothing to choose: under that rule the plan is the best one.
#[derive(Debug, Clone, Copy)]
pub struct Friends;

entry!(
    Friends,
    "friends",
    "Everybody learns from all helpers that it does not compete with: the best plan under the rule `messages`."
);

impl Policy for Friends {
    fn rule(&self) -> Rule {
        Rule::Messages
    }

    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        let participants = setting.participants();
        let mut usage = UsageGraph::builder(participants);
        for to in 0..participants.len() {
            for (from, value) in setting.benefit.helpers(to) {
                if value > 0.0 && setting.admits_alone(from, to) {
                    usage.add(from, to).expect("an edge of the benefit graph");
                }
            }
        }
        Plan { rule: Rule::Messages, ..Plan::new(self.name(), setting, usage.build()) }
    }
}
