//! `join`, `leave`, `declare`, `replan`: a new plan that knows what has flowed.

use std::path::Path;

use fedcompetitors_files::{
    FileError, Graphs, PlanDocument, Problem, StatedPlan, plan_json, read_graphs, read_plan,
    write_json, write_plan,
};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, GraphError, Participants, Provenance, Rule, UsageGraph,
    bits::count, shown,
};
use fedcompetitors_report::{Change, PlanSummary, breaches_text, change_text};
use fedcompetitors_select::{ChangeError, Past, Setting};
use serde_json::json;

use super::{decide::Decider, verify::remember};
use crate::{
    Failure, Outcome,
    arguments::{ChangeArguments, DeclareArguments, Format, JoinArguments},
    output::{print, refuse_overwriting, tell, warn},
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
        step.past.leave(name)?;
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
    /// Those who join now.
    joining: Vec<usize>,
}

impl Step {
    /// Reads the plan so far and lets what it planned have flowed.
    fn begin(arguments: &ChangeArguments) -> Result<Self, Failure> {
        let mut inputs: Vec<&Path> = vec![&arguments.files.competing, &arguments.files.benefit];
        inputs.extend(arguments.policy.objective.samples.as_deref());
        refuse_overwriting(arguments.out.as_deref(), &inputs)?;
        let StatedPlan { usage, past, rule, .. } = read_plan(&arguments.plan)?;
        if rule == Rule::Messages || arguments.policy.policy.rule() == Rule::Messages {
            return Err(Failure::Usage {
                error: "under the rule `messages` nothing has to be remembered between plans"
                    .into(),
                hint: "make a new plan with `fedcompetitors select --policy friends`".into(),
            });
        }
        let mut past = past.unwrap_or_else(|| Past::none(usage.participants()));
        if !arguments.untrained {
            past.trained(&usage);
        }
        Ok(Self { past, before: usage, joining: Vec::new() })
    }

    fn participants(&self) -> &Participants {
        self.past.participants()
    }

    fn join(&mut self, name: &str) -> Result<(), Failure> {
        self.joining.extend(self.past.join(name)?);
        self.before = self.before.extended(self.participants());
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
        let Graphs { competing, benefit: of_all, .. } =
            read_graphs(&files.competing, &files.benefit, Some(participants.clone()))
                .map_err(say_how_to_join)?;
        let samples = arguments.policy.objective.read_samples(&participants)?;
        self.warn_of_strangers(&competing, &of_all);
        let (competing, news) = self.compete(arguments, competing, declared)?;
        if self.breaks_the_rule_already(arguments.format, &competing)? {
            return Ok(Outcome::Finding);
        }
        self.past.remember(&competing);
        let Past { provenance, left, .. } = &self.past;
        let benefit = of_all.without(left);
        let setting = Setting::with_history(&competing, &benefit, provenance).without(left);
        let plan = Decider::of(&arguments.policy, samples.as_ref(), 1)?.plan(&setting);
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
        let summary = PlanSummary {
            policy: plan.policy,
            rule: plan.rule,
            competing: &competing,
            benefit: &benefit,
            usage: &plan.usage,
            welfare: plan.welfare,
            upper_bound: plan.upper_bound,
            note: plan.note.as_deref(),
            history: Some(provenance),
            left,
        };
        let change = Change { plan: summary, benefit: &of_all, before: &self.before };
        print(|output| match arguments.format {
            Format::Text => output.write_all(change_text(&change).as_bytes()),
            Format::Json => plan_json(output, &document),
        })?;
        if let Some(news) = news {
            tell(&news);
        }
        Ok(Outcome::Done)
    }

    /// A newcomer that no file knows is perhaps misspelt.
    fn warn_of_strangers(&self, competing: &CompetingGraph, benefit: &BenefitGraph) {
        let helps = |a: usize| benefit.level_of_potential()[a] > 0.0;
        for &a in &self.joining {
            let helped = benefit.helpers(a).next().is_some();
            if count(competing.competitors(a)) == 0 && !helped && !helps(a) {
                warn(&format!(
                    "\"{}\" is in neither file: it competes with nobody, helps nobody and nobody helps it",
                    shown(self.participants().name(a))
                ));
            }
        }
    }

    /// Who competes from now on: what the file says, what the plan remembers and what is
    /// declared now, without those who are reconciled; and what to say of the declaration
    /// once there is a plan.
    fn compete(
        &mut self,
        arguments: &ChangeArguments,
        mut competing: CompetingGraph,
        declared: Option<(usize, usize)>,
    ) -> Result<(CompetingGraph, Option<String>), Failure> {
        let participants = self.participants().clone();
        let name = |index| shown(participants.name(index));
        for pair in arguments.reconciled.chunks_exact(2) {
            let (a, b) = (participants.find(&pair[0])?, participants.find(&pair[1])?);
            if competing.competes(a, b) {
                return Err(Failure::Usage {
                    error: format!(
                        "the competing file says that \"{}\" and \"{}\" compete",
                        name(a),
                        name(b)
                    ),
                    hint: "remove their line from that file first".into(),
                });
            }
            self.past.reconcile(a, b);
        }
        competing = remember(&self.past, competing);
        let mut news = None;
        if let Some((a, b)) = declared {
            if competing.competes(a, b) {
                news = Some(format!("note: \"{}\" and \"{}\" compete already", name(a), name(b)));
            } else {
                competing = competing.declared(&[(a, b)])?;
                news = Some(format!(
                    "note: the new plan remembers that \"{}\" and \"{}\" compete; to make plans from scratch, add `{}` to the competing file",
                    name(a),
                    name(b),
                    csv_line(participants.name(a), participants.name(b))
                ));
            }
        }
        Ok((competing, news))
    }

    /// Tells of competitors whose data models carry already: no plan can undo that. What
    /// those carry who have left stops nothing.
    fn breaks_the_rule_already(
        &self,
        format: Format,
        competing: &CompetingGraph,
    ) -> Result<bool, Failure> {
        let provenance = &self.past.provenance;
        let name = |index| shown(self.participants().name(index));
        let (breaches, gone) = self.past.breaches(competing);
        for (owner, rival) in gone {
            warn(&format!(
                "the model that \"{}\" left with carries the data of its competitor \"{}\"; no plan can undo that",
                name(owner),
                name(rival)
            ));
        }
        if breaches.is_empty() {
            return Ok(false);
        }
        print(|output| match format {
            Format::Text => output.write_all(breaches_text(provenance, &breaches).as_bytes()),
            Format::Json => breaches_json(output, provenance, &breaches),
        })?;
        let mut owners: Vec<usize> = breaches.iter().map(|&(owner, _)| owner).collect();
        owners.dedup();
        let restarts: Vec<String> =
            owners.iter().map(|&owner| format!("--restart \"{}\"", name(owner))).collect();
        tell(&format!(
            "hint: `{}` lets {} start again from {} own data; the others keep their models",
            restarts.join(" "),
            if owners.len() == 1 { "it" } else { "them" },
            if owners.len() == 1 { "its" } else { "their" },
        ));
        Ok(true)
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Graph(error) => error.into(),
            error => Self::Usage { error: error.to_string(), hint: error.hint() },
        }
    }
}

/// For a name that the plan does not know, the remedy is to join.
fn say_how_to_join(error: FileError) -> Failure {
    let hint = match &error.problem {
        Problem::Graph(GraphError::UnknownParticipant { name, nearest: None }) => {
            Some(format!("to add it, run `fedcompetitors join … \"{}\"`", shown(name)))
        }
        _ => None,
    };
    Failure::File { error: Box::new(error), hint }
}

/// The line of a competing file for this pair.
fn csv_line(a: &str, b: &str) -> String {
    let mut line = csv::Writer::from_writer(Vec::new());
    let _ = line.write_record([a, b]);
    let bytes = line.into_inner().unwrap_or_default();
    shown(String::from_utf8_lossy(&bytes).trim_end()).into_owned()
}

fn breaches_json(
    output: &mut dyn std::io::Write,
    history: &Provenance,
    breaches: &[(usize, usize)],
) -> std::io::Result<()> {
    let participants = history.participants();
    let rows = breaches.iter().map(|&(owner, rival)| {
        let others: Vec<&str> = (0..participants.len())
            .filter(|&other| other != owner && other != rival && history.carries(other, rival))
            .map(|other| participants.name(other))
            .collect();
        json!({
            "participant": participants.name(owner),
            "carries_competitor": participants.name(rival),
            "others_that_carry_it": others,
        })
    });
    write_json(output, &json!({ "breaches": rows.collect::<Vec<_>>() }))
}
