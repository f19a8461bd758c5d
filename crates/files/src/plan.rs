//! Plans as JSON, `fedcompetitors-plan/1`.

use std::{
    io::{self, Write},
    path::Path,
};

use fedcompetitors_graphs::{
    BenefitGraph, Certificate, Choice, CompetingGraph, Flaw, GraphError, Leak, Participants,
    ParticipantsBuilder, Provenance, Reason, Refusal, Rule, UsageGraph, bits::ones, refusals_by,
};
use fedcompetitors_select::{Bounded, Past, Plan};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::value::RawValue;

use crate::{
    FileError, Problem, atomically,
    certificate::paths,
    graphs::check_count,
    json::{self, Document},
};

const FORMAT: &str = "fedcompetitors-plan/1";

/// A plan as a file states it: well-formed, but whether it keeps the rule is another
/// question.
#[derive(Debug)]
pub struct StatedPlan {
    /// The policy that is said to have made it.
    pub policy: String,
    /// The rule that it is said to keep.
    pub rule: Rule,
    /// Who may learn from whom.
    pub usage: UsageGraph,
    /// The welfare that it states.
    pub welfare: f64,
    /// The bound that it states.
    pub upper_bound: f64,
    /// The sum of the benefits that it states for its edges.
    pub benefit_sum: f64,
    /// What had flowed before it, where anything had.
    pub past: Option<Past>,
}

impl StatedPlan {
    /// Whether its edges sum to another welfare than it states: then it was changed after it was made.
    pub fn is_other_welfare(&self) -> bool {
        (self.welfare - self.benefit_sum).abs() > 1e-6 * self.welfare.abs().max(1.0)
    }

    /// Proves that the plan keeps the rule that it names, with what models carry from before.
    ///
    /// # Errors
    /// A path by which data comes to a competitor.
    ///
    /// # Panics
    /// If the graph is over other participants.
    pub fn prove(&self, competing: &CompetingGraph) -> Result<Certificate, Leak> {
        match self.rule {
            Rule::Paths => Certificate::prove_after(competing, &self.usage, &self.history()),
            Rule::Messages => Certificate::prove_messages(competing, &self.usage),
        }
    }

    /// Checks a certificate that somebody hands in for it.
    ///
    /// # Errors
    /// The first flaw.
    ///
    /// # Panics
    /// If the graph or the certificate is over other participants.
    pub fn check(&self, competing: &CompetingGraph, claimed: &Certificate) -> Result<(), Flaw> {
        if claimed.rule() != self.rule {
            let (certificate, plan) = (claimed.rule(), self.rule);
            return Err(Flaw::OtherRule { certificate, plan });
        }
        claimed.check_after(competing, &self.usage, &self.history())
    }

    fn history(&self) -> Provenance {
        self.past.as_ref().map_or_else(|| Provenance::own(self.participants()), Past::present)
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        self.usage.participants()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a plan")]
struct PlanText<'a> {
    format: String,
    policy: String,
    #[serde(default = "paths")]
    rule: Choice<Rule>,
    #[serde(borrow)]
    participants: Vec<&'a RawValue>,
    #[serde(borrow)]
    usage: Vec<&'a RawValue>,
    welfare: f64,
    upper_bound: f64,
    #[serde(borrow, default)]
    refused: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    provenance: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    left: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    competing: Vec<&'a RawValue>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    #[serde(default, rename = "diminishing")]
    _diminishing: Option<BoundedText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a value and its bound")]
struct BoundedText {
    #[serde(rename = "value")]
    _value: f64,
    #[serde(rename = "upper_bound")]
    _upper_bound: f64,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an edge")]
struct EdgeText {
    from: String,
    to: String,
    /// Somebody who adds an edge by hand may not know it.
    #[serde(default)]
    benefit: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what a participant carries")]
struct CarriedText {
    participant: String,
    carries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a refused edge")]
struct RefusalText {
    from: String,
    to: String,
    #[serde(rename = "benefit")]
    _benefit: f64,
    because: Option<BecauseText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a reason")]
struct BecauseText {
    pair: (String, String),
    path: Vec<String>,
}

/// Reads a plan.
///
/// # Errors
/// If the file cannot be read or is no plan.
pub fn read_plan(path: &Path) -> Result<StatedPlan, FileError> {
    parse_plan(path, &json::read_text(path)?)
}

/// Reads a plan from its text; `path` names it in errors.
///
/// # Errors
/// If the text is no plan.
pub fn parse_plan(path: &Path, text: &str) -> Result<StatedPlan, FileError> {
    let document = Document { path, text };
    let plan: PlanText = document.parse(FORMAT)?;
    document.expect_format(plan.format, FORMAT)?;
    check_count(path, plan.participants.len())?;
    let mut participants = ParticipantsBuilder::default();
    for raw in plan.participants {
        let name: String = document.entry(raw)?;
        participants.add(&name).map_err(|error| document.refuse(raw, error))?;
    }
    if participants.is_empty() {
        return Err(FileError::new(path, Problem::NoParticipants));
    }
    let participants = participants.build();
    let mut usage = UsageGraph::builder(&participants);
    let mut benefit_sum = 0.0;
    for raw in plan.usage {
        let edge: EdgeText = document.entry(raw)?;
        let ends =
            participants.find(&edge.from).and_then(|from| Ok((from, participants.find(&edge.to)?)));
        ends.and_then(|(from, to)| {
            if edge.benefit < 0.0 {
                let EdgeText { from, to, benefit } = edge.clone();
                return Err(GraphError::NegativeBenefit { from, to, value: benefit });
            }
            usage.add(from, to)
        })
        .map_err(|error| document.refuse(raw, error))?;
        benefit_sum += edge.benefit;
    }
    for raw in plan.refused {
        let refusal: RefusalText = document.entry(raw)?;
        let because = refusal.because.iter();
        let because = because.flat_map(|because| {
            [&because.pair.0, &because.pair.1].into_iter().chain(&because.path)
        });
        for name in [&refusal.from, &refusal.to].into_iter().chain(because) {
            participants.find(name).map_err(|error| document.refuse(raw, error))?;
        }
    }
    let past = read_past(&document, &participants, plan.provenance, &plan.left, &plan.competing)?;
    Ok(StatedPlan {
        policy: plan.policy,
        rule: *plan.rule,
        usage: usage.build(),
        welfare: plan.welfare,
        upper_bound: plan.upper_bound,
        benefit_sum,
        past,
    })
}

fn read_past(
    document: &Document<'_>,
    participants: &Participants,
    provenance: Option<Vec<&RawValue>>,
    left: &[&RawValue],
    competing: &[&RawValue],
) -> Result<Option<Past>, FileError> {
    if provenance.is_none() && left.is_empty() && competing.is_empty() {
        return Ok(None);
    }
    let find =
        |raw, name: &str| participants.find(name).map_err(|error| document.refuse(raw, error));
    let mut past = Past::none(participants);
    for raw in provenance.unwrap_or_default() {
        let carried: CarriedText = document.entry(raw)?;
        let owner = find(raw, &carried.participant)?;
        for name in &carried.carries {
            past.provenance.add(owner, find(raw, name)?);
        }
    }
    for &raw in left {
        let name: String = document.entry(raw)?;
        past.left.push(find(raw, &name)?);
    }
    for &raw in competing {
        let (a, b): (String, String) = document.entry(raw)?;
        let pair = (find(raw, &a)?, find(raw, &b)?);
        if pair.0 == pair.1 {
            let error = GraphError::CompetesWithItself { name: a };
            return Err(document.refuse(raw, error));
        }
        past.competing.push(pair);
    }
    Ok(Some(past))
}

/// A plan to write, with what its reasons need.
#[derive(Debug, Clone, Copy)]
pub struct PlanDocument<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Who competes with whom.
    pub competing: &'a CompetingGraph,
    /// Who would help whom.
    pub benefit: &'a BenefitGraph,
    /// What had flowed before.
    pub past: Option<&'a Past>,
    /// Are the refused edges listed with their reasons? There may be millions.
    pub with_refusals: bool,
}

/// Writes a plan to a file, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write_plan(path: &Path, document: &PlanDocument<'_>) -> Result<(), FileError> {
    atomically(path, |writer| plan_json(writer, document))
}

/// Writes a plan as JSON: each participant's collaborators in listed order of the
/// participants, the best collaborator first.
///
/// The refusals are worked out on the way, one participant at a time.
///
/// # Errors
/// If the writer fails.
pub fn plan_json(writer: &mut dyn Write, document: &PlanDocument<'_>) -> io::Result<()> {
    json::to_writer(writer, document)
}

impl Serialize for PlanDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let participants = self.benefit.participants();
        // JSON needs no exact number of fields, only whether there are any.
        let mut object = serializer.serialize_struct("plan", 13)?;
        object.serialize_field("format", FORMAT)?;
        object.serialize_field("policy", self.plan.policy)?;
        object.serialize_field("rule", &self.plan.rule)?;
        object.serialize_field("participants", &List(|| participants.names()))?;
        object.serialize_field("usage", &List(|| self.edges()))?;
        object.serialize_field("welfare", &self.plan.welfare)?;
        object.serialize_field("upper_bound", &self.plan.upper_bound)?;
        if let Some(note) = &self.plan.note {
            object.serialize_field("note", note)?;
        }
        if let Some(Bounded { value, upper_bound }) = self.plan.diminishing {
            object.serialize_field("diminishing", &BoundedView { value, upper_bound })?;
        }
        if self.with_refusals {
            let refused = || {
                let history = self.past.map(|past| &past.provenance);
                let Plan { rule, usage, .. } = self.plan;
                refusals_by(*rule, self.competing, self.benefit, usage, history)
                    .map(|refusal| RefusalView::new(participants, &refusal))
            };
            object.serialize_field("refused", &List(refused))?;
        }
        if let Some(past) = self.past {
            object.serialize_field("provenance", &List(|| carried(past)))?;
            let left = || past.left.iter().map(|&index| participants.name(index));
            object.serialize_field("left", &List(left))?;
            let name = |index| participants.name(index);
            let competing = || past.competing.iter().map(|&(a, b)| [name(a), name(b)]);
            object.serialize_field("competing", &List(competing))?;
        }
        object.end()
    }
}

impl PlanDocument<'_> {
    fn edges(&self) -> impl Iterator<Item = EdgeView<'_>> {
        let participants = self.benefit.participants();
        (0..participants.len()).flat_map(move |to| {
            let collaborators = self.benefit.collaborators(&self.plan.usage, to);
            collaborators.into_iter().map(move |(from, benefit)| EdgeView {
                from: participants.name(from),
                to: participants.name(to),
                benefit,
            })
        })
    }
}

/// Whose data each participant carries, for those who carry more than their own.
fn carried(past: &Past) -> impl Iterator<Item = CarriedView<'_>> {
    let participants = past.provenance.participants();
    participants.names().enumerate().filter_map(move |(owner, participant)| {
        let others = ones(past.provenance.carried(owner)).filter(|&other| other != owner);
        let carries: Vec<&str> = others.map(|other| participants.name(other)).collect();
        (!carries.is_empty()).then_some(CarriedView { participant, carries })
    })
}

#[derive(Serialize)]
struct CarriedView<'a> {
    participant: &'a str,
    carries: Vec<&'a str>,
}

/// A list that is made while it is written.
struct List<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

#[derive(Serialize)]
struct BoundedView {
    value: f64,
    upper_bound: f64,
}

#[derive(Serialize)]
struct EdgeView<'a> {
    from: &'a str,
    to: &'a str,
    benefit: f64,
}

#[derive(Serialize)]
struct RefusalView<'a> {
    from: &'a str,
    to: &'a str,
    benefit: f64,
    because: Option<BecauseView<'a>>,
}

#[derive(Serialize)]
struct BecauseView<'a> {
    pair: (&'a str, &'a str),
    path: Vec<&'a str>,
}

impl<'a> RefusalView<'a> {
    fn new(participants: &'a Participants, refusal: &Refusal) -> Self {
        let name = |index| participants.name(index);
        let because = |reason: &Reason| BecauseView {
            pair: (name(reason.pair().0), name(reason.pair().1)),
            path: reason.path.iter().map(|&index| name(index)).collect(),
        };
        Self {
            from: name(refusal.from),
            to: name(refusal.to),
            benefit: refusal.benefit,
            because: refusal.because.as_ref().map(because),
        }
    }
}
