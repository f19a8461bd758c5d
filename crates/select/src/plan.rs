//! What a policy decides.

use std::fmt;

use fedcompetitors_graphs::{Rule, UsageGraph, bits::contains};

use crate::{Setting, parallel::map_participants};

/// Who may learn from whom, and what that is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The policy that made it.
    pub policy: &'static str,
    /// The rule that it keeps.
    pub rule: Rule,
    /// Who may learn from whom.
    pub usage: UsageGraph,
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
    /// No plan that keeps the rule has a larger welfare.
    pub upper_bound: f64,
    /// A note on how it was made, if any.
    pub note: Option<String>,
    /// Its value by diminishing returns, where that was the objective.
    pub diminishing: Option<Bounded>,
}

/// The value of a plan by an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The value.
    pub value: f64,
    /// No plan that keeps the rule has a larger value.
    pub upper_bound: f64,
}

impl Bounded {
    /// Is it proven, up to a millionth, that no plan has a larger value?
    pub fn is_proven(&self) -> bool {
        self.upper_bound <= self.value * (1.0 + 1e-6)
    }
}

/// The value with four digits, and what is proven of it.
impl fmt::Display for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; no plan ", four_digits(self.value))?;
        if self.is_proven() {
            return write!(f, "has more");
        }
        // Rounded down: it is a promise.
        let share = (1000.0 * self.value / self.upper_bound).floor() / 10.0;
        let most = four_digits(self.upper_bound);
        write!(f, "can exceed {most}, so this is at least {share:.1} % of the best")
    }
}

/// A number of at least 0 with four digits that count.
fn four_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e4).contains(&value) {
        return format!("{value:.3e}");
    }
    let enough = |&decimals: &i32| value * 10_f64.powi(decimals) >= 1000.0;
    let decimals = (0..8).find(enough).unwrap_or(8).unsigned_abs() as usize;
    format!("{value:.decimals$}")
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
        let (rule, note, diminishing) = (Rule::Paths, None, None);
        Self { policy, rule, usage, welfare, upper_bound, note, diminishing }
    }
}
