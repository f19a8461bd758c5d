//! A new plan that knows what has flowed: join, leave, declare.

use fedcompetitors_files::PlanDocument;
use fedcompetitors_graphs::{self as graphs, GraphError, Participants, Rule, shown};
use fedcompetitors_report::{Change, PlanSummary, breaches_text, change_text};
use fedcompetitors_select::{Past, Setting};
use pyo3::prelude::*;

use crate::{
    errors::{Failure, exception},
    graphs::{BenefitGraph, CompetingGraph},
    plans::{Choice, parse, remembered, written},
    waiting::interruptible,
};

/// What changes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Step {
    joining: Vec<String>,
    leaving: Vec<String>,
    declared: Vec<(String, String)>,
    reconciled: Vec<(String, String)>,
    restarting: Vec<String>,
    trained: bool,
}

/// The new plan, its certificate, the difference in words, and what looks like a mistake.
type Changed = (String, String, String, Vec<String>);

/// Plans anew after a change.
#[pyfunction]
pub fn change(
    py: Python<'_>,
    plan: &str,
    competing: PyRef<'_, CompetingGraph>,
    benefit: PyRef<'_, BenefitGraph>,
    choice: Choice,
    step: Step,
) -> PyResult<Changed> {
    let choice = choice.check()?;
    let plan = parse(plan)?;
    if plan.rule == Rule::Messages || choice.rule() == Rule::Messages {
        return Err(Failure::new(
            "NotASetting",
            "under the rule `messages` nothing has to be remembered between plans",
            "make a new plan with `select(…, rule=\"messages\")`",
        )
        .into());
    }
    let mut past = plan.past.unwrap_or_else(|| Past::none(plan.usage.participants()));
    if step.trained {
        past.trained(&plan.usage);
    }
    for name in &step.joining {
        past.join(name).map_err(Failure::from)?;
    }
    for name in &step.leaving {
        past.leave(name).map_err(Failure::from)?;
    }
    let participants = past.participants().clone();
    let before = plan.usage.extended(&participants);
    for name in &step.restarting {
        past.provenance.restart(participants.find(name).map_err(Failure::from)?);
    }
    let of_all = benefit.over(&participants).map_err(say_how_to_join)?;
    let competing = competing.over(&participants).map_err(say_how_to_join)?;
    let mut warnings = Vec::new();
    let competing = compete(&mut past, competing, &step, &mut warnings)?;
    refuse_breaches(py, &past, &competing, &mut warnings)?;
    past.remember(&competing);
    let samples = choice.samples(&participants)?;

    let changed = interruptible(py, |stop| {
        let benefit = of_all.without(&past.left);
        let setting = Setting::with_history(&competing, &benefit, &past.provenance);
        let plan = choice.plan(&setting.without(&past.left), samples.as_ref(), stop)?;
        let document = PlanDocument {
            plan: &plan,
            competing: &competing,
            benefit: &benefit,
            past: Some(&past),
            with_refusals: true,
        };
        let (json, certificate) = written(&document, &past.present())?;
        let summary = PlanSummary {
            policy: plan.policy,
            rule: plan.rule,
            competing: &competing,
            benefit: &benefit,
            usage: &plan.usage,
            welfare: plan.welfare,
            upper_bound: plan.upper_bound,
            note: plan.note.as_deref(),
            history: Some(&past.provenance),
            left: &past.left,
        };
        let difference = change_text(&Change { plan: summary, benefit: &of_all, before: &before });
        Ok::<_, Failure>((json, certificate, difference))
    })?;
    let (json, certificate, difference) = changed?;
    Ok((json, certificate, difference, warnings))
}

/// Who competes from now on: what the graph says, what the plan remembers and what is
/// declared now, without those who are reconciled.
fn compete(
    past: &mut Past,
    competing: graphs::CompetingGraph,
    step: &Step,
    warnings: &mut Vec<String>,
) -> Result<graphs::CompetingGraph, Failure> {
    let participants = past.participants().clone();
    let name = |index| shown(participants.name(index));
    for (a, b) in &step.reconciled {
        let (a, b) = (participants.find(a)?, participants.find(b)?);
        if competing.competes(a, b) {
            return Err(Failure::new(
                "StillCompete",
                format!(
                    "the competing graph says that \"{}\" and \"{}\" compete",
                    name(a),
                    name(b)
                ),
                "remove the pair from that graph first",
            ));
        }
        past.reconcile(a, b);
    }
    warnings.extend(remembered(past, &competing));
    let mut declared = Vec::new();
    for (a, b) in &step.declared {
        declared.push((participants.find(a)?, participants.find(b)?));
    }
    Ok(past.with_remembered(competing).declared(&declared)?)
}

/// What models carry already no plan can undo.
fn refuse_breaches(
    py: Python<'_>,
    past: &Past,
    competing: &graphs::CompetingGraph,
    warnings: &mut Vec<String>,
) -> PyResult<()> {
    let participants: &Participants = past.participants();
    let (breaches, gone) = past.breaches(competing);
    for (owner, rival) in gone {
        warnings.push(format!(
            "the model that \"{}\" left with carries the data of its competitor \"{}\"; no plan can undo that",
            shown(participants.name(owner)),
            shown(participants.name(rival))
        ));
    }
    if breaches.is_empty() {
        return Ok(());
    }
    let mut owners: Vec<String> = breaches
        .iter()
        .map(|&(owner, _)| format!("\"{}\"", shown(participants.name(owner))))
        .collect();
    owners.dedup();
    let hint = format!(
        "`restarting=[{}]` lets {} start again from {} own data; the others keep their models",
        owners.join(", "),
        if owners.len() == 1 { "it" } else { "them" },
        if owners.len() == 1 { "its" } else { "their" },
    );
    let pairs: Vec<(&str, &str)> = breaches
        .iter()
        .map(|&(owner, rival)| (participants.name(owner), participants.name(rival)))
        .collect();
    let message = breaches_text(&past.provenance, &breaches);
    Err(exception(py, "PastBreaksRule", (message.trim_end(), hint, pairs)))
}

/// For a name that the plan does not know, the remedy is to join.
fn say_how_to_join(error: GraphError) -> Failure {
    match &error {
        GraphError::UnknownParticipant { name, nearest: None } => Failure::new(
            "UnknownParticipant",
            error.to_string(),
            format!("to add it, call `plan.join(\"{}\", …)`", shown(name)),
        ),
        _ => error.into(),
    }
}
