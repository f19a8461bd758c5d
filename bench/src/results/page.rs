//! The page itself, in Markdown.

use std::fmt::Write;

use fedcompetitors_federate::experiment::Spread;

use super::{
    findings::{findings, listed},
    kinds::KINDS,
    speed::{Line, Speed},
    stored::{Method, Paper, Stored},
};
use crate::timing::middle;

/// Older results lack it.
const NOT_RECORDED: &str = "not recorded";

/// What the page is made of.
#[derive(Debug)]
pub struct Page {
    /// The newest of each experiment, in order.
    pub experiments: Vec<Stored>,
    /// Other stored results.
    pub others: Vec<String>,
    /// Times beside those of peers.
    pub speeds: Vec<Speed>,
}

impl Page {
    /// All of it.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "# Results\n\n\
             Made by `cargo run --release -p fedcompetitors-bench -- results` from what is stored under\n\
             `bench/runs/`, figures and what is said of them. Change nothing here by hand.\n\n\
             Figures are means ± their deviation over the seeds. Methods are compared seed by seed.\n",
        );
        for kind in &KINDS {
            let _ = write!(text, "\n## {}\n\n{}\n", kind.title, kind.about);
            let mut found =
                self.experiments.iter().filter(|one| one.kind.title == kind.title).peekable();
            if found.peek().is_none() {
                text.push_str("\nNo results are stored yet.\n");
            }
            found.for_each(|stored| section(&mut text, stored));
        }
        self.origins(&mut text);
        self.speed(&mut text);
        text
    }

    /// Seeds, gradients, seconds, machine, commit.
    fn origins(&self, text: &mut String) {
        text.push_str("\n## How they were made\n\n");
        let columns = [
            "",
            "seeds",
            "gradients",
            "seconds",
            "processor",
            "threads",
            "commit",
            "day",
            "command",
        ];
        header(text, &columns);
        for stored in &self.experiments {
            let made = |key| stored.made.get(key).unwrap_or(NOT_RECORDED);
            let command = stored.made.get("command").map(|command| format!("`{command}`"));
            row(
                text,
                &[
                    &stored.name,
                    &seeds_text(&stored.seeds),
                    &stored.gradients.to_string(),
                    made("seconds"),
                    made("processor"),
                    made("threads"),
                    made("commit"),
                    made("date"),
                    command.as_deref().unwrap_or(NOT_RECORDED),
                ],
            );
        }
        text.push_str(
            "\nGradients are those for each participant and method, estimation included.",
        );
        let stored: Vec<String> =
            self.experiments.iter().map(|one| format!("`{}/{}`", one.run, one.name)).collect();
        let _ = writeln!(text, " Stored in {}.", listed(&stored));
        if !self.others.is_empty() {
            let others: Vec<String> =
                self.others.iter().map(|other| format!("`{other}`")).collect();
            let _ = writeln!(text, "Also stored and not shown: {}.", listed(&others));
        }
    }

    fn speed(&self, text: &mut String) {
        text.push_str("\n## Speed\n");
        if self.speeds.is_empty() {
            text.push_str("\nNo times are stored yet.\n");
        }
        for speed in &self.speeds {
            text.push('\n');
            header(
                text,
                &["", "ours", "peer's", "peer", "times faster", "best against best", "in the mean"],
            );
            for line in &speed.lines {
                let Line { what, peer, ours, theirs } = line;
                let (times, best) = line.times();
                let [ours, theirs] = [ours, theirs].map(|side| time_text(middle(side)));
                let [times, best] = [times, best].map(|times| format!("{times:.1}"));
                let (mean, error) = line.times_in_the_mean();
                let error = error.map(|error| format!(" ± {error:.2}")).unwrap_or_default();
                let mean = format!("{mean:.2}{error}");
                row(text, &[what, &ours, &theirs, peer, &times, &best, &mean]);
            }
            let made = |key| speed.made.get(key).unwrap_or(NOT_RECORDED);
            let images = speed.made.get("images");
            let images = images.map(|images| format!(", {images} images")).unwrap_or_default();
            let _ = writeln!(
                text,
                "\nThe middle of all turns; the means' ratio with its standard error. `{}`: \
                 processor {}, threads {}{images}, commit {}.",
                speed.file,
                made("processor"),
                made("threads"),
                made("commit")
            );
        }
    }
}

fn section(text: &mut String, stored: &Stored) {
    let kind = stored.kind;
    if kind.folders.len() > 1 {
        let _ = write!(text, "\n### {}\n", stored.name);
        for known in
            [&stored.data, &stored.budget.as_ref().map(|budget| format!("Budget: {budget}"))]
        {
            let _ = known.as_ref().map(|known| write!(text, "\n{known}.\n"));
        }
    }
    let found = findings(stored);
    let _ = write!(text, "\n{}\n\n", found.standing.join("\n"));
    means(text, stored);
    participants(text, stored);
    let lists = [
        ("As in the paper:", found.agrees),
        ("Not as in the paper:", found.differs),
        ("Why, as far as figures show it:", found.why),
    ];
    for (title, sentences) in lists.iter().filter(|(_, sentences)| !sentences.is_empty()) {
        let _ = write!(text, "\n{title}\n\n");
        for sentence in sentences {
            let _ = writeln!(text, "- {sentence}");
        }
    }
    let _ = writeln!(text, "\n{} More: [{}]({}).", kind.caution, kind.decision, kind.decision);
}

/// The mean of each method, the paper's beside it.
fn means(text: &mut String, stored: &Stored) {
    let (metric, is_comparable) = (stored.kind.metric, stored.is_comparable());
    if is_comparable {
        header(text, &["method", metric, "the paper's", "gradients", "for estimation", "rule"]);
    } else {
        header(text, &["method", metric, "gradients", "for estimation", "rule"]);
    }
    for method in &stored.methods {
        let ours = spread_text(stored, &method.mean());
        let mut cells = vec![method.name.clone(), ours];
        if is_comparable {
            cells.push(method.paper.as_ref().map_or("–".into(), |paper| paper_text(stored, paper)));
        }
        cells.push(format!("{:.0}", method.gradients));
        cells.push(if method.estimation > 0.0 {
            format!("{:.0}", method.estimation)
        } else {
            "–".into()
        });
        cells.push(method.rule.clone());
        row(text, &cells);
    }
}

/// Every participant's figures, folded away.
fn participants(text: &mut String, stored: &Stored) {
    let has_papers =
        |method: &Method| method.paper.as_ref().is_some_and(|paper| !paper.cells.is_empty());
    let brackets =
        if stored.methods.iter().any(has_papers) { ", in brackets the paper's" } else { "" };
    let _ = write!(text, "\n<details><summary>Each participant{brackets}</summary>\n\n");
    let names = stored.participants.iter().map(String::as_str);
    header(text, &["method"].into_iter().chain(names).collect::<Vec<_>>());
    for method in &stored.methods {
        let mut cells = vec![method.name.clone()];
        for a in 0..stored.participants.len() {
            let paper = method.paper.as_ref().and_then(|paper| paper.cells.get(a));
            let paper = paper.map(|(mean, _)| format!(" ({mean:.*})", stored.kind.digits.1));
            let ours = spread_text(stored, &method.of_participant(a));
            cells.push(ours + &paper.unwrap_or_default());
        }
        row(text, &cells);
    }
    text.push_str("\n</details>\n");
}

fn spread_text(stored: &Stored, spread: &Spread) -> String {
    let digits = stored.kind.digits.0;
    if stored.seeds.len() == 1 {
        return format!("{:.digits$}", spread.mean);
    }
    format!("{:.digits$} ± {:.digits$}", spread.mean, spread.deviation)
}

fn paper_text(stored: &Stored, paper: &Paper) -> String {
    let digits = stored.kind.digits.1;
    let deviation = paper.deviation.map(|deviation| format!(" ± {deviation:.digits$}"));
    format!("{:.digits$}{}", paper.mean, deviation.unwrap_or_default())
}

/// Seeds that follow one another by the first and the last.
fn seeds_text(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last] if seeds.windows(2).all(|two| two[0] + 1 == two[1]) => {
            format!("{first} to {last}")
        }
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn time_text(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn header(text: &mut String, columns: &[&str]) {
    row(text, columns);
    let _ = writeln!(text, "|{}", "---|".repeat(columns.len()));
}

fn row<T: AsRef<str>>(text: &mut String, cells: &[T]) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", cell.as_ref());
    }
    text.push('\n');
}
