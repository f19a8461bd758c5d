//! What came out of a run, for a terminal and as a page of Markdown.

use std::fmt::Write;

use fedcompetitors_graphs::shown;

use crate::{
    plural,
    table::{Table, wrap},
};

/// What came out of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// What the federation is called.
    pub name: String,
    /// How the run stands.
    pub status: String,
    /// What is reported.
    pub metric: String,
    /// Is more of it better?
    pub more_is_better: bool,
    /// The participants.
    pub participants: Vec<RunParticipant>,
    /// The methods, the federation's own first.
    pub methods: Vec<RunMethod>,
    /// What everybody should know of what flows, in whole sentences.
    pub flows: Vec<String>,
    /// What there is to say of how good the plans are, in whole sentences.
    pub plans: Vec<String>,
    /// Who was missing or sent garbage, in whole sentences.
    pub incidents: Vec<String>,
    /// Edges that would have been useful and were refused, in whole sentences.
    pub refused: Vec<String>,
}

/// A participant of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunParticipant {
    /// Its name.
    pub name: String,
    /// How many samples it has.
    pub samples: usize,
    /// With whom it competes.
    pub competitors: Vec<String>,
    /// From whom its models have learned, itself included, with the part of each, on average
    /// over the seeds.
    pub learned_from: Vec<(String, f32)>,
    /// Was it handed anything of others, whether it took it or not?
    pub was_offered: bool,
}

impl RunParticipant {
    /// From whom its model has learned, the most first: so many by name, the rest counted.
    fn collaborators(&self, named: usize) -> Vec<String> {
        let others = self.learned_from.iter().filter(|(name, _)| *name != self.name);
        let mut others: Vec<&(String, f32)> = others.collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        // "and 1 others" would take as much room as the name.
        let named = if others.len() > named.saturating_add(1) { named } else { others.len() };
        let rest = others.len() - named;
        let mut lines: Vec<String> = others[..named]
            .iter()
            .map(|(name, part)| format!("{} {part:.2}", shown(name)))
            .collect();
        if rest > 0 {
            lines.push(format!("and {rest} others"));
        }
        if lines.is_empty() {
            lines.push(if self.was_offered { "nobody (kept own model)" } else { "nobody" }.into());
        }
        lines
    }
}

/// A method of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMethod {
    /// What it is called.
    pub name: String,
    /// For each seed the metric of each participant on its test data, where it is defined.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Gradients of each participant.
    pub gradients: u64,
    /// Bytes that moved, with one seed.
    pub bytes: u64,
    /// Does it break the rule, and stands here for reference only?
    pub is_reference: bool,
}

/// The name of the method that all are compared with.
pub(crate) const LOCAL: &str = "local";

/// Collaborators that are named in a terminal before the rest is only counted.
const NAMED: usize = 3;

/// Columns that a list of names may take.
const LIST_WIDTH: usize = 28;

/// Mean and deviation of some numbers.
pub(crate) fn spread(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    Some((mean, deviation))
}

/// A figure, with its spread where there are several seeds.
pub(crate) fn shown_spread(found: Option<(f64, f64)>, seeds: usize) -> String {
    match found {
        None => "–".into(),
        Some((mean, _)) if seeds < 2 => format!("{mean:.3}"),
        Some((mean, deviation)) => format!("{mean:.3} ± {deviation:.3}"),
    }
}

pub(crate) fn shown_gain(found: Option<(f64, f64)>, seeds: usize) -> String {
    match found {
        None => "–".into(),
        Some((mean, _)) if seeds < 2 => signed(mean),
        Some((mean, deviation)) => format!("{} ± {deviation:.3}", signed(mean)),
    }
}

/// A gain with its sign; what is nothing to three digits has a plus.
fn signed(gain: f64) -> String {
    let gain = if gain.abs() < 0.0005 { 0.0 } else { gain };
    format!("{gain:+.3}")
}

impl RunMethod {
    /// A participant's figures over the seeds.
    pub(crate) fn of(&self, participant: usize) -> Vec<f64> {
        self.cells.iter().filter_map(|cells| cells[participant]).collect()
    }

    /// The mean over the participants, for each seed.
    fn means(&self) -> Vec<f64> {
        let mean = |cells: &Vec<Option<f64>>| -> Option<f64> {
            let values: Vec<f64> = cells.iter().copied().flatten().collect();
            spread(&values).map(|found| found.0)
        };
        self.cells.iter().filter_map(mean).collect()
    }
}

impl RunReport {
    pub(crate) fn local(&self) -> Option<&RunMethod> {
        self.methods.iter().find(|method| method.name == LOCAL)
    }

    pub(crate) fn seeds(&self) -> usize {
        self.methods.iter().map(|method| method.cells.len()).max().unwrap_or(0)
    }

    /// What a participant gains over Local with a method, seed by seed.
    pub(crate) fn gains(&self, method: &RunMethod, participant: usize) -> Vec<f64> {
        let Some(local) = self.local() else {
            return Vec::new();
        };
        let sign = if self.more_is_better { 1.0 } else { -1.0 };
        let gain = |(with, alone): (&Vec<Option<f64>>, &Vec<Option<f64>>)| {
            Some(sign * (with[participant]? - alone[participant]?))
        };
        method.cells.iter().zip(&local.cells).filter_map(gain).collect()
    }

    fn title(&self) -> String {
        let pairs: usize = self.participants.iter().map(|one| one.competitors.len()).sum();
        format!(
            "{}: {}, {}, {}; {}.",
            shown(&self.name),
            plural(self.participants.len(), "participant", "participants"),
            plural(pairs / 2, "competing pair", "competing pairs"),
            plural(self.seeds(), "seed", "seeds"),
            self.status,
        )
    }

    /// What the figures are.
    pub(crate) fn legend(&self) -> String {
        let better = if self.more_is_better { "higher" } else { "lower" };
        let seeds = match self.seeds() {
            0 | 1 => "",
            _ => ", mean ± deviation over the seeds",
        };
        format!(
            "{} on each participant's own test data{seeds} ({better} is better);\neach participant keeps the model that is best on its own validation data.",
            self.metric
        )
    }

    fn people(&self) -> Vec<Vec<String>> {
        let seeds = self.seeds();
        let own = self.methods.first();
        let figures = |method: Option<&RunMethod>, at: usize| {
            shown_spread(method.and_then(|method| spread(&method.of(at))), seeds)
        };
        self.participants
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let gain = own.and_then(|method| spread(&self.gains(method, at)));
                vec![
                    shown(&one.name).into_owned(),
                    one.samples.to_string(),
                    one.collaborators(usize::MAX).join(", "),
                    figures(self.local(), at),
                    figures(own, at),
                    shown_gain(gain, seeds),
                ]
            })
            .collect()
    }

    pub(crate) fn comparison(&self) -> Vec<Vec<String>> {
        let seeds = self.seeds();
        self.methods
            .iter()
            .map(|method| {
                let mean_gains: Vec<f64> = (0..self.participants.len())
                    .filter_map(|at| spread(&self.gains(method, at)).map(|found| found.0))
                    .collect();
                let count = |wanted: fn(f64) -> bool| {
                    mean_gains.iter().filter(|gain| wanted(**gain)).count().to_string()
                };
                let name = if method.is_reference {
                    format!("{} (reference)", method.name)
                } else {
                    method.name.clone()
                };
                vec![
                    name,
                    shown_spread(spread(&method.means()), seeds),
                    spread(&mean_gains).map_or("–".into(), |found| signed(found.0)),
                    count(|gain| gain > LITTLE),
                    count(|gain| gain < -LITTLE),
                    method.gradients.to_string(),
                    size(method.bytes),
                ]
            })
            .collect()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n\n", self.title(), self.legend());
        let own = self.methods.first().map_or("", |method| &method.name);
        let own = format!(">{own}");
        let mut table = Table::new(&[
            "participant",
            ">samples",
            "learned from (weight)",
            ">local",
            &own,
            ">gain",
        ]);
        for (one, row) in self.participants.iter().zip(self.people()) {
            let mut lines = wrap(&one.collaborators(NAMED), LIST_WIDTH).into_iter();
            let mut first = row.clone();
            first[2] = lines.next().unwrap_or_default();
            table.row(first);
            for line in lines {
                let mut more = vec![String::new(); row.len()];
                more[2] = line;
                table.row(more);
            }
        }
        text.push_str(&table.render());
        text.push('\n');
        let mut table = Table::new(&[
            "method",
            &format!(">{}", self.metric),
            ">gain",
            ">better",
            ">worse",
            ">gradients",
            ">moved",
        ]);
        self.comparison().into_iter().for_each(|row| table.row(row));
        let has_reference = self.methods.iter().any(|method| method.is_reference);
        text.push_str(&table.render());
        if has_reference {
            text.push_str("A reference breaks the rule and is shown only for comparison.\n");
        }
        for (title, lines) in
            [("Plans", &self.plans), ("Flows", &self.flows), ("Incidents", &self.incidents)]
        {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{title}:");
                lines.iter().for_each(|line| {
                    let _ = writeln!(text, "  {line}");
                });
            }
        }
        if !self.refused.is_empty() {
            let _ = writeln!(
                text,
                "\n{} refused because of competition{}; the report says why.",
                plural(self.refused.len(), "useful edge was", "useful edges were"),
                if self.seeds() > 1 { " (first seed)" } else { "" }
            );
        }
        text
    }

    /// As a page.
    pub fn markdown(&self) -> String {
        let mut text =
            format!("# {}\n\n{}\n\n{}\n\n", shown(&self.name), self.title(), self.legend());
        let own = self.methods.first().map_or("", |method| &method.name);
        table(
            &mut text,
            &["participant", "samples", "learned from (weight)", "local", own, "gain"],
            &self.people(),
        );
        text.push_str("## Methods\n\n");
        table(
            &mut text,
            &[
                "method",
                &self.metric,
                "gain over Local",
                "better off",
                "worse off",
                "gradients",
                "moved",
            ],
            &self.comparison(),
        );
        let _ = writeln!(
            text,
            "Better and worse off: participants whose mean gain is beyond ±{LITTLE}. Gradients: for each participant, estimates included. A reference breaks the rule and is shown only for comparison.\n"
        );
        text.push_str("## Every participant with every method\n\n");
        let mut headings = vec!["participant"];
        headings.extend(self.methods.iter().map(|method| method.name.as_str()));
        let rows: Vec<Vec<String>> = self
            .participants
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let mut row = vec![shown(&one.name).into_owned()];
                let figures =
                    |method: &RunMethod| shown_spread(spread(&method.of(at)), self.seeds());
                row.extend(self.methods.iter().map(figures));
                row
            })
            .collect();
        table(&mut text, &headings, &rows);
        text.push_str("## Who competes with whom\n\n");
        for one in self.participants.iter().filter(|one| !one.competitors.is_empty()) {
            let names: Vec<_> = one.competitors.iter().map(|name| shown(name)).collect();
            let _ = writeln!(text, "- {}: {}", shown(&one.name), names.join(", "));
        }
        for (title, lines) in [
            ("Quality of the plans", &self.plans),
            ("Flows outside the ledger", &self.flows),
            ("What was refused, and why", &self.refused),
            ("Incidents", &self.incidents),
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
}

/// A gain below which nobody is said to be better or worse off.
pub(crate) const LITTLE: f64 = 0.005;

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

/// Bytes as people read them.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        1..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
