//! `select`: who may learn from whom.

use std::{
    io::{self, Write},
    path::Path,
};

use fedcompetitors_files::{
    Graphs, PlanDocument, plan_json, read_graphs, read_participants, read_plan, write_plan,
};
use fedcompetitors_graphs::{bits::ones, refusals_by};
use fedcompetitors_report::{PlanSummary, path_text, plan_text, refusals_text};
use fedcompetitors_select::{Plan, Setting};

use super::{
    decide::{Decider, check_rule},
    what_if::what_if,
};
use crate::{
    Failure, Outcome,
    arguments::{ListedGraphs, PlanFormat, SelectArguments},
    output::{print, refuse_overwriting, shown_path, warn},
};

pub fn select(arguments: &SelectArguments) -> Result<Outcome, Failure> {
    let ListedGraphs { files, participants } = &arguments.graphs;
    let mut inputs: Vec<&Path> = vec![&files.competing, &files.benefit];
    inputs.extend(participants.as_deref());
    inputs.extend(arguments.policy.objective.samples.as_deref());
    refuse_overwriting(arguments.out.as_deref(), &inputs)?;
    arguments.out.as_deref().map_or(Ok(()), refuse_forgetting)?;
    check_rule(arguments.policy.policy, arguments.rule)?;
    let graphs = read(&arguments.graphs)?;
    let samples = arguments.policy.objective.read_samples(graphs.benefit.participants())?;
    if arguments.what_if.is_asked() {
        return what_if(arguments, &graphs, samples.as_ref());
    }
    let setting = Setting::new(&graphs.competing, &graphs.benefit);
    let plan = Decider::of(&arguments.policy, samples.as_ref(), 1)?.plan(&setting);
    let document = PlanDocument {
        plan: &plan,
        competing: &graphs.competing,
        benefit: &graphs.benefit,
        past: None,
        with_refusals: !arguments.no_refusals,
    };
    if let Some(path) = &arguments.out {
        write_plan(path, &document)?;
    }
    print(|output| match arguments.format {
        PlanFormat::Text => text(output, &graphs, &plan, arguments.refusals),
        PlanFormat::Json => plan_json(output, &document),
        PlanFormat::Csv => csv(output, &graphs, &plan, arguments.refusals),
    })?;
    Ok(Outcome::Done)
}

/// `select` begins from nothing: it would forget what a plan with a past knows.
fn refuse_forgetting(out: &Path) -> Result<(), Failure> {
    match read_plan(out) {
        Ok(plan) if plan.past.is_some() => Err(Failure::Usage {
            error: format!(
                "{} is a plan with a history of data flows, which `select` would discard",
                shown_path(out)
            ),
            hint: format!(
                "use `fedcompetitors replan --plan {}`, or choose another output file",
                shown_path(out)
            ),
        }),
        _ => Ok(()),
    }
}

/// Reads both graphs and points out what looks like a mistake.
pub fn read(ListedGraphs { files, participants }: &ListedGraphs) -> Result<Graphs, Failure> {
    let listed = participants.as_deref().map(read_participants).transpose()?;
    let graphs = read_graphs(&files.competing, &files.benefit, listed)?;
    graphs.warnings.iter().for_each(|warning| warn(warning));
    Ok(graphs)
}

fn text(
    output: &mut dyn Write,
    graphs: &Graphs,
    plan: &Plan,
    with_refusals: bool,
) -> io::Result<()> {
    let Graphs { competing, benefit, .. } = graphs;
    let summary = PlanSummary {
        policy: plan.policy,
        rule: plan.rule,
        competing,
        benefit,
        usage: &plan.usage,
        welfare: plan.welfare,
        upper_bound: plan.upper_bound,
        note: plan.note.as_deref(),
        history: None,
        left: &[],
    };
    output.write_all(plan_text(&summary).as_bytes())?;
    if with_refusals {
        let refused = refusals_by(plan.rule, competing, benefit, &plan.usage, None);
        write!(output, "\n{}", refusals_text(competing, refused))?;
    }
    Ok(())
}

/// The used edges; with refusals, the refused ones behind them and two columns more.
fn csv(
    output: &mut dyn Write,
    graphs: &Graphs,
    plan: &Plan,
    with_refusals: bool,
) -> io::Result<()> {
    let Graphs { competing, benefit, .. } = graphs;
    let participants = benefit.participants();
    let mut table = csv::Writer::from_writer(output);
    let width = if with_refusals { 5 } else { 3 };
    table.write_record(&["from", "to", "benefit", "decision", "path"][..width])?;
    for to in 0..participants.len() {
        for from in ones(plan.usage.collaborators(to)) {
            let value = benefit.benefit(from, to).to_string();
            let record = [participants.name(from), participants.name(to), &value, "used", ""];
            table.write_record(&record[..width])?;
        }
    }
    if with_refusals {
        for refusal in refusals_by(plan.rule, competing, benefit, &plan.usage, None) {
            let value = refusal.benefit.to_string();
            let path = refusal.because.map(|reason| path_text(participants, &reason.path));
            let (from, to) = (participants.name(refusal.from), participants.name(refusal.to));
            table.write_record([from, to, &value, "refused", &path.unwrap_or_default()])?;
        }
    }
    table.flush()
}
