//! The results of a run, for a terminal and as a page of Markdown.

use std::{collections::BTreeMap, fmt::Write};

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Method, Record, Role, Rule, Summary};

use crate::{
    figures::{
        best_text, collaborators, comparison, everybody, further, further_columns, gain,
        is_of_other_rule, left_out_text, legend, local, score, shown_gain, shown_value,
        was_offered,
    },
    plural,
    status::{disclosure_lines, flow_lines, incident_lines, plan_lines},
    table::{Table, wrap},
    worth,
};

/// Collaborators that are named in a terminal before the rest is only counted.
const NAMED: usize = 3;

/// Columns that a list of names may take.
const LIST_WIDTH: usize = 28;

/// The results for a terminal.
pub fn run_text(summary: &Summary) -> String {
    let mut text = format!("{}\n{}\n\n", title(summary), legend(summary));
    text.push_str(&participants_table(summary));
    text.push('\n');
    let metric = format!(">{}", summary.metric.name);
    let mut table =
        Table::new(&["method", &metric, ">gain", ">better", ">worse", ">gradients", ">moved"]);
    comparison(summary).into_iter().for_each(|row| table.row(row));
    text.push_str(&table.render());
    notes(summary).iter().for_each(|note| {
        let _ = writeln!(text, "{note}");
    });
    for (title, lines) in [
        ("Plans", plan_lines(summary)),
        ("Flows", flow_lines(summary)),
        ("Summaries", disclosure_lines(summary)),
        ("Incidents", incident_lines(summary)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}:");
            lines.iter().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
    }
    let refused = summary.own().map_or(0, |own| own.refused.len());
    if refused > 0 {
        let _ = writeln!(
            text,
            "\n{} refused because of competition; the report says why.",
            plural(refused, "useful edge was", "useful edges were"),
        );
    }
    text
}

/// The results as a page of Markdown.
pub fn run_markdown(record: &Record) -> String {
    let summary = &record.summary;
    let (name, metric) = (shown(&summary.name), &summary.metric.name);
    let mut text = format!("# {name}\n\n{}\n\n", title(summary));
    if let Some(Method { rule, .. }) = summary.own() {
        let _ = writeln!(text, "The rule `{rule}`: {}\n", rule.help());
    }
    let _ = writeln!(text, "{}\n", legend(summary));
    let rows: Vec<Vec<String>> = (0..summary.participants.len())
        .map(|at| row(summary, at, learned_from(summary, at, usize::MAX).join(", ")))
        .collect();
    let headings =
        ["participant", "samples", "learned from (weight)", "local", own_name(summary), "gain"];
    table(&mut text, &headings, &rows);
    text.push_str("## Methods\n\n");
    let headings =
        ["method", metric, "gain over Local", "better off", "worse off", "gradients", "moved"];
    table(&mut text, &headings, &comparison(summary));
    let _ = writeln!(
        text,
        "Better and worse off: participants whose whole interval of the gain is above or below 0. Gradients: for each participant, estimates included.\n"
    );
    notes(summary).iter().for_each(|note| {
        let _ = writeln!(text, "{note}\n");
    });
    let further = further(summary);
    if !further.is_empty() {
        let columns = further_columns(summary);
        let mut headings = vec!["mean over the participants"];
        headings.extend(columns.iter().map(String::as_str));
        table(&mut text, &headings, &further);
    }
    text.push_str("## Every participant with every method\n\n");
    let mut headings = vec!["participant"];
    headings.extend(summary.methods.iter().map(|method| method.name.as_str()));
    table(&mut text, &headings, &everybody(summary));
    text.push_str("## Who competes with whom\n\n");
    for one in summary.participants.iter().filter(|one| !one.competitors.is_empty()) {
        let names: Vec<_> = one.competitors.iter().map(|name| shown(name)).collect();
        let _ = writeln!(text, "- {}: {}", shown(&one.name), names.join(", "));
    }
    let refused = summary.own().into_iter().flat_map(|own| &own.refused);
    for (title, lines) in [
        ("Who would help whom", helper_lines(record)),
        ("Quality of the plans", plan_lines(summary)),
        ("Flows outside the ledger", flow_lines(summary)),
        ("What summaries reveal", disclosure_lines(summary)),
        ("What was refused, and why", refused.map(|one| format!("{}.", one.reason)).collect()),
        ("Incidents", incident_lines(summary)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n## {title}\n");
            lines.iter().for_each(|line| {
                let _ = writeln!(text, "- {line}");
            });
        }
    }
    text
}

/// Helpers of one participant that the page names.
const MOST_HELPERS: usize = 25;

/// For each participant what others' data is worth to it by the estimate, the most useful first.
fn helper_lines(record: &Record) -> Vec<String> {
    let mut helpers: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for &(from, to, value) in &record.benefit {
        helpers.entry(to).or_default().push((from, value));
    }
    let name = |who: usize| shown(record.summary.name_of(who));
    let line = |(to, mut all): (usize, Vec<(usize, f64)>)| {
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let helper = |&(from, value): &(usize, f64)| {
            format!("{} ({})", name(from), worth(record, (from, to), value))
        };
        let mut named: Vec<String> = all.iter().take(MOST_HELPERS).map(helper).collect();
        if all.len() > MOST_HELPERS {
            named.push(format!("and {} more who help less", all.len() - MOST_HELPERS));
        }
        format!("{}: {}", name(to), named.join(", "))
    };
    helpers.into_iter().map(line).collect()
}

fn title(summary: &Summary) -> String {
    let pairs: usize = summary.participants.iter().map(|one| one.competitors.len()).sum();
    // `paths` is the rule unless another is named.
    let rule = match summary.own().map(|own| own.rule) {
        Some(rule @ Rule::Messages) => format!(", rule {rule}"),
        _ => String::new(),
    };
    format!(
        "{}: {}, {}{rule}; {}.",
        shown(&summary.name),
        plural(summary.participants.len(), "participant", "participants"),
        plural(pairs / 2, "competing pair", "competing pairs"),
        summary.status,
    )
}

/// How the guarantees of the two rules differ.
const OTHER_RULE: &str = "A method of the other rule gives another guarantee: under paths no participant's data reaches a competitor, directly or through others; under messages no participant receives a message that carries a competitor's data, but it may help a friend of its competitor.";

/// What to know in reading the comparison.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes: Vec<String> =
        best_text(summary).into_iter().chain(left_out_text(summary)).collect();
    let references = summary.methods.iter().filter(|method| method.role == Role::Reference);
    let (others, of_rule): (Vec<&Method>, Vec<&Method>) =
        references.partition(|method| is_of_other_rule(summary, method));
    if !of_rule.is_empty() {
        notes.push("A reference breaks the rule and is shown only for comparison.".into());
    }
    if !others.is_empty() {
        notes.push(OTHER_RULE.into());
    }
    let few: Vec<_> = summary
        .participants
        .iter()
        .filter(|one| one.has_few_of_a_class)
        .map(|one| shown(&one.name))
        .collect();
    if !few.is_empty() {
        let who = few.join(", ");
        notes.push(format!("Fewer than 10 rows of a class, so figures say little: {who}."));
    }
    notes
}

fn own_name(summary: &Summary) -> &str {
    summary.own().map_or("", |method| &method.name)
}

fn participants_table(summary: &Summary) -> String {
    let own = format!(">{}", own_name(summary));
    let mut table =
        Table::new(&["participant", ">samples", "learned from (weight)", ">local", &own, ">gain"]);
    for at in 0..summary.participants.len() {
        let mut lines = wrap(&learned_from(summary, at, NAMED), LIST_WIDTH).into_iter();
        let first = row(summary, at, lines.next().unwrap_or_default());
        let columns = first.len();
        table.row(first);
        for line in lines {
            let mut more = vec![String::new(); columns];
            more[2] = line;
            table.row(more);
        }
    }
    table.render()
}

/// A participant's name, samples, collaborators, figures alone and with others, and gain.
fn row(summary: &Summary, at: usize, learned_from: String) -> Vec<String> {
    let (one, own) = (&summary.participants[at], summary.own());
    let figure = |method: Option<&Method>| {
        method.map_or("–".into(), |method| shown_value(score(summary, method, at).value))
    };
    vec![
        shown(&one.name).into_owned(),
        one.samples.to_string(),
        learned_from,
        figure(local(summary)),
        figure(own),
        own.map_or("–".into(), |own| shown_gain(gain(summary, own, at))),
    ]
}

/// The participants from which one has learned, the largest weight first: up to `named` by name,
/// the rest counted.
fn learned_from(summary: &Summary, at: usize, named: usize) -> Vec<String> {
    let others = collaborators(summary, at);
    // "and 1 others" would take as much room as the name.
    let named = if others.len() > named.saturating_add(1) { named } else { others.len() };
    let rest = others.len() - named;
    let line =
        |&(who, weight): &(usize, f32)| format!("{} {weight:.2}", shown(summary.name_of(who)));
    let mut lines: Vec<String> = others[..named].iter().map(line).collect();
    if rest > 0 {
        lines.push(format!("and {rest} others"));
    }
    if lines.is_empty() {
        let kept_own = was_offered(summary, at);
        lines.push(if kept_own { "nobody (kept own model)" } else { "nobody" }.into());
    }
    lines
}

fn table(text: &mut String, headings: &[&str], rows: &[Vec<String>]) {
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for cell in cells {
            text.extend(["| ", &cell.replace('|', "\\|"), " "]);
        }
        text.push_str("|\n");
    };
    line(&mut headings.iter().copied());
    line(&mut headings.iter().map(|_| "---"));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text.push('\n');
}
