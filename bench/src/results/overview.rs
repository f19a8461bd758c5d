//! The first table of the page: federations down, methods across.

use std::fmt::Write;

use super::{
    federations::{Federation, Score},
    page::{NOT_RECORDED, header, row},
    stored::Stored,
};

/// A column: its title, the method's names in federations and in the paper's experiments, and whether it can
/// be the best.
struct Column {
    title: &'static str,
    names: &'static [&'static str],
    can_be_best: bool,
}

const fn method(title: &'static str, names: &'static [&'static str]) -> Column {
    Column { title, names, can_be_best: true }
}

const fn reference(title: &'static str, names: &'static [&'static str]) -> Column {
    Column { title, names, can_be_best: false }
}

const COLUMNS: [Column; 13] = [
    method("Local", &["local", "Local"]),
    method("ensemble alone", &["local-ensemble", "Local, ensemble"]),
    method("FedAvg", &["fedavg", "FedAvg"]),
    method("FedProx", &["fedprox", "FedProx"]),
    method("SCAFFOLD", &["scaffold", "SCAFFOLD"]),
    method("CE", &["ce", "CE"]),
    method("hypernetworks, the paper's way", &["greedy+hypernetworks", "FedCompetitors"]),
    method("mixing", &["greedy+mixing", "FedCompetitors, mixing"]),
    method("evidence or trunks, `paths`", &["optimal+evidence", "FedCompetitors, trunks"]),
    method("evidence, `messages`", &["friends+evidence"]),
    reference("pooled", &["pooled"]),
    reference("`LogisticRegressionCV` alone", &["LogisticRegressionCV"]),
    reference("gradient boosting alone", &["HistGradientBoosting"]),
];

/// A figure of the table.
struct Cell {
    text: String,
    /// Whether it is the best, or within one standard error of it.
    is_best: bool,
}

/// Writes the table.
pub fn overview(text: &mut String, federations: &[Federation], experiments: &[Stored]) {
    if federations.is_empty() {
        return;
    }
    text.push_str(
        "\nEach row is a federation, each column a method. Figures are means over the participants, on rows that \
         the model was not trained on. \
         Bold: the best method that keeps its rule (`messages` is weaker than `paths`), and those within one standard \
         error of the difference to it. \
         Not counted: `pooled`, which breaks the rule, and scikit-learn's models, with which each participant learns \
         alone from the same rows and features. \
         The paper's experiments were run at the commits named below; until 2026-11-16 linear models were trained \
         by gradient steps, also in Local.\n\n",
    );
    let titles = ["federation", "metric"].into_iter().chain(COLUMNS.map(|column| column.title));
    header(text, &titles.collect::<Vec<_>>());
    for federation in federations {
        let label = [federation.title().to_owned(), federation.metric()];
        line(text, &label, |column| of_federation(federation, column));
    }
    // Others without figures of the paper are among the federations above.
    let is_shown = |stored: &&Stored| stored.is_comparable() || stored.images.is_some();
    for stored in experiments.iter().filter(is_shown) {
        let label = [experiment_title(stored), stored.kind.metric_with_direction()];
        line(text, &label, |column| of_experiment(stored, column));
    }
}

fn line(text: &mut String, label: &[String; 2], cell: impl Fn(&Column) -> Option<Cell>) {
    let mut cells = label.to_vec();
    for column in &COLUMNS {
        cells.push(match cell(column) {
            Some(Cell { text, is_best: true }) => format!("**{text}**"),
            Some(Cell { text, .. }) => text,
            None => "–".into(),
        });
    }
    row(text, &cells);
}

fn of_federation(federation: &Federation, column: &Column) -> Option<Cell> {
    let is_asked = |name: &str| column.names.contains(&name);
    let method = federation.methods.iter().find(|method| is_asked(&method.name))?;
    let text = method.mean.value[0].map_or("–".into(), |value| format!("{value:.3}"));
    Some(Cell {
        text,
        is_best: column.can_be_best && method.behind.is_some_and(|behind| behind <= 1.0),
    })
}

fn of_experiment(stored: &Stored, column: &Column) -> Option<Cell> {
    let method = stored.methods.iter().find(|method| column.names.contains(&&*method.name))?;
    let best = stored.best()?;
    let behind = stored.behind(method, best);
    let digits = stored.kind.digits.0;
    let text = format!("{:.digits$}", method.mean().mean);
    Some(Cell { text, is_best: column.can_be_best && behind.mean <= behind.error })
}

fn experiment_title(stored: &Stored) -> String {
    let mut title = format!("paper: {}", stored.kind.title);
    if stored.kind.folders.len() > 1 {
        let _ = write!(title, ", {}", stored.size());
    }
    title
}

/// The figures of each federation, folded away.
pub fn details(text: &mut String, federations: &[Federation]) {
    for federation in federations {
        let made = |key| federation.made.get(key).unwrap_or(NOT_RECORDED);
        let note = federation.made.get("note").map(|note| format!("; {note}")).unwrap_or_default();
        let _ = write!(
            text,
            "\n<details><summary>{}: figures with 95 % intervals</summary>\n\n\
             {}; {} participants, {} repeats of {} folds; intervals from drawing rows by bootstrap. The runs took {} s in \
             all, without scikit-learn ({}, {} threads, commit {}, {}{note}). Stored in `{}/federations/{}`.\n\n",
            federation.title(),
            federation.metric(),
            made("participants"),
            made("repeats"),
            made("folds"),
            made("seconds"),
            made("processor"),
            made("threads"),
            made("commit"),
            made("date"),
            federation.run,
            federation.name,
        );
        let names: Vec<&str> = federation
            .methods
            .first()
            .map(|method| method.participants.iter().map(|(name, _)| &name[..]).collect())
            .unwrap_or_default();
        header(
            text,
            &["method", "mean", "gain over Local"].into_iter().chain(names).collect::<Vec<_>>(),
        );
        for method in &federation.methods {
            let Score { value, gain } = method.mean;
            let gain =
                if method.name == "local" { "–".into() } else { with_interval(gain, true) };
            let mut cells = vec![method.name.clone(), with_interval(value, false), gain];
            let own = method.participants.iter();
            cells.extend(own.map(|(_, score)| number(score.value[0], false)));
            row(text, &cells);
        }
        text.push_str("\n</details>\n");
    }
}

fn with_interval([value, low, high]: [Option<f64>; 3], signed: bool) -> String {
    let text = number(value, signed);
    match (low, high) {
        (Some(_), Some(_)) => {
            format!("{text} ({} to {})", number(low, signed), number(high, signed))
        }
        _ => text,
    }
}

fn number(value: Option<f64>, signed: bool) -> String {
    match value {
        Some(value) if signed => format!("{value:+.3}"),
        Some(value) => format!("{value:.3}"),
        None => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::federations::newest;
    use super::*;

    /// A folder of runs with one federation that has these lines of figures.
    fn federations(lines: &str) -> Result<Vec<Federation>, String> {
        let runs = tempfile::tempdir().expect("a folder");
        let run = runs.path().join("2026-01-01-a");
        let folder = run.join("federations").join("heart");
        fs::create_dir_all(&folder).expect("made");
        let header = crate::federation::COLUMNS.join(",");
        fs::write(folder.join("figures.csv"), format!("{header}\n{lines}")).expect("written");
        let made = "federation: four hospitals\nmetric: AUC\nhigher is better: true\n";
        fs::write(folder.join("made.txt"), made).expect("written");
        newest(&[run]).map_err(|error| error.to_string())
    }

    #[test]
    fn the_best_and_what_is_within_one_standard_error_are_bold() {
        let lines = "local,,0.7,0.6,0.8,0,0,0,3.5\n\
                     local,A,0.7,0.6,0.8,0,0,0,\n\
                     optimal+evidence,,0.79,0.7,0.9,0.09,0.01,0.2,0.9\n\
                     optimal+evidence,A,0.79,,,0.09,,,\n\
                     friends+evidence,,0.8,0.7,0.9,0.1,0.01,0.2,0\n\
                     scaffold,,0.75,,,,,,\n\
                     pooled,,0.9,0.8,0.95,0.2,0.1,0.3,-4\n";
        let found = federations(lines).expect("good figures");
        let mut text = String::new();
        overview(&mut text, &found, &[]);
        let line = text.lines().last().expect("a line");
        assert!(
            line.starts_with("| four hospitals | AUC ↑ | 0.700 | – | – | – | 0.750 |")
                && line.ends_with("| **0.790** | **0.800** | 0.900 | – | – |"),
            "{line}"
        );
        let mut text = String::new();
        details(&mut text, &found);
        assert!(
            text.contains(
                "| optimal+evidence | 0.790 (0.700 to 0.900) | +0.090 (+0.010 to +0.200) | 0.790 |"
            ),
            "{text}"
        );
    }

    #[test]
    fn damaged_figures_are_refused() {
        for (lines, wrong) in [
            ("local,A,0.7,0.6,0.8,0,0,0,\n", "a participant without a mean before it"),
            ("local,,x,0.6,0.8,0,0,0,0\n", "\"x\" is not a number"),
            ("", "no methods"),
            ("local,,0.7\n", "figures.csv"),
        ] {
            let error = federations(lines).expect_err(wrong);
            assert!(error.contains(wrong) && error.contains("hint: "), "{error}");
        }
    }
}
