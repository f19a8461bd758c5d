//! The state of a run in sentences: its status, its plans, what flowed, what went wrong.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{
    Disclosure, Forecast, IncidentKind, IncidentLine, Method, Role, Rule, Session, Status, Stop,
    Summary, Unfinished,
};

use crate::{number, plan::unproven_text, plural};

/// The status of a run in words: one that is not at its end and that no process works on is
/// interrupted.
pub fn status_name(status: Status, is_at_work: bool) -> &'static str {
    if status == Status::Running && !is_at_work { "interrupted" } else { status.name() }
}

/// The state of a run, line by line. `folder` is the run directory as a word for a command line.
pub fn status_text(summary: &Summary, is_at_work: bool, folder: &str) -> String {
    let done: usize = summary.methods.iter().map(|method| method.done.len()).sum();
    let seconds: f64 = summary.methods.iter().map(|method| method.seconds).sum();
    let mut lines = vec![format!(
        "{}: {}; {} done, {seconds:.1} seconds so far.",
        shown(&summary.name),
        status_name(summary.status, is_at_work),
        plural(done, "training", "trainings"),
    )];
    if let Some(Unfinished { method, session, done, rounds }) = &summary.unfinished {
        lines.push(format!(
            "In progress: {method}, {session}: {done} of {rounds} rounds are saved."
        ));
    }
    if summary.status == Status::Running && !is_at_work {
        lines.push(format!("Resume with: fedcompetitors run FILE --out {folder} --resume"));
    }
    lines.extend(summary.stops.iter().map(|Stop { session, method, message, .. }| {
        format!("Stopped: {method}, {session}: {}.", shown(message))
    }));
    lines.extend(plan_lines(summary));
    lines.extend(incident_lines(summary));
    lines.join("\n") + "\n"
}

/// The forecast for the run's own method, and the quality of plans: what else they serve, and for
/// policies that search, how far from the best a plan may be.
pub(crate) fn plan_lines(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    let is_own = |method: &Method| method.role == Role::Own;
    for method in summary.methods.iter().filter(|method| method.searches || is_own(method)) {
        let plans = method.plans.iter().filter(|_| is_own(method));
        let forecasts = plans.filter_map(|(_, plan)| plan.forecast);
        lines.extend(
            forecasts.map(|found| format!("{}: {}.", method.name, forecast(method, found))),
        );
        let mut texts: Vec<(Session, usize, String)> = Vec::new();
        for (session, plan) in &method.plans {
            let quality = match &plan.note {
                // The plan served another aim than welfare, so the bound says nothing about it.
                Some(note) if *session == Session::Final => Some(shown(note).into_owned()),
                None if method.searches => unproven_text(plan.welfare, plan.upper_bound),
                Some(_) | None => None,
            };
            match quality.map(|text| (texts.iter().position(|one| one.2 == text), text)) {
                Some((Some(at), _)) => texts[at].1 += 1,
                Some((None, text)) => texts.push((*session, 1, text)),
                None => {}
            }
        }
        lines.extend(texts.into_iter().map(|(session, count, text)| match count {
            1 => format!("{}, {session}: {text}.", method.name),
            _ => format!("{}, {session} and {} more: {text}.", method.name, count - 1),
        }));
    }
    lines
}

/// What the estimate predicts under both rules.
fn forecast(method: &Method, found: Forecast) -> String {
    let other = match method.rule {
        Rule::Paths => Rule::Messages,
        Rule::Messages => Rule::Paths,
    };
    let Forecast { received, by_other_rule, are_rows } = found;
    if are_rows {
        format!(
            "by the estimate, others' data is worth {received:.0} rows to a participant on average; under the rule {other} it would be worth {by_other_rule:.0}"
        )
    } else {
        format!(
            "by the estimate, a participant receives a benefit of {} on average; under the rule {other} it would receive {}",
            number(received),
            number(by_other_rule)
        )
    }
}

/// Information that joins competitors outside the ledger. References have none: the tables mark
/// them as breaking the rule.
pub(crate) fn flow_lines(summary: &Summary) -> Vec<String> {
    let name = |who: usize| summary.name_of(who);
    let methods = summary.methods.iter().filter(|method| method.role != Role::Reference);
    let flows = methods.flat_map(|method| method.flows.iter().map(move |flow| (method, flow)));
    flows
        .filter(|(_, flow)| !flow.pairs.is_empty())
        .map(|(method, flow)| {
            let pairs = flow.pairs.iter().map(|&(a, b)| (name(a), name(b)));
            flow_text(&method.name, &flow.statement, pairs)
        })
        .collect()
}

/// A flow of a method that joins these competitors.
pub(crate) fn flow_text<'a>(
    method: &str,
    statement: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let pairs: Vec<String> = pairs.map(|(a, b)| format!("{} and {}", shown(a), shown(b))).collect();
    format!("{method}: {statement}; this connects competitors: {}.", pairs.join(", "))
}

/// What summaries of the federation's own method reveal or leave out.
pub(crate) fn disclosure_lines(summary: &Summary) -> Vec<String> {
    let name = |who: usize| shown(summary.name_of(who));
    let disclosures = summary.own().into_iter().flat_map(|own| &own.disclosures);
    let text = |disclosure: &Disclosure| match disclosure {
        Disclosure::LeftOut { participant, features } => {
            let names: Vec<_> = features
                .iter()
                .map(|&at| summary.features.get(at).map_or(at.to_string().into(), |one| shown(one)))
                .collect();
            format!(
                "The summary of {} leaves out {} in which too few rows differ: {}.",
                name(*participant),
                plural(names.len(), "feature", "features"),
                names.join(", ")
            )
        }
        Disclosure::Withheld { participant, source } => format!(
            "{} receives nothing: its only source is {}, whose summary would show few rows too closely. `single-source = true` in `[training.evidence]` allows it.",
            name(*participant),
            name(*source)
        ),
        Disclosure::SourcesLeftOut { participant, sources, is_empty } => {
            let names: Vec<_> = sources.iter().map(|&source| name(source)).collect();
            let (names, to) = (names.join(", "), name(*participant));
            let what = if *is_empty {
                format!("{to} receives nothing of its sources {names}")
            } else {
                format!("The sum that {to} receives has nothing of {names}")
            };
            format!(
                "{what}: each pair of coefficients needs two sources, and their summaries have too few in common. `single-source = true` in `[training.evidence]` allows it."
            )
        }
        Disclosure::SingleSource { participant, source } => format!(
            "{} receives the summary of {} alone, as the federation file allows.",
            name(*participant),
            name(*source)
        ),
    };
    disclosures.map(text).collect()
}

/// Missing participants and refused messages of all methods.
pub(crate) fn incident_lines(summary: &Summary) -> Vec<String> {
    let methods = summary.methods.iter();
    methods
        .flat_map(|method| method.incidents.iter().map(|line| incident(summary, method, line)))
        .collect()
}

fn incident(summary: &Summary, method: &Method, line: &IncidentLine) -> String {
    let name = shown(summary.name_of(line.participant));
    let rounds = if line.first == line.last {
        format!("in round {}", line.first)
    } else {
        format!("in rounds {} to {}", line.first, line.last)
    };
    let what = incident_kind(line.kind);
    format!("{name} {what} {rounds} ({}, {}).", method.name, line.session)
}

/// What a participant did in an incident of a kind.
pub(crate) fn incident_kind(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Missing => "was missing",
        IncidentKind::NotFinite => "sent NaN or infinite values (refused)",
        IncidentKind::WrongLength => "sent a wrong number of values (refused)",
        IncidentKind::TooLarge => "sent values that are far too large (refused)",
        IncidentKind::NotPositive => "sent a summary that no data has (refused)",
        IncidentKind::Unreadable => "sent a message that cannot be read (refused)",
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_record::{Moved, PlanFigures};

    use super::*;

    /// A method with a plan for the final session, which the bound does not prove.
    fn method(name: &str, role: Role, searches: bool) -> Method {
        let forecast = Some(Forecast { received: 20.0, by_other_rule: 30.0, are_rows: true });
        let plan = PlanFigures { welfare: 1.0, upper_bound: 2.0, note: None, forecast };
        Method {
            name: name.into(),
            role,
            rule: Rule::Paths,
            is_local: false,
            searches,
            policy: String::new(),
            trainer: String::new(),
            estimator: None,
            done: Vec::new(),
            scores: Vec::new(),
            models: Vec::new(),
            disclosures: Vec::new(),
            gradients: 0,
            plans: vec![(Session::Final, plan)],
            edges: 0,
            refused: Vec::new(),
            moved: Moved::default(),
            flows: Vec::new(),
            incidents: Vec::new(),
            seconds: 0.0,
        }
    }

    #[test]
    fn a_bound_where_a_policy_searches_and_a_forecast_for_the_own_method() {
        let lines = |methods: Vec<Method>| plan_lines(&Summary { methods, ..Summary::default() });
        let found = lines(vec![
            method("greedy+mixing", Role::Own, false),
            method("optimal+mixing", Role::Baseline, true),
            method("friends+mixing", Role::Baseline, false),
        ]);
        let expected = [
            "greedy+mixing: by the estimate, others' data is worth 20 rows to a participant on average; under the rule messages it would be worth 30.",
            "optimal+mixing, final: the plan is within 50.0 % of the best; the search ended early.",
        ];
        assert_eq!(found, expected);
        assert_eq!(lines(vec![method("optimal+mixing", Role::Own, true)]).len(), 2);
    }
}
