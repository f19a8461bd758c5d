//! What a policy decides.

use fedcompetitors_graphs::{UsageGraph, bits::contains};

use crate::{Setting, parallel::map_participants};

/// Who may learn from whom, and what that is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The policy that made it.
    pub policy: &'static str,
    /// Who may learn from whom.
    pub usage: UsageGraph,
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
    /// No plan that keeps the rule has a larger welfare.
    pub upper_bound: f64,
    /// What else there is to say about how it was made.
    pub note: Option<&'static str>,
}

impl Plan {
    /// The plan with this usage graph, its welfare summed, with the bound that needs
    /// no search: every benefit that an edge could bring if it were the only one.
    pub fn new(policy: &'static str, setting: &Setting<'_>, usage: UsageGraph) -> Self {
        let benefit = setting.benefit;
        let sums = map_participants(usage.participants().len(), |to| {
            let used = usage.collaborators(to);
            let most = benefit.received(to, |from| setting.admits_alone(from, to));
            (benefit.received(to, |from| contains(used, from)), most)
        });
        // Summed one after another: the same bits, whatever the number of threads.
        let (welfare, upper_bound) =
            sums.iter().fold((0.0, 0.0), |total, sum| (total.0 + sum.0, total.1 + sum.1));
        Self { policy, usage, welfare, upper_bound, note: None }
    }
}
