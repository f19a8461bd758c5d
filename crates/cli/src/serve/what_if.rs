//! What if: a question that is all in the address, and its answer.
//!
//! The form's buttons lead to an address with `do` in it, which says what to change; it is
//! answered with the address of the changed question, so that what people send each other is
//! short and holds no buttons.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{Path, RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use fedcompetitors_graphs::{
    BenefitGraph, Choice, CompetingGraph, Entry, GraphError, Participants, Registry, Rule,
    UsageGraph, refusals_by, shown,
};
use fedcompetitors_record::{Participant, Record, Refused, Summary};
use fedcompetitors_report::{
    Explanation, Worth,
    html::{Changed, Page, WhatIf, what_if_page},
    number, refusal_text,
};
use fedcompetitors_select::{Effort, Greedy, Objective, ObjectiveKind, Plan, Policy, Setting};

use super::{
    Server,
    answers::{at_work, html, not_here, unreadable},
    guard::told,
};
use crate::commands::what_if::effects;

/// Participants of a federation that is asked about.
const MOST_PARTICIPANTS: usize = 500;

/// Changes in one question.
const MOST_CHANGES: usize = 100;

/// Newcomers in one question.
const MOST_NEWCOMERS: usize = 20;

/// Seconds for each of the two plans, where the best is looked for.
const SECONDS: f64 = 0.5;

/// Participants for whom the best plan is there at once.
const AT_ONCE: usize = 25;

/// Refused edges that are given a reason.
const MOST_REASONS: usize = 200;

/// A question. Participants are their places, newcomers after all others.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    policy: Choice<dyn Policy>,
    objective: Choice<ObjectiveKind>,
    newcomers: Vec<String>,
    absent: BTreeSet<usize>,
    compete: BTreeSet<(usize, usize)>,
    apart: BTreeSet<(usize, usize)>,
    benefit: BTreeMap<(usize, usize), f64>,
    why: Option<(usize, usize)>,
    pair: Option<(usize, usize)>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            policy: Choice(&Greedy),
            objective: Choice(&ObjectiveKind::Welfare),
            newcomers: Vec::new(),
            absent: BTreeSet::new(),
            compete: BTreeSet::new(),
            apart: BTreeSet::new(),
            benefit: BTreeMap::new(),
            why: None,
            pair: None,
        }
    }
}

/// Something in the address that makes no sense, in a sentence.
type Nonsense = String;

impl Question {
    /// Reads an address that is about so many participants, and by this policy where it says
    /// nothing else; says whether a button was pressed.
    fn read(
        query: &str,
        count: usize,
        policy: Choice<dyn Policy>,
    ) -> Result<(Self, bool), Nonsense> {
        let pairs: Vec<(String, String)> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let all = |key: &'static str| {
            pairs.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
        };
        let mut question = Self { policy, ..Self::default() };
        if let Some(name) = all("policy").next_back() {
            question.policy =
                name.parse().map_err(|_| "The address names an unknown policy.".to_owned())?;
        }
        if let Some(name) = all("objective").next_back() {
            question.objective =
                name.parse().map_err(|_| "The address names an unknown objective.".to_owned())?;
            if question.objective.with(None).is_err() {
                return Err("This page has no sample counts; `fedcompetitors select` takes them with `--samples`.".into());
            }
        }
        question.newcomers = all("new").map(str::to_owned).collect();
        let count = count + question.newcomers.len();
        let one = |text: &str| match text.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
            _ => Err("The address names an unknown participant.".to_owned()),
        };
        let two = |text: &str| {
            let (a, b) = text.split_once('-').ok_or("The address names no pair.")?;
            different(one(a)?, one(b)?)
        };
        question.absent = all("without").map(one).collect::<Result<_, _>>()?;
        question.compete =
            all("compete").map(|text| two(text).map(sorted)).collect::<Result<_, _>>()?;
        question.apart =
            all("apart").map(|text| two(text).map(sorted)).collect::<Result<_, _>>()?;
        for text in all("help") {
            let (pair, value) = text.split_once(':').ok_or("The address names no benefit.")?;
            question.benefit.insert(two(pair)?, amount(value)?);
        }
        question.why = all("why").next_back().map(two).transpose()?;
        question.pair = question.why;
        let Some(button) = all("do").next_back() else {
            question.is_bearable(count)?;
            return Ok((question, false));
        };
        let first = |key| all(key).next_back().unwrap_or("");
        let pair = || different(one(first("a"))?, one(first("b"))?);
        question.why = None;
        match button {
            "plan" => {}
            "compete" => {
                let pair = sorted(pair()?);
                question.apart.remove(&pair);
                question.compete.insert(pair);
            }
            "apart" => {
                let pair = sorted(pair()?);
                question.compete.remove(&pair);
                question.apart.insert(pair);
            }
            "help" => {
                question.benefit.insert(pair()?, amount(first("value"))?);
            }
            "why" => question.why = Some(pair()?),
            "leave" => {
                question.absent.insert(one(first("a"))?);
            }
            "join" => question.newcomers.push(first("name").trim().to_owned()),
            _ => return Err("The address names an unknown button.".into()),
        }
        question.is_bearable(count)?;
        Ok((question, true))
    }

    /// Is it no more than can be answered?
    fn is_bearable(&self, count: usize) -> Result<(), Nonsense> {
        let changes =
            self.absent.len() + self.compete.len() + self.apart.len() + self.benefit.len();
        if count > MOST_PARTICIPANTS {
            Err(format!(
                "What-if questions are limited to {MOST_PARTICIPANTS} participants; `fedcompetitors select` takes more."
            ))
        } else if changes > MOST_CHANGES || self.newcomers.len() > MOST_NEWCOMERS {
            Err(format!(
                "A question can have up to {MOST_CHANGES} changes and {MOST_NEWCOMERS} newcomers."
            ))
        } else {
            Ok(())
        }
    }

    /// The fields of the address, but for policy, objective and what was last asked about.
    fn fields(&self) -> Vec<(String, String)> {
        let pair = |pair: &(usize, usize)| format!("{}-{}", pair.0 + 1, pair.1 + 1);
        let mut fields = Vec::new();
        let mut add = |key: &str, value: String| fields.push((key.to_owned(), value));
        self.newcomers.iter().for_each(|name| add("new", name.clone()));
        self.absent.iter().for_each(|one| add("without", (one + 1).to_string()));
        self.compete.iter().for_each(|two| add("compete", pair(two)));
        self.apart.iter().for_each(|two| add("apart", pair(two)));
        self.benefit.iter().for_each(|(two, value)| add("help", format!("{}:{value}", pair(two))));
        fields
    }

    /// The address, relative to the run's page.
    fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("policy", self.policy.name());
        query.append_pair("objective", self.objective.name());
        query.extend_pairs(self.fields());
        if let Some((from, to)) = self.why {
            query.append_pair("why", &format!("{}-{}", from + 1, to + 1));
        }
        format!("what-if?{}", query.finish())
    }

    /// What is changed, each with the question without it.
    fn changes(&self, participants: &Participants) -> Vec<Changed> {
        let name = |one: usize| shown(participants.name(one)).into_owned();
        let mut changes = Vec::new();
        let mut add = |what: String, change: &dyn Fn(&mut Self)| {
            let mut other = self.clone();
            change(&mut other);
            changes.push(Changed { what, undo: other.address() });
        };
        let known = participants.len() - self.newcomers.len();
        for at in 0..self.newcomers.len() {
            add(format!("{} joins.", name(known + at)), &|other| other.forget(known, at));
        }
        for &one in &self.absent {
            add(format!("{} does not take part.", name(one)), &|other| {
                other.absent.remove(&one);
            });
        }
        for &(a, b) in &self.compete {
            add(format!("{} and {} compete.", name(a), name(b)), &|other| {
                other.compete.remove(&(a, b));
            });
        }
        for &(a, b) in &self.apart {
            add(format!("{} and {} do not compete.", name(a), name(b)), &|other| {
                other.apart.remove(&(a, b));
            });
        }
        for (&(from, to), &value) in &self.benefit {
            let what = format!("{} would help {} by {}.", name(from), name(to), number(value));
            add(what, &|other| {
                other.benefit.remove(&(from, to));
            });
        }
        changes
    }

    /// Takes back a newcomer, with all that was said of it; those after it move up.
    fn forget(&mut self, known: usize, at: usize) {
        let gone = known + at;
        self.newcomers.remove(at);
        let moved = |one: usize| match one {
            one if one == gone => None,
            one if one > gone => Some(one - 1),
            one => Some(one),
        };
        let pair = |(a, b): (usize, usize)| Some((moved(a)?, moved(b)?));
        self.absent = self.absent.iter().filter_map(|&one| moved(one)).collect();
        self.compete = self.compete.iter().filter_map(|&two| pair(two)).collect();
        self.apart = self.apart.iter().filter_map(|&two| pair(two)).collect();
        self.benefit =
            self.benefit.iter().filter_map(|(&two, &value)| Some((pair(two)?, value))).collect();
        self.why = self.why.and_then(pair);
    }
}

fn different(a: usize, b: usize) -> Result<(usize, usize), Nonsense> {
    if a == b { Err("Choose two different participants.".into()) } else { Ok((a, b)) }
}

fn sorted((a, b): (usize, usize)) -> (usize, usize) {
    (a.min(b), a.max(b))
}

fn amount(text: &str) -> Result<f64, Nonsense> {
    match text.trim().parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("A benefit is a number from 0 to 1000000000.".into()),
    }
}

/// The page for a question.
pub async fn what_if(
    State(server): State<Arc<Server>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(live) = server.runs.find(&name) else {
        return not_here();
    };
    let page = match live.now().await.page {
        Ok(page) => page,
        Err(why) => return unreadable(&why),
    };
    let query = query.unwrap_or_default();
    let nonsense = |problem: String| told(StatusCode::BAD_REQUEST, "Invalid question", &problem);
    match Question::read(
        &query,
        page.record.summary.participants.len(),
        usual_policy(&page.record.summary),
    ) {
        Err(problem) => nonsense(problem),
        // An address beside the one that was asked for: it begins where that one does.
        Ok((question, true)) => {
            (StatusCode::SEE_OTHER, [(header::LOCATION, question.address())]).into_response()
        }
        Ok((question, false)) => {
            at_work(&server, move || match answer(&page, &question) {
                Ok(asked) => html(what_if_page(&asked)),
                Err(error) => nonsense(format!("{error}.")),
            })
            .await
        }
    }
}

/// The run's own policy, so that what is there now is its plan. With many participants the best plan
/// takes longer than somebody who asks wants to wait.
fn usual_policy(summary: &Summary) -> Choice<dyn Policy> {
    let own = summary.own().and_then(|method| method.name.split('+').next());
    let own = own.and_then(|name| name.parse().ok());
    let is_answered = |own: &Choice<dyn Policy>| {
        own.rule() == Rule::Paths && summary.participants.len() <= AT_ONCE
    };
    own.filter(is_answered).unwrap_or(Choice(&Greedy))
}

/// What comes of a question.
fn answer<'a>(page: &'a Page, question: &Question) -> Result<WhatIf<'a>, GraphError> {
    let record = &page.record;
    let known = record.summary.participants.iter().map(|one| one.name.as_str());
    let participants =
        Participants::new(known.chain(question.newcomers.iter().map(String::as_str)))?;
    let mut competing = CompetingGraph::builder(&participants);
    record.reports.iter().try_for_each(|&(a, b)| competing.report(a, b))?;
    let competing = competing.build();
    let graph = |edges: &BTreeMap<(usize, usize), f64>| {
        let mut graph = BenefitGraph::builder(&participants);
        let there = edges.iter().filter(|(_, value)| **value > 0.0);
        for (&(from, to), &value) in there {
            graph.add(from, to, value)?;
        }
        Ok::<_, GraphError>(graph.build())
    };
    let mut edges: BTreeMap<(usize, usize), f64> =
        record.benefit.iter().map(|&(from, to, value)| ((from, to), value)).collect();
    let benefit = graph(&edges)?;
    edges.extend(&question.benefit);
    let absent: Vec<usize> = question.absent.iter().copied().collect();
    let benefit_then = graph(&edges)?.without(&absent);
    let compete: Vec<(usize, usize)> = question.compete.iter().copied().collect();
    let mut competing_then = competing.declared(&compete)?;
    for &(a, b) in &question.apart {
        competing_then = competing_then.reconciled(a, b);
    }
    // Objectives that need more are refused with the address.
    let objective = question.objective.with(None).unwrap_or(Objective::Welfare);
    let plan = |setting: &Setting<'_>| {
        let deadline = Instant::now().checked_add(Duration::from_secs_f64(SECONDS));
        let effort = Effort { deadline, ..Effort::default() };
        question.policy.plan(setting, objective, effort)
    };
    let now = plan(&Setting::new(&competing, &benefit));
    let then = plan(&Setting::new(&competing_then, &benefit_then).without(&absent));
    let worth = |plan: &Plan| Worth { welfare: plan.welfare, upper_bound: plan.upper_bound };
    let effects = effects((&benefit, &now.usage), (&benefit_then, &then.usage), &absent);
    let why = question.why.map(|(from, to)| {
        let (competing, usage, edge) = (&competing_then, &then.usage, (from, to));
        let found = Explanation::of(then.rule, competing, &benefit_then, usage, None, edge);
        found.answer(&competing_then, then.policy, &absent).1
    });
    let without_why = Question { why: None, ..question.clone() };
    let shown = changed(record, &competing_then, &benefit_then, &then.usage);
    let unused = shown.benefit.iter().filter(|edge| !then.usage.uses(edge.0, edge.1)).count();
    let refusals = refusals_by(then.rule, &competing_then, &benefit_then, &then.usage, None);
    let refused: Vec<Refused> = refusals
        .take(MOST_REASONS)
        .map(|one| Refused {
            helper: one.from,
            helped: one.to,
            reason: refusal_text(&competing_then, &one),
        })
        .collect();
    Ok(WhatIf {
        run: page,
        unexplained: unused - refused.len(),
        refused,
        then: shown,
        ask: format!("{}&why=", without_why.address()),
        policies: choices(question.policy, |policy| policy.rule() == Rule::Paths),
        objectives: choices(question.objective, |objective| objective.with(None).is_ok()),
        changes: question.changes(&participants),
        fields: question.fields(),
        pair: question.pair,
        answer: why,
        effects,
        now: worth(&now),
        worth: worth(&then),
        searched: question.policy.searches().then_some(SECONDS),
    })
}

/// All entries that are offered, and which one is chosen.
fn choices<T: Registry + ?Sized>(
    chosen: Choice<T>,
    offered: impl Fn(&T) -> bool,
) -> Vec<(String, bool)> {
    let offered = Choice::<T>::all().filter(|entry| offered(entry));
    offered.map(|entry| (entry.to_string(), entry == chosen)).collect()
}

/// The participants and graphs as they would be. Nothing else of the run is part of an answer.
fn changed(
    record: &Record,
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    usage: &UsageGraph,
) -> Record {
    let participants = competing.participants();
    let people = participants.names().map(|name| Participant {
        name: name.to_owned(),
        source: String::new(),
        samples: 0,
        has_few_of_a_class: false,
        competitors: Vec::new(),
    });
    let helpers = |to: usize| benefit.helpers(to).map(move |(from, value)| (from, to, value));
    let mut edges: Vec<(usize, usize, f64)> = (0..participants.len()).flat_map(helpers).collect();
    edges.sort_by_key(|edge| (edge.0, edge.1));
    Record {
        summary: Summary { participants: people.collect(), ..Summary::default() },
        competing: competing.pairs().map(|(a, b)| (a, b, 0)).collect(),
        benefit: edges,
        usage: usage.edges().collect(),
        problems: record.problems.clone(),
        ..Record::default()
    }
}
