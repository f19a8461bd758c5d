//! Plans, proofs and reasons as people read them.
//!
//! Everything here turns graphs and numbers into text; nothing here computes what the
//! text is about.

#![forbid(unsafe_code)]

mod audit;
mod change;
mod comparison;
mod data;
mod experiment;
mod explain;
mod figures;
pub mod html;
mod numbers;
mod plan;
mod proof;
mod run;
mod status;
mod table;
mod what_if;

pub use audit::{audit_text, finding_text, flaw_text};
pub use change::{Change, breaches_text, change_text};
pub use comparison::{Comparison, Measure, comparison_text};
pub use data::{DataLine, DataWarning, data_text};
pub use experiment::{
    Agreement, Cohort, DrawnPlan, ExperimentTable, Holding, HospitalFigures, ImageDraw,
    ImageFigures, ImageMethod, MethodFigures, SyntheticFigures, choice_text, drawn_plans_text,
    hospitals_title, image_draw_text,
};
pub use explain::{Explanation, Verdict};
pub use numbers::{figure, number, plural};
pub use plan::{PlanSummary, plan_text, refusals_text, unproven_text};
pub use proof::{certificate_text, leak_text, other_welfare_text};
pub use run::{run_markdown, run_text};
pub use status::{status_name, status_text};
pub use what_if::{Effect, Price, Worth, effects_text, prices_text};

use fedcompetitors_graphs::{CompetingGraph, Participants, Reason, Refusal, shown};
use fedcompetitors_record::Record;

/// A path by name: `St Mary → City → General`.
pub fn path_text(participants: &Participants, path: &[usize]) -> String {
    path.iter().map(|&index| shown(participants.name(index))).collect::<Vec<_>>().join(" → ")
}

/// A reason's path by name, the refused edge marked.
pub fn reason_path_text(participants: &Participants, reason: &Reason) -> String {
    let (before, after) = reason.path.split_at(reason.helper + 1);
    let after = path_text(participants, after);
    if reason.from_before {
        let origin = shown(participants.name(before[0]));
        let before = path_text(participants, &before[1..]);
        return format!("{origin} → (before) → {before} → (refused) → {after}");
    }
    format!("{} → (refused) → {after}", path_text(participants, before))
}

/// Why an edge was refused, in one sentence.
pub fn refusal_text(competing: &CompetingGraph, refusal: &Refusal) -> String {
    refusal_of(competing, refusal, &number(refusal.benefit))
}

/// The same where benefits are numbers of rows.
pub fn refusal_in_rows(competing: &CompetingGraph, refusal: &Refusal) -> String {
    refusal_of(competing, refusal, &rows_text(refusal.benefit))
}

/// A benefit that is a number of rows.
pub(crate) fn rows_text(benefit: f64) -> String {
    format!("worth about {benefit:.0} rows of its own")
}

/// A benefit in words, and how probable it is that both have one task, where that was asked.
pub(crate) fn worth(record: &Record, edge: (usize, usize), benefit: f64) -> String {
    match record.related.get(&edge) {
        None => number(benefit),
        Some(related) => format!("{}, related with {:.0} %", rows_text(benefit), 100.0 * related),
    }
}

fn refusal_of(competing: &CompetingGraph, refusal: &Refusal, worth: &str) -> String {
    let participants = competing.participants();
    let name = |who: usize| shown(participants.name(who)).into_owned();
    let (from, to) = (name(refusal.from), name(refusal.to));
    match &refusal.because {
        None => format!("{to} could learn from {from} ({worth}): the plan does not need it"),
        Some(reason) => {
            let path = &reason.path;
            let (a, b) = (path[0], path[path.len() - 1]);
            format!(
                "{to} may not learn from {from} ({worth}): {} and {} compete ({}), and data would flow {}",
                name(a),
                name(b),
                reporters_text(competing, a, b),
                reason_path_text(participants, reason)
            )
        }
    }
}

/// Who said that two participants compete.
pub fn reporters_text(competing: &CompetingGraph, a: usize, b: usize) -> String {
    let name = |index| shown(competing.participants().name(index));
    match (competing.reports(a, b), competing.reports(b, a)) {
        (true, true) => "both say so".into(),
        (true, false) => format!("{} says so", name(a)),
        _ => format!("{} says so", name(b)),
    }
}
