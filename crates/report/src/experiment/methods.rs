//! What the methods of an experiment took and chose, in words.

use fedcompetitors_record::Spread;

/// A method of an experiment, and what came out for it.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodFigures {
    /// What it is called.
    pub name: String,
    /// The test metric, for each repetition that of each participant.
    pub cells: Vec<Vec<f64>>,
    /// The paper's figures for the participants, if it has any, some without a deviation.
    pub paper: Vec<(f64, Option<f64>)>,
    /// Gradients, on average over participants and repetitions.
    pub gradients: f64,
    /// How many of those were taken to estimate benefits.
    pub estimation: f64,
    /// What validation data chose.
    pub choice: String,
}

/// Rank correlations of an estimate with measured gains.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Which estimate.
    pub source: String,
    /// The correlations.
    pub correlations: Vec<f64>,
}

impl MethodFigures {
    /// The mean over the participants, repetition by repetition.
    pub(super) fn means(&self) -> Vec<f64> {
        means(&self.cells)
    }

    /// How many gradients it took, and what validation data chose for it.
    pub(super) fn cost_text(&self) -> String {
        let estimation = if self.estimation > 0.0 {
            format!(", {:.0} of them to estimate benefits", self.estimation)
        } else {
            String::new()
        };
        format!("  {}: {:.0} gradients{estimation}; {}.", self.name, self.gradients, self.choice)
    }
}

/// The mean over the participants, repetition by repetition.
pub(super) fn means(cells: &[Vec<f64>]) -> Vec<f64> {
    cells.iter().map(|cells| cells.iter().sum::<f64>() / cells.len() as f64).collect()
}

/// For each participant the spread of its figures over the repetitions.
pub(super) fn spreads(cells: &[Vec<f64>]) -> impl Iterator<Item = Spread> {
    let participants = cells.first().map_or(0, Vec::len);
    (0..participants).map(|at| Spread::of(&cells.iter().map(|cells| cells[at]).collect::<Vec<_>>()))
}

/// The methods with their means, for standings.
pub(super) fn named(methods: &[MethodFigures]) -> Vec<(&str, Vec<f64>)> {
    methods.iter().map(|method| (method.name.as_str(), method.means())).collect()
}

/// What validation data chose: the settings of Adam, or of descent where there is a momentum, and what sets
/// the trainer apart.
pub fn choice_text(rate: f32, momentum: Option<f32>, decay: f32, trainer: &str) -> String {
    let rule = match momentum {
        None => format!("Adam, rate {rate}, decay {decay}"),
        Some(momentum) => format!("SGD, rate {rate}, momentum {momentum}, decay {decay}"),
    };
    if trainer.is_empty() { rule } else { format!("{rule}, {trainer}") }
}

/// How well an estimate ranks helpers.
pub(super) fn agreement_text(agreement: &Agreement) -> String {
    let spread = Spread::of(&agreement.correlations);
    format!(
        "Rank correlation of the {} estimate with measured gains: {:.2} ± {:.2}.",
        agreement.source, spread.mean, spread.deviation
    )
}
