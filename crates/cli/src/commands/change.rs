//! `join`, `leave`, `declare`, `replan`: a new plan that knows what has flowed.

use std::path::Path;

use fedcompetitors_files::{
    Graphs, Past, PlanDocument, plan_json, read_graphs, read_plan, write_plan,
};
use fedcompetitors_graphs::{GraphError, Participants, Provenance, UsageGraph};
use fedcompetitors_report::{Change, breaches_text, change_text};
use fedcompetitors_select::Setting;

use super::select::policy;
use crate::{
    Failure, Outcome,
    arguments::{ChangeArguments, DeclareArguments, Format, JoinArguments},
    interrupt::while_searching,
    output::{print, refuse_overwriting, tell},
};

pub fn join(arguments: &JoinArguments) -> Result<Outcome, Failure> {
    let mut step = Step::begin(&arguments.change)?;
    for name in &arguments.names {
        step.join(name)?;
    }
    step.finish(&arguments.change, None)
}

pub fn leave(arguments: &JoinArguments) -> Result<Outcome, Failure> {
    let mut step = Step::begin(&arguments.change)?;
    for name in &arguments.names {
        let index = step.participants().find(name)?;
        if !step.past.left.contains(&index) {
            step.past.left.push(index);
        }
    }
    step.finish(&arguments.change, None)
}

pub fn declare(arguments: &DeclareArguments) -> Result<Outcome, Failure> {
    let step = Step::begin(&arguments.change)?;
    let pair = (step.participants().find(&arguments.a)?, step.participants().find(&arguments.b)?);
    step.finish(&arguments.change, Some(pair))
}

pub fn replan(arguments: &ChangeArguments) -> Result<Outcome, Failure> {
    Step::begin(arguments)?.finish(arguments, None)
}

/// From one plan to the next.
struct Step {
    past: Past,
    /// Who learned from whom.
    before: UsageGraph,
}

impl Step {
    /// Reads the plan so far and lets what it planned have flowed.
    fn begin(arguments: &ChangeArguments) -> Result<Self, Failure> {
        let inputs: [&Path; 2] = [&arguments.files.competing, &arguments.files.benefit];
        refuse_overwriting(arguments.out.as_deref(), &inputs)?;
        let plan = read_plan(&arguments.plan)?;
        let own =
            || Past { provenance: Provenance::own(plan.usage.participants()), left: Vec::new() };
        let mut past = plan.past.unwrap_or_else(own);
        if !arguments.untrained {
            past.provenance = past.provenance.after(&plan.usage);
        }
        Ok(Self { past, before: plan.usage })
    }

    fn participants(&self) -> &Participants {
        self.past.provenance.participants()
    }

    /// A newcomer comes after all others; who has left before finds its place again.
    fn join(&mut self, name: &str) -> Result<(), GraphError> {
        if let Ok(known) = self.participants().find(name) {
            let count = self.past.left.len();
            self.past.left.retain(|&gone| gone != known);
            if self.past.left.len() == count {
                return Err(GraphError::DoubledParticipant { name: name.to_owned() });
            }
            return Ok(());
        }
        let longer = Participants::new(self.participants().names().chain([name]))?;
        self.past.provenance = self.past.provenance.extended(&longer);
        let mut before = UsageGraph::builder(&longer);
        for (from, to) in self.before.edges() {
            before.add(from, to)?;
        }
        self.before = before.build();
        Ok(())
    }

    fn finish(
        mut self,
        arguments: &ChangeArguments,
        declared: Option<(usize, usize)>,
    ) -> Result<Outcome, Failure> {
        let participants = self.participants().clone();
        for name in &arguments.restart {
            self.past.provenance.restart(participants.find(name)?);
        }
        let files = &arguments.files;
        let Graphs { mut competing, benefit, .. } =
            read_graphs(&files.competing, &files.benefit, Some(participants.clone()))?;
        if let Some((a, b)) = declared {
            competing = competing.declared(a, b)?;
        }
        let Past { provenance, left } = &self.past;
        let breaches: Vec<(usize, usize)> =
            provenance.breaches(&competing).filter(|(owner, _)| !left.contains(owner)).collect();
        if let Some(&(owner, _)) = breaches.first() {
            print(|output| output.write_all(breaches_text(provenance, &breaches).as_bytes()))?;
            tell(&format!(
                "hint: `--restart \"{}\"` lets it begin again from its own data (or from its last model without the other's); the others keep theirs",
                fedcompetitors_graphs::shown(participants.name(owner)),
            ));
            return Ok(Outcome::Finding);
        }
        let benefit = benefit.without(left);
        let setting = Setting::with_history(&competing, &benefit, provenance).without(left);
        let plan = while_searching(|stop| {
            policy(arguments.policy, arguments.effort.objective, arguments.effort.effort(stop))
                .plan(&setting)
        });
        let document = PlanDocument {
            plan: &plan,
            competing: &competing,
            benefit: &benefit,
            past: Some(&self.past),
            with_refusals: true,
        };
        if let Some(path) = &arguments.out {
            write_plan(path, &document)?;
        }
        let change = Change {
            competing: &competing,
            benefit: &benefit,
            history: provenance,
            left,
            before: &self.before,
            after: &plan.usage,
        };
        print(|output| match arguments.format {
            Format::Text => output.write_all(change_text(&change).as_bytes()),
            Format::Json => plan_json(output, &document),
        })?;
        if let Some((a, b)) = declared {
            let name = |index| fedcompetitors_graphs::shown(participants.name(index));
            tell(&format!(
                "hint: add the line `{},{}` to the competing file, so that the next plan knows of it",
                name(a),
                name(b)
            ));
        }
        Ok(Outcome::Done)
    }
}
