//! What a policy decides.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph, bits::contains};

use crate::parallel::map_participants;

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
    /// no search: every benefit between participants that don't compete.
    pub fn new(
        policy: &'static str,
        competing: &CompetingGraph,
        benefit: &BenefitGraph,
        usage: UsageGraph,
    ) -> Self {
        let sums = map_participants(usage.participants().len(), |to| {
            let (used, rivals) = (usage.collaborators(to), competing.competitors(to));
            let most = benefit.received(to, |from| !contains(rivals, from));
            (benefit.received(to, |from| contains(used, from)), most)
        });
        // Summed one after another: the same bits, whatever the number of threads.
        let (welfare, upper_bound) =
            sums.iter().fold((0.0, 0.0), |total, sum| (total.0 + sum.0, total.1 + sum.1));
        Self { policy, usage, welfare, upper_bound, note: None }
    }
}
