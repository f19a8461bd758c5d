//! Why an edge is in a plan or not, in a sentence.

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Flows, Provenance, Reason, Reasons, Rule, UsageGraph, shown,
};

use crate::{number, path_text, reason_path_text, reporters_text};

/// Why one participant learns from another, or does not.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The rule that the plan keeps.
    pub rule: Rule,
    /// The helper.
    pub from: usize,
    /// The helped.
    pub to: usize,
    /// What the helper's data would bring.
    pub benefit: f64,
    /// What the plan does with it, and why.
    pub verdict: Verdict,
}

/// What a plan does with an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The edge is used.
    Used,
    /// The helper's data would bring nothing.
    NoBenefit,
    /// The edge would connect competitors.
    Refused(Reason),
    /// The rule would allow the edge, but the plan leaves it out.
    LeftOut,
}

impl Explanation {
    /// Explains what a plan that keeps this rule does with the edge `from` → `to`.
    pub fn of(
        rule: Rule,
        competing: &CompetingGraph,
        benefit: &BenefitGraph,
        usage: &UsageGraph,
        history: Option<&Provenance>,
        (from, to): (usize, usize),
    ) -> Self {
        let value = benefit.benefit(from, to);
        let flows = || Flows::by(rule, usage, history);
        let reason = || Reasons::against(competing, &flows(), to).reason(from);
        let verdict = if usage.uses(from, to) {
            Verdict::Used
        } else if let Some(reason) = reason() {
            // Even where there is no benefit: that they compete is the stronger answer.
            if value > 0.0 || reason.is_direct() {
                Verdict::Refused(reason)
            } else {
                Verdict::NoBenefit
            }
        } else if value > 0.0 {
            Verdict::LeftOut
        } else {
            Verdict::NoBenefit
        };
        Self { rule, from, to, benefit: value, verdict }
    }

    /// The verdict in one word, for programs.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Verdict::Used => "used",
            Verdict::NoBenefit => "no-benefit",
            Verdict::Refused(_) => "refused",
            Verdict::LeftOut => "left-out",
        }
    }

    /// The verdict in one word, and the explanation as a sentence, given who has left.
    pub fn answer(
        &self,
        competing: &CompetingGraph,
        policy: &str,
        left: &[usize],
    ) -> (&'static str, String) {
        let gone = left.iter().find(|&&gone| gone == self.from || gone == self.to);
        match gone {
            _ if self.from == self.to => (
                self.word(),
                "Every participant learns from its own data; this needs no plan.".to_owned(),
            ),
            Some(&gone) => {
                ("left", format!("No: {} has left.", shown(competing.participants().name(gone))))
            }
            None => (self.word(), self.sentence(competing, policy)),
        }
    }

    /// The explanation in words that need no graph theory.
    pub fn sentence(&self, competing: &CompetingGraph, policy: &str) -> String {
        let participants = competing.participants();
        let name = |index| shown(participants.name(index));
        let (from, to) = (name(self.from), name(self.to));
        let worth = number(self.benefit);
        match &self.verdict {
            Verdict::Used if self.benefit > 0.0 => {
                let allowed = match self.rule {
                    Rule::Paths => "this edge brings no participant's data to a competitor",
                    Rule::Messages => {
                        "the two do not compete. The rule `messages` requires no more: chains of edges may connect competitors"
                    }
                };
                format!(
                    "Yes: {to} learns from {from}. The data of {from} helps {to} (benefit {worth}), and {allowed}."
                )
            }
            Verdict::Used => format!(
                "Yes: {to} learns from {from}, although by the benefit file the data of {from} does not help {to}."
            ),
            Verdict::NoBenefit => {
                format!(
                    "No: {to} does not learn from {from}, because the data of {from} would not help {to} (benefit 0)."
                )
            }
            Verdict::Refused(reason) if reason.is_direct() => format!(
                "No: {to} may not learn from {from}, because they compete ({}).",
                reporters_text(competing, self.from, self.to)
            ),
            Verdict::Refused(reason) => {
                let (p, q) = reason.pair();
                format!(
                    "No: {to} may not learn from {from} (benefit {worth}), because the data of {} would then reach \
                     its competitor {} ({}): {}.{}",
                    name(p),
                    name(q),
                    reporters_text(competing, p, q),
                    reason_path_text(participants, reason),
                    self.already(participants, reason),
                )
            }
            Verdict::LeftOut => format!(
                "No: {to} does not learn from {from}. The rule `{}` would allow it and it would help (benefit {worth}), \
                 but the plan (policy {}) leaves it out.",
                self.rule,
                shown(policy)
            ),
        }
    }

    /// What is used already and stands in the way.
    fn already(
        &self,
        participants: &fedcompetitors_graphs::Participants,
        reason: &Reason,
    ) -> String {
        let name = |index| shown(participants.name(index));
        let (before, after) = reason.path.split_at(reason.helper + 1);
        let mut used = Vec::new();
        if before.len() > 1 {
            let way = if reason.from_before && before.len() == 2 {
                "from before".to_owned()
            } else {
                path_text(participants, before)
            };
            used.push(format!(
                "{} already carries the data of {} ({way})",
                name(self.from),
                name(before[0])
            ));
        }
        if after.len() > 1 {
            used.push(format!(
                "{} already learns from {} ({})",
                name(after[after.len() - 1]),
                name(self.to),
                path_text(participants, after)
            ));
        }
        format!(" {}.", used.join(", and "))
    }
}
