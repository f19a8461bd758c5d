//! Plans: made, proven, explained, compared. A plan goes to and fro as the text of its file.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use fedcompetitors_files::{
    PlanDocument, StatedPlan, federation, parse_certificate, parse_plan, plan_json,
    write_certificate, write_json,
};
use fedcompetitors_graphs::{
    self as graphs, Certificate, Choice as Registered, Leak, Participants, Provenance, Rule,
    UnknownEntry, find_leak, longest_chain,
};
use fedcompetitors_report::{
    Comparison, Explanation, Measure, Verdict, certificate_text, comparison_text, leak_text,
    other_welfare_text,
};
use fedcompetitors_select::{
    Effort, ObjectiveKind, Past, Plan, Policy, SampleCounts, SamplesMissing, Setting, Shares,
};
use pyo3::prelude::*;

use crate::{
    errors::{Failure, exception},
    graphs::{BenefitGraph, CompetingGraph},
    waiting::interruptible,
};

/// How to decide.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choice {
    policy: String,
    objective: String,
    samples: Option<BTreeMap<String, f64>>,
    time_limit: Option<f64>,
    gap: f64,
    seed: u64,
}

impl Choice {
    /// Refuses what no policy can do.
    pub fn check(self) -> Result<Checked, Failure> {
        let policy = Registered::<dyn Policy>::named(&self.policy)
            .map_err(|error| unknown("UnknownPolicy", &error))?;
        let objective = Registered::<ObjectiveKind>::named(&self.objective)
            .map_err(|error| unknown("UnknownObjective", &error))?;
        if *objective == ObjectiveKind::Diminishing && self.samples.is_none() {
            return Err(Failure::new(
                "SamplesMissing",
                SamplesMissing.to_string(),
                "give samples={name: count}, with every participant",
            ));
        }
        objective.check_served(policy).map_err(|error| {
            let hint = "use policy=\"optimal\", or omit the objective";
            Failure::new("ObjectiveNotServed", error.to_string(), hint)
        })?;
        if self.time_limit.is_some_and(|limit| !limit.is_finite() || limit < 0.0) {
            return Err(Failure::new(
                "NotASetting",
                "the time limit is not a number of seconds",
                "give seconds that are at least 0, or None for no limit",
            ));
        }
        if !self.gap.is_finite() || self.gap < 0.0 {
            return Err(Failure::new(
                "NotASetting",
                "the gap is not a fraction",
                "give a number that is at least 0; 0.01 is 1 %",
            ));
        }
        let limit = self.time_limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        let Self { samples, gap, seed, .. } = self;
        Ok(Checked { policy, objective: *objective, samples, limit, gap, seed })
    }
}

/// A choice that a policy can serve.
#[derive(Clone)]
pub struct Checked {
    policy: Registered<dyn Policy>,
    objective: ObjectiveKind,
    samples: Option<BTreeMap<String, f64>>,
    limit: Option<Duration>,
    gap: f64,
    seed: u64,
}

impl Checked {
    /// The rule that its plans keep.
    pub fn rule(&self) -> Rule {
        self.policy.rule()
    }

    /// The sample counts, where the objective needs them.
    pub fn samples(&self, participants: &Participants) -> Result<Option<SampleCounts>, Failure> {
        let Some(samples) = &self.samples else {
            return Ok(None);
        };
        if self.objective != ObjectiveKind::Diminishing {
            return Ok(None);
        }
        let mut counts = vec![0.0; participants.len()];
        for (name, &count) in samples {
            counts[participants.find(name)?] = count;
        }
        let counts = SampleCounts::new(participants, counts)
            .map_err(|error| Failure::new("NotSampleCounts", error.to_string(), error.hint()))?;
        Ok(Some(counts))
    }

    /// Makes a plan; the time limit begins now.
    pub fn plan(
        &self,
        setting: &Setting<'_>,
        samples: Option<&SampleCounts>,
        stop: &AtomicBool,
    ) -> Result<Plan, Failure> {
        let deadline = self.limit.and_then(|limit| Instant::now().checked_add(limit));
        let (gap, seed) = (self.gap, self.seed);
        let effort = Effort { deadline, stop: Some(stop), budget: None, gap, seed };
        let objective = self.objective.with(samples).map_err(|error| {
            Failure::new("SamplesMissing", error.to_string(), "give samples={name: count}")
        })?;
        Ok(self.policy.plan(setting, objective, effort))
    }
}

fn unknown(kind: &'static str, error: &UnknownEntry) -> Failure {
    Failure::new(kind, error.to_string(), error.hint())
}

/// The entries of all registries, as JSON.
#[pyfunction]
pub fn listings() -> Result<String, Failure> {
    let mut written = Vec::new();
    write_json(&mut written, &federation::listings()).map_err(unwritable)?;
    text(written)
}

/// A plan and its certificate, as the texts of their files.
pub fn written(
    document: &PlanDocument<'_>,
    history: &Provenance,
) -> Result<(String, String), Failure> {
    let mut plan = Vec::new();
    plan_json(&mut plan, document).map_err(unwritable)?;
    // Not by the policy's word: proven by code that knows no policy.
    let proof = match document.plan.rule {
        Rule::Paths => Certificate::prove_after(document.competing, &document.plan.usage, history),
        Rule::Messages => Certificate::prove_messages(document.competing, &document.plan.usage),
    };
    let proof = proof.map_err(|leak| {
        Failure::new("RuleBroken", leak_text(document.competing, &leak), "please report this plan")
    })?;
    Ok((text(plan)?, certificate_json(&proof)?))
}

fn certificate_json(certificate: &Certificate) -> Result<String, Failure> {
    let mut written = Vec::new();
    write_certificate(certificate, &mut written).map_err(unwritable)?;
    text(written)
}

fn unwritable(error: impl ToString) -> Failure {
    Failure::new("FedCompetitorsError", error.to_string(), "please report this plan")
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(unwritable)
}

/// The rule of a name.
pub fn rule_of(name: &str) -> Result<Rule, Failure> {
    let rule = Registered::<Rule>::named(name).map_err(|error| unknown("NotASetting", &error))?;
    Ok(*rule)
}

/// Decides who may learn from whom: the plan and its certificate. A rule that is given refuses policies
/// that do not keep it.
#[pyfunction]
pub fn select(
    py: Python<'_>,
    competing: PyRef<'_, CompetingGraph>,
    benefit: PyRef<'_, BenefitGraph>,
    choice: Choice,
    rule: Option<&str>,
    refusals: bool,
) -> PyResult<(String, String)> {
    let choice = choice.check()?;
    let rule = rule.map(rule_of).transpose()?;
    if let Some(rule) = rule.filter(|rule| !choice.rule().implies(*rule)) {
        return Err(Failure::new(
            "NotASetting",
            format!("the policy \"{}\" does not keep the rule \"{rule}\"", choice.policy),
            format!("use rule=\"{}\", or choose another policy", choice.rule()),
        )
        .into());
    }
    let (competing, benefit) = (&competing.graph, &benefit.graph);
    let samples = choice.samples(benefit.participants())?;
    let written = interruptible(py, |stop| {
        let plan = choice.plan(&Setting::new(competing, benefit), samples.as_ref(), stop)?;
        let document =
            PlanDocument { plan: &plan, competing, benefit, past: None, with_refusals: refusals };
        written(&document, &Provenance::own(competing.participants()))
    })?;
    Ok(written?)
}

/// The plan that a text states.
pub fn parse(plan: &str) -> Result<StatedPlan, Failure> {
    Ok(parse_plan(Path::new("plan"), plan)?)
}

/// Refuses what is no plan.
#[pyfunction]
pub fn check_plan(plan: &str) -> Result<(), Failure> {
    parse(plan).map(|_| ())
}

/// A plan that breaks the rule, as an exception.
fn rule_broken(py: Python<'_>, competing: &graphs::CompetingGraph, leak: &Leak) -> PyErr {
    let path: Vec<&str> =
        leak.path.iter().map(|&index| competing.participants().name(index)).collect();
    let hint = if leak.from_before {
        "the first step happened before this plan and cannot be removed; `plan.replan(…)` takes it into account"
    } else {
        "remove one edge of this path, or make a new plan"
    };
    let message = leak_text(competing, leak);
    exception(py, "RuleBroken", (message.trim_end(), hint, path, leak.pairs))
}

/// Proves that a plan keeps the rule that it names: the certificate, what it proves in words, and what looks
/// like a mistake.
#[pyfunction]
#[pyo3(signature = (competing, plan, against=None, rule=None))]
pub fn verify(
    py: Python<'_>,
    competing: PyRef<'_, CompetingGraph>,
    plan: &str,
    against: Option<&str>,
    rule: Option<&str>,
) -> PyResult<(String, String, Vec<String>)> {
    let plan = parse(plan)?;
    let rule = rule.map(rule_of).transpose()?;
    if let Some(rule) = rule.filter(|rule| !plan.rule.implies(*rule)) {
        return Err(Failure::new(
            "NotASetting",
            format!("the plan is one under the rule \"{}\", not \"{rule}\"", plan.rule),
            "omit `rule` to check the rule that the plan names",
        )
        .into());
    }
    let mut competing = competing.over(plan.participants()).map_err(Failure::from)?;
    let mut warnings = Vec::new();
    if let Some(past) = &plan.past {
        warnings.extend(remembered(past, &competing));
        competing = past.with_remembered(competing);
    }
    if plan.is_other_welfare() {
        warnings.push(other_welfare_text(plan.welfare, plan.benefit_sum));
    }
    let proven = py.detach(|| plan.prove(&competing));
    let certificate = proven.map_err(|leak| rule_broken(py, &competing, &leak))?;
    if let Some(claim) = against {
        let claimed = parse_certificate(Path::new("certificate"), claim, plan.participants())
            .map_err(Failure::from)?;
        plan.check(&competing, &claimed).map_err(|flaw| {
            let flaw = flaw.describe(plan.participants());
            Failure::new(
                "CertificateRefused",
                format!("The certificate does not hold for this plan: {flaw}."),
                "the plan itself keeps the rule; `verify` without a certificate makes its own",
            )
        })?;
    }
    let words = certificate_text(&competing, &plan.usage, &certificate, plan.past.is_some());
    Ok((certificate_json(&certificate)?, words, warnings))
}

/// The competitions that only a plan still knows, which counts.
pub fn remembered(past: &Past, competing: &graphs::CompetingGraph) -> Vec<String> {
    let name = |index| graphs::shown(past.participants().name(index));
    let forgotten = past.forgotten(competing).map(|(a, b)| {
        format!(
            "the plan records that \"{}\" and \"{}\" compete, but the competing graph does not: \
             they count as competitors until `reconciled` is given",
            name(a),
            name(b)
        )
    });
    forgotten.collect()
}

/// Verdict, benefit, sentence and path.
type Explained = (&'static str, f64, String, Option<Vec<String>>);

/// Why one participant may or may not learn from another.
#[pyfunction]
pub fn explain(
    py: Python<'_>,
    competing: PyRef<'_, CompetingGraph>,
    benefit: PyRef<'_, BenefitGraph>,
    plan: &str,
    helper: &str,
    helped: &str,
) -> PyResult<Explained> {
    let plan = parse(plan)?;
    let participants = plan.participants();
    let mut competing = competing.over(participants).map_err(Failure::from)?;
    let benefit = benefit.over(participants).map_err(Failure::from)?;
    if let Some(past) = &plan.past {
        competing = past.with_remembered(competing);
    }
    let find = |name| participants.find(name).map_err(Failure::from);
    let (from, to) = (find(helper)?, find(helped)?);
    // A plan that breaks the rule explains nothing.
    let present = plan.past.as_ref().map(Past::present);
    if let Err(leak) = plan.prove(&competing) {
        return Err(rule_broken(py, &competing, &leak));
    }
    let (present, edge) = (present.as_ref(), (from, to));
    let explanation = Explanation::of(plan.rule, &competing, &benefit, &plan.usage, present, edge);
    let left = plan.past.as_ref().map_or(&[][..], |past| &past.left);
    let (word, sentence) = explanation.answer(&competing, &plan.policy, left);
    let path = match &explanation.verdict {
        Verdict::Refused(reason) => {
            Some(reason.path.iter().map(|&index| participants.name(index).to_owned()).collect())
        }
        _ => None,
    };
    Ok((word, explanation.benefit, sentence, path))
}

/// One row of a comparison, in the order of the fields of the Python class.
type Row = (&'static str, f64, f64, usize, usize, f64, f64, usize, f64, bool, Option<String>);

/// The plans of all policies side by side, and as a table.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    competing: PyRef<'_, CompetingGraph>,
    benefit: PyRef<'_, BenefitGraph>,
    choice: Choice,
) -> PyResult<(Vec<Row>, String)> {
    let choice = choice.check()?;
    let measure = match choice.objective {
        ObjectiveKind::Welfare => Measure::Welfare,
        ObjectiveKind::MaxMin | ObjectiveKind::Proportional => Measure::Fairness,
        ObjectiveKind::Diminishing => Measure::Diminishing,
    };
    let (competing, benefit) = (&competing.graph, &benefit.graph);
    let samples = choice.samples(benefit.participants())?;
    let comparisons: Result<Vec<Comparison>, Failure> = interruptible(py, |stop| {
        let one = |policy| {
            let choice = Checked { policy, ..choice.clone() };
            let start = Instant::now();
            let plan = choice.plan(&Setting::new(competing, benefit), samples.as_ref(), stop)?;
            let seconds = start.elapsed().as_secs_f64();
            let Shares { with_nothing, least, mean } = Shares::of(competing, benefit, &plan.usage);
            let value = |samples: &SampleCounts| samples.value(benefit, &plan.usage);
            Ok(Comparison {
                policy: plan.policy,
                value: samples.as_ref().map(value),
                welfare: plan.welfare,
                upper_bound: plan.upper_bound,
                edges: plan.usage.len(),
                with_nothing,
                least,
                mean,
                longest_chain: longest_chain(&plan.usage),
                seconds,
                keeps_the_rule: find_leak(competing, &plan.usage).is_none(),
                note: plan.note,
            })
        };
        // Plans are compared that keep one rule.
        let comparable = Registered::all()
            .filter(|policy: &Registered<dyn Policy>| policy.rule() == Rule::Paths);
        comparable.map(one).collect()
    })?;
    let comparisons = comparisons?;
    let table = comparison_text(&comparisons, measure);
    let rows = comparisons.into_iter().map(|row| {
        (
            row.policy,
            row.welfare,
            row.upper_bound,
            row.edges,
            row.with_nothing,
            row.least,
            row.mean,
            row.longest_chain,
            row.seconds,
            row.keeps_the_rule,
            row.note,
        )
    });
    Ok((rows.collect(), table))
}
