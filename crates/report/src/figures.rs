//! The figures of a run, with gains over Local.

use std::{collections::BTreeMap, iter};

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{
    Direction, Figure, Interval, Method, Participant, Role, Rule, Score, Scores, Session, Summary,
};

/// Within this a gain counts as unclear where its interval is not known.
pub const LITTLE: f64 = 0.005;

/// A figure, with its interval where that is known.
pub fn shown_figure(found: Figure) -> String {
    match found {
        Figure::Undefined => "–".into(),
        Figure::Value(value) => format!("{value:.3}"),
        Figure::Interval(Interval { value, low, high }) => {
            format!("{value:.3} ({low:.3} to {high:.3})")
        }
    }
}

/// A figure without its interval.
pub fn shown_value(found: Figure) -> String {
    found.value().map_or("–".into(), |value| format!("{value:.3}"))
}

/// A gain, with its interval where that is known.
pub fn shown_gain(found: Figure) -> String {
    match found {
        Figure::Undefined => "–".into(),
        Figure::Value(value) => signed(value),
        Figure::Interval(Interval { value, low, high }) => {
            format!("{} ({} to {})", signed(value), signed(low), signed(high))
        }
    }
}

/// A gain with its sign; what rounds to zero has a plus.
fn signed(gain: f64) -> String {
    let gain = if gain.abs() < 0.0005 { 0.0 } else { gain };
    format!("{gain:+.3}")
}

/// How a gain is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is above 0.
    Better,
    /// The whole interval is below 0.
    Worse,
    /// The interval contains 0.
    Unclear,
}

impl Verdict {
    /// The verdict on a gain, if it is defined. Without an interval a gain within ±[`LITTLE`] counts as
    /// unclear.
    pub fn of(gain: Figure) -> Option<Self> {
        let value = gain.value()?;
        let ends = gain.interval().map(|found| (found.low, found.high));
        let (low, high) = ends.unwrap_or((value - LITTLE, value + LITTLE));
        Some(if low > 0.0 {
            Self::Better
        } else if high < 0.0 {
            Self::Worse
        } else {
            Self::Unclear
        })
    }

    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better off",
            Self::Worse => "worse off",
            Self::Unclear => "no clear difference",
        }
    }
}

/// The method that all are compared with, where the run includes it.
pub fn local(summary: &Summary) -> Option<&Method> {
    summary.methods.iter().find(|method| method.is_local)
}

/// A method's figures by the reported metric.
pub fn scores<'a>(summary: &Summary, method: &'a Method) -> Option<&'a Scores> {
    method.scores.iter().find(|scores| scores.metric == summary.metric.name)
}

/// A participant's figure and gain with a method.
pub fn score(summary: &Summary, method: &Method, participant: usize) -> Score {
    scores(summary, method).map(|scores| scores.participants[participant]).unwrap_or_default()
}

/// The gain of a participant over Local with a method; undefined for Local itself.
pub fn gain(summary: &Summary, method: &Method, participant: usize) -> Figure {
    if method.is_local {
        return Figure::Undefined;
    }
    score(summary, method, participant).gain
}

/// The participants from which a participant's model has learned, itself included, with their weights.
pub fn weights(method: &Method, participant: usize) -> BTreeMap<usize, f32> {
    let parts = method.models.get(participant).map(|model| &model.parts[..]).unwrap_or_default();
    parts.iter().copied().collect()
}

/// The others from which a participant's model has learned with the federation's own method, the
/// largest weight first.
pub fn collaborators(summary: &Summary, participant: usize) -> Vec<(usize, f32)> {
    let weights = summary.own().map(|own| weights(own, participant)).unwrap_or_default();
    let mut others: Vec<_> = weights.into_iter().filter(|one| one.0 != participant).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others
}

/// Whether others' data was delivered to a participant, whether its model kept it or not.
pub fn was_offered(summary: &Summary, participant: usize) -> bool {
    let model = summary.own().and_then(|own| own.models.get(participant));
    model.is_some_and(|model| model.provenance.iter().any(|&who| who != participant))
}

/// How figures are measured: on which rows.
pub fn evaluation(summary: &Summary) -> Option<String> {
    let parts = |session: &Session| match *session {
        Session::Fold { repeat, fold } => Some((repeat, fold)),
        Session::Final => None,
    };
    let repeats = summary.sessions.iter().filter_map(parts).map(|part| part.0).max()?;
    let folds = summary.sessions.iter().filter_map(parts).map(|part| part.1).max()?;
    Some(match (repeats, folds) {
        (1, 1) => "rows that were held out".into(),
        (_, 1) => format!("rows that were held out, {repeats} times"),
        (1, _) => format!("{folds}-fold cross-validation"),
        _ => format!("{repeats} repeats of {folds}-fold cross-validation"),
    })
}

/// The meaning of the figures.
pub fn legend(summary: &Summary) -> String {
    let (metric, better) = (&summary.metric.name, summary.metric.direction.name());
    let on = match evaluation(summary) {
        None => "each participant's own test data".into(),
        Some(rows) => format!("each participant's own rows, {rows}"),
    };
    let has_intervals = summary.own().and_then(|own| scores(summary, own));
    let intervals = match has_intervals.and_then(|scores| scores.mean.value.interval()) {
        None => "",
        Some(_) => ",\nwith 95 % bootstrap intervals",
    };
    format!("{metric} on {on} ({better} is better){intervals}.")
}

/// One row for each method, and one for a constant prediction: its name, figure, gain, participants
/// better and worse off, gradients, and what moved.
pub fn comparison(summary: &Summary) -> Vec<Vec<String>> {
    let constant = summary.constant.iter().find(|scores| scores.metric == summary.metric.name);
    let constant = constant.map(|scores| {
        let (value, gain) = (shown_figure(scores.mean.value), shown_gain(scores.mean.gain));
        let nothing = || "–".to_owned();
        vec!["constant prediction".into(), value, gain, nothing(), nothing(), nothing(), nothing()]
    });
    let methods = summary.methods.iter().map(|method| compared(summary, method));
    methods.chain(constant).collect()
}

/// One row for each further metric: its name, and the mean over the participants with each method.
pub fn further(summary: &Summary) -> Vec<Vec<String>> {
    let own = summary.own().into_iter().flat_map(|own| &own.scores);
    let others = own.map(|scores| &scores.metric).filter(|metric| **metric != summary.metric.name);
    let row = |metric: &String| {
        let value = |method: &Method| {
            let scores = method.scores.iter().find(|scores| scores.metric == *metric);
            shown_value(scores.map(|scores| scores.mean.value).unwrap_or_default())
        };
        let methods = summary.methods.iter().map(value);
        iter::once(metric.clone()).chain(methods).collect()
    };
    others.map(row).collect()
}

/// Whether a method keeps a rule.
fn keeps(method: &Method, rule: Rule) -> bool {
    method.role != Role::Reference && method.rule.implies(rule)
}

/// Whether a method is shown for comparison because it keeps `messages` only, in a run under `paths`.
pub fn is_of_other_rule(summary: &Summary, method: &Method) -> bool {
    let is_weaker = |own: &Method| !method.rule.implies(own.rule);
    method.role == Role::Reference && summary.own().is_some_and(is_weaker)
}

/// A sentence that names the method with the best mean of those that keep the run's rule.
pub fn best_text(summary: &Summary) -> Option<String> {
    let own = summary.own()?;
    let mean = |method: &Method| scores(summary, method)?.mean.value.value();
    let sign = match summary.metric.direction {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
    };
    let kept: Vec<&Method> =
        summary.methods.iter().filter(|method| keeps(method, own.rule)).collect();
    let best = kept.iter().copied().filter(|method| mean(method).is_some());
    let best = best.max_by(|a, b| {
        let [a, b] = [a, b].map(|method| sign * mean(method).unwrap_or(f64::NAN));
        // Of equal ones the first.
        a.total_cmp(&b).then(std::cmp::Ordering::Greater)
    })?;
    if kept.len() < 2 {
        return None;
    }
    let (found, metric) = (mean(best)?, &summary.metric.name);
    let start =
        format!("Best method that keeps the rule {}: {}, {metric} {found:.3}", own.rule, best.name);
    Some(if best.role == Role::Own {
        format!("{start}.")
    } else {
        let behind = mean(own).map_or(String::new(), |value| format!(", {value:.3}"));
        format!("{start}. The method of this run is {}{behind}.", own.name)
    })
}

fn compared(summary: &Summary, method: &Method) -> Vec<String> {
    let mean = scores(summary, method).map(|scores| scores.mean).unwrap_or_default();
    let gains = (0..summary.participants.len()).map(|at| gain(summary, method, at));
    let verdicts: Vec<Verdict> = gains.filter_map(Verdict::of).collect();
    let count = |wanted| {
        if verdicts.is_empty() {
            return "–".to_owned();
        }
        verdicts.iter().filter(|verdict| **verdict == wanted).count().to_string()
    };
    let name = match method.role {
        Role::Own | Role::Baseline => method.name.clone(),
        Role::Reference if is_of_other_rule(summary, method) => {
            format!("{} (rule {})", method.name, method.rule)
        }
        Role::Reference => format!("{} (reference)", method.name),
    };
    vec![
        name,
        shown_figure(mean.value),
        if method.is_local { "–".into() } else { shown_gain(mean.gain) },
        count(Verdict::Better),
        count(Verdict::Worse),
        method.gradients.to_string(),
        size(method.moved.bytes),
    ]
}

/// One row for each participant: its name, and its figure with each method.
pub fn everybody(summary: &Summary) -> Vec<Vec<String>> {
    let row = |(at, one): (usize, &Participant)| {
        let mut row = vec![shown(&one.name).into_owned()];
        let value = |method| shown_value(score(summary, method, at).value);
        row.extend(summary.methods.iter().map(value));
        row
    };
    summary.participants.iter().enumerate().map(row).collect()
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        1..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
