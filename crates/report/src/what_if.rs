//! What changes would cost and bring.

use std::fmt::Write;

use fedcompetitors_graphs::{CompetingGraph, Participants, shown};

use crate::{Measure, figure, number, plan::is_proven, reporters_text, table::Table};

/// What a participant gets now and would get then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The participant.
    pub participant: usize,
    /// What it gets.
    pub now: f64,
    /// What it would get; `None` if it were not there.
    pub then: Option<f64>,
}

/// The welfare of a plan and what no plan can exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
    /// No plan has a larger one.
    pub upper_bound: f64,
}

/// A table of effects, everybody in listed order. `searched` if both plans come from a
/// search for the best, which may have ended too early.
pub fn effects_text(
    participants: &Participants,
    effects: &[Effect],
    now: Worth,
    then: Worth,
    searched: bool,
) -> String {
    let mut table = Table::new(&["participant", ">gets", ">would get", ">difference"]);
    for effect in effects {
        let (would_get, difference) = match effect.then {
            Some(then) => (number(then), signed(then - effect.now)),
            None => ("absent".into(), String::new()),
        };
        let name = shown(participants.name(effect.participant)).into_owned();
        table.row(vec![name, number(effect.now), would_get, difference]);
    }
    format!("{}\n{}", table.render(), worth_text(effects, now, then, searched))
}

/// What everybody gets together, and would get.
pub(crate) fn worth_text(effects: &[Effect], now: Worth, then: Worth, searched: bool) -> String {
    let mut text = format!(
        "Welfare {} now, {} then ({}).\n",
        number(now.welfare),
        number(then.welfare),
        signed(then.welfare - now.welfare)
    );
    if effects.iter().any(|effect| effect.then.is_none()) {
        let stays = effects.iter().filter_map(|effect| Some((effect.now, effect.then?)));
        let (now, then) = stays.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let _ = writeln!(
            text,
            "Of that, those who stay: {} now, {} then ({}).",
            number(now),
            number(then),
            signed(then - now)
        );
    }
    let proven = |worth: Worth| is_proven(worth.welfare, worth.upper_bound);
    if searched && !(proven(now) && proven(then)) {
        let _ = writeln!(
            text,
            "Not proven: the best may be up to {} now and {} then, so the difference may come from the search;\n\
             a larger --time-limit may decide it.",
            number(now.upper_bound),
            number(then.upper_bound)
        );
    }
    text
}

/// What a competition costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// One of the pair.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// The welfare or value if they did not compete, as far as was found.
    pub value_without: f64,
    /// What the competition costs at least.
    pub least: f64,
    /// What it costs at most.
    pub most: f64,
}

impl Price {
    fn is_proven(&self) -> bool {
        self.most - self.least <= 1e-6 * self.value_without.abs()
            && number(self.least) == number(self.most)
    }
}

/// A table of prices, in what plans are measured by; `now` is that of the plan with all
/// competitions.
pub fn prices_text(
    competing: &CompetingGraph,
    prices: &[Price],
    now: f64,
    measure: Measure,
) -> String {
    let (figures, title) = match measure {
        Measure::Diminishing => (figure as fn(f64) -> String, "value"),
        Measure::Welfare | Measure::Fairness => (number as fn(f64) -> String, "welfare"),
    };
    let participants = competing.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    let mut table =
        Table::new(&["competition", "declared by", &format!(">{title} without it"), ">costs"]);
    for price in prices {
        let said = reporters_text(competing, price.a, price.b);
        let costs = if price.is_proven() {
            figures(price.least)
        } else {
            format!("{} to {}", figures(price.least), figures(price.most))
        };
        table.row(vec![
            format!("{} – {}", name(price.a), name(price.b)),
            said.trim_end_matches(" says so").trim_end_matches(" say so").to_owned(),
            figures(price.value_without),
            costs,
        ]);
    }
    let title = match measure {
        Measure::Diminishing => "Value by diminishing returns",
        Measure::Welfare | Measure::Fairness => "Welfare",
    };
    let mut text = format!("{}\n{title} {} with all of them.\n", table.render(), figures(now));
    if !prices.iter().all(Price::is_proven) {
        text.push_str("Where a cost is a range, a larger --time-limit narrows it.\n");
    }
    text
}

/// A difference with its sign; what rounding leaves is none.
pub(crate) fn signed(difference: f64) -> String {
    if difference.abs() < 1e-9 {
        return "0".into();
    }
    let sign = if difference > 0.0 { "+" } else { "−" };
    format!("{sign}{}", number(difference.abs()))
}
