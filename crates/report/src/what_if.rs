//! What changes would cost and bring.

use fedcompetitors_graphs::{CompetingGraph, Participants, shown};

use crate::{number, reporters_text, table::Table};

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

/// A table of effects, everybody in listed order.
pub fn effects_text(
    participants: &Participants,
    effects: &[Effect],
    now: f64,
    then: f64,
) -> String {
    let mut table = Table::new(&["participant", ">gets", ">would get", ">difference"]);
    for effect in effects {
        let (then, difference) = match effect.then {
            Some(then) => (number(then), signed(then - effect.now)),
            None => ("not there".into(), String::new()),
        };
        let name = shown(participants.name(effect.participant)).into_owned();
        table.row(vec![name, number(effect.now), then, difference]);
    }
    format!(
        "{}\nWelfare {} now, {} then ({}).\n",
        table.render(),
        number(now),
        number(then),
        signed(then - now)
    )
}

/// What the welfare would be without a competition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// One of the pair.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// The welfare if they did not compete.
    pub welfare_without: f64,
}

/// A table of prices.
pub fn prices_text(competing: &CompetingGraph, prices: &[Price], now: f64) -> String {
    let participants = competing.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    let mut table = Table::new(&["competition", "said by", ">welfare without it", ">costs"]);
    for price in prices {
        let said = reporters_text(competing, price.a, price.b);
        table.row(vec![
            format!("{} – {}", name(price.a), name(price.b)),
            said.trim_end_matches(" says so").trim_end_matches(" say so").to_owned(),
            number(price.welfare_without),
            number((price.welfare_without - now).max(0.0)),
        ]);
    }
    format!("{}\nWelfare {} with all of them.\n", table.render(), number(now))
}

/// A difference with its sign; what rounding leaves is none.
fn signed(difference: f64) -> String {
    if difference.abs() < 1e-9 {
        return "0".into();
    }
    let sign = if difference > 0.0 { "+" } else { "−" };
    format!("{sign}{}", number(difference.abs()))
}
