//! `price`: what each competition costs.

use fedcompetitors_files::write_json;
use fedcompetitors_report::{Price, prices_text};
use fedcompetitors_select::Setting;
use serde_json::json;

use super::select::{policy, read};
use crate::{
    Failure, Outcome,
    arguments::{Format, PriceArguments},
    interrupt::while_searching,
    output::print,
};

pub fn price(arguments: &PriceArguments) -> Result<Outcome, Failure> {
    let compare = &arguments.compare;
    let graphs = read(&compare.files, compare.participants.as_deref())?;
    let participants = graphs.benefit.participants();
    let welfare = |competing: &_| {
        while_searching(|stop| {
            let policy =
                policy(arguments.policy, compare.effort.objective, compare.effort.effort(stop));
            policy.plan(&Setting::new(competing, &graphs.benefit)).welfare
        })
    };
    let now = welfare(&graphs.competing);
    let mut prices: Vec<Price> = graphs
        .competing
        .pairs()
        .map(|(a, b)| Price { a, b, welfare_without: welfare(&graphs.competing.reconciled(a, b)) })
        .collect();
    // The dearest first; of equals the first listed.
    prices.sort_by(|a, b| b.welfare_without.total_cmp(&a.welfare_without));
    print(|output| match compare.format {
        Format::Text => output.write_all(prices_text(&graphs.competing, &prices, now).as_bytes()),
        Format::Json => {
            let name = |index| participants.name(index);
            let rows = prices.iter().map(|price| {
                json!({ "pair": [name(price.a), name(price.b)], "welfare_without": price.welfare_without })
            });
            write_json(output, &json!({ "welfare": now, "prices": rows.collect::<Vec<_>>() }))
        }
    })?;
    Ok(Outcome::Done)
}
