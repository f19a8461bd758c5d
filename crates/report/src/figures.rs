//! The figures of a run, with gains over Local.

use std::collections::BTreeMap;

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{
    Direction, Figure, Interval, Method, Participant, Role, Rule, Score, Scores, Session,
    StandardError, Summary, TestedRows,
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
    by_metric(&method.scores, &summary.metric.name)
}

fn by_metric<'a>(all: &'a [Scores], metric: &str) -> Option<&'a Scores> {
    all.iter().find(|scores| scores.metric == metric)
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

/// Whether something was delivered over an edge of the plan: not where a sum was withheld, or a source left
/// out of it. Until there is a model, everything may still be delivered.
pub fn was_delivered(summary: &Summary, from: usize, to: usize) -> bool {
    let model = summary.own().and_then(|own| own.models.get(to));
    model.is_none_or(|model| model.provenance.contains(&from))
}

/// How figures are measured: on which rows.
pub fn evaluation(summary: &Summary) -> Option<String> {
    let parts = |session: &Session| match *session {
        Session::Fold { repeat, fold } => Some((repeat, fold)),
        Session::Final => None,
    };
    let repeats = summary.sessions.iter().filter_map(parts).map(|part| part.0).max()?;
    let folds = summary.sessions.iter().filter_map(parts).map(|part| part.1).max()?;
    let times = if repeats > 1 { format!("{repeats} repeats of ") } else { String::new() };
    Some(match (&summary.tested_rows, folds) {
        (TestedRows::Later(column), 1) => {
            format!("the latest rows by {}, held out", shown(column))
        }
        (TestedRows::Later(column), _) => format!(
            "{folds} forward folds by {}: models are tested on later rows than they were trained on",
            shown(column)
        ),
        (rows, 1) => {
            let times = if repeats > 1 { format!(", {repeats} times") } else { String::new() };
            format!("rows that were held out{times}{}", together(rows))
        }
        (rows, _) => format!("{times}{folds}-fold cross-validation{}", together(rows)),
    })
}

fn together(rows: &TestedRows) -> String {
    match rows {
        TestedRows::Groups(column) => format!(", rows of the same {} together", shown(column)),
        TestedRows::Single | TestedRows::Later(_) => String::new(),
    }
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
        None => String::new(),
        Some(_) => match &summary.tested_rows {
            TestedRows::Groups(column) => {
                format!(",\nwith 95 % bootstrap intervals by {}", shown(column))
            }
            TestedRows::Single | TestedRows::Later(_) => ",\nwith 95 % bootstrap intervals".into(),
        },
    };
    format!("{metric} on {on} ({better} is better){intervals}.")
}

/// One row for each method, and one for a constant prediction: its name, figure, gain, participants
/// better and worse off, gradients, and what moved.
pub fn comparison(summary: &Summary) -> Vec<Vec<String>> {
    let constant = by_metric(&summary.constant, &summary.metric.name);
    let constant = constant.map(|scores| {
        let (value, gain) = (shown_figure(scores.mean.value), shown_gain(scores.mean.gain));
        let nothing = || "–".to_owned();
        vec!["constant prediction".into(), value, gain, nothing(), nothing(), nothing(), nothing()]
    });
    let methods = summary.methods.iter().map(|method| compared(summary, method));
    methods.chain(constant).collect()
}

/// The participants for whom figures are defined, where the mean leaves out others.
fn averaged(scores: &Scores) -> Option<usize> {
    let all = &scores.participants;
    let defined = all.iter().filter(|score| score.value.value().is_some()).count();
    (scores.mean.value.value().is_some() && defined < all.len()).then_some(defined)
}

/// For whom the reported metric is not defined, so that means leave them out.
pub fn left_out_text(summary: &Summary) -> Option<String> {
    let mut scores = summary.methods.iter().filter_map(|method| scores(summary, method));
    let (scores, defined) = scores.find_map(|scores| Some((scores, averaged(scores)?)))?;
    let left_out = summary.participants.iter().zip(&scores.participants);
    let left_out = left_out.filter(|(_, score)| score.value.value().is_none());
    let names: Vec<_> = left_out.map(|(one, _)| shown(&one.name)).collect();
    Some(format!(
        "Means of {} are over {defined} of {} participants; it is not defined for {}.",
        scores.metric,
        summary.participants.len(),
        names.join(", ")
    ))
}

/// The columns of [`further`] after the first: the methods, and a constant prediction.
pub fn further_columns(summary: &Summary) -> Vec<String> {
    let methods = summary.methods.iter().map(|method| method.name.clone());
    let constant = (!summary.constant.is_empty()).then(|| "constant prediction".to_owned());
    methods.chain(constant).collect()
}

/// One row for each further metric: its name, with the number of participants where the mean is not over
/// all, and the mean over the participants with each method and with a constant prediction.
pub fn further(summary: &Summary) -> Vec<Vec<String>> {
    let own = summary.own().into_iter().flat_map(|own| &own.scores);
    let others = own.map(|scores| &scores.metric).filter(|metric| **metric != summary.metric.name);
    let row = |metric: &String| {
        let methods = summary.methods.iter().map(|method| &method.scores);
        let constant = Some(&summary.constant).filter(|scores| !scores.is_empty());
        let all: Vec<Option<&Scores>> =
            methods.chain(constant).map(|scores| by_metric(scores, metric)).collect();
        let mut row = vec![match all.iter().flatten().find_map(|scores| averaged(scores)) {
            None => metric.clone(),
            Some(count) => format!("{metric} ({count} of {})", summary.participants.len()),
        }];
        let mean = |scores: &Scores| scores.mean.value;
        row.extend(all.iter().map(|scores| shown_value(scores.map(mean).unwrap_or_default())));
        row
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

/// What a constant prediction is called among standard errors.
const CONSTANT: &str = "constant";

/// Sentences that name the method with the best mean of those that keep the run's rule, those that are as good,
/// and a constant prediction where it is no worse.
pub fn best_text(summary: &Summary) -> Option<String> {
    let own = summary.own()?;
    let metric = &summary.metric.name;
    let mean = |method: &Method| scores(summary, method)?.mean.value.value();
    let kept: Vec<&Method> =
        summary.methods.iter().filter(|method| keeps(method, own.rule)).collect();
    if kept.len() < 2 {
        return None;
    }
    let means = kept.iter().filter_map(|method| Some((&method.name[..], mean(method)?)));
    let means: Vec<(&str, f64)> = means.collect();
    // Of equal ones the first.
    let best = means
        .iter()
        .copied()
        .reduce(|best, next| if ahead(summary, best.1, next.1) >= 0.0 { best } else { next })?;
    let others = means.iter().filter(|one| one.0 != best.0);
    let (equal, rest): (Vec<&(&str, f64)>, Vec<_>) =
        others.partition(|one| is_equal(one.1, best.1));
    let close: Vec<_> = rest.into_iter().filter(|one| is_close(summary, best, **one)).collect();
    let mut sentences = vec![format!(
        "Best method that keeps the rule {}: {}, {metric} {:.3}.",
        own.rule, best.0, best.1
    )];
    if !equal.is_empty() {
        let names: Vec<&str> = equal.iter().map(|one| one.0).collect();
        sentences.push(format!("Equal to it: {}.", names.join(", ")));
    }
    if !close.is_empty() {
        let names: Vec<String> =
            close.iter().map(|one| format!("{} {:.3}", one.0, one.1)).collect();
        let names = names.join(", ");
        sentences.push(format!("Within one standard error of the difference: {names}."));
    }
    let is_named = [vec![&best], equal, close].concat().iter().any(|one| one.0 == own.name);
    if !is_named {
        let behind = mean(own).map_or(String::new(), |value| format!(", {value:.3}"));
        sentences.push(format!("The method of this run is {}{behind}.", own.name));
    }
    sentences.extend(constant_text(summary, best));
    Some(sentences.join(" "))
}

/// A sentence about a constant prediction where it is no worse than the best method.
fn constant_text(summary: &Summary, best: (&str, f64)) -> Option<String> {
    let value = by_metric(&summary.constant, &summary.metric.name)?.mean.value.value()?;
    let is_as_good = is_equal(value, best.1) || is_close(summary, best, (CONSTANT, value));
    if is_as_good {
        Some(format!("A constant prediction is as good: {value:.3}."))
    } else {
        let is_better = ahead(summary, best.1, value) < 0.0;
        is_better.then(|| format!("A constant prediction is better: {value:.3}."))
    }
}

/// Whether two figures are the same to the last bit.
fn is_equal(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits()
}

/// By how much one figure is better than another.
fn ahead(summary: &Summary, one: f64, other: f64) -> f64 {
    match summary.metric.direction {
        Direction::Higher => one - other,
        Direction::Lower => other - one,
    }
}

/// Whether the means of two methods, by name, are within one standard error of their difference.
fn is_close(summary: &Summary, one: (&str, f64), other: (&str, f64)) -> bool {
    let of_both = |known: &&StandardError| {
        let [a, b] = known.methods.each_ref().map(String::as_str);
        [(a, b), (b, a)].contains(&(one.0, other.0))
    };
    let known = summary.standard_errors.iter().find(of_both);
    known.is_some_and(|known| (one.1 - other.1).abs() <= known.error)
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
