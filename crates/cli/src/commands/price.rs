//! `price`: what each competition costs.

use fedcompetitors_files::write_json;
use fedcompetitors_report::{Price, prices_text};
use fedcompetitors_select::{Objective, Setting};
use serde_json::json;

use super::{decide::Decider, select::read};
use crate::{
    Failure, Outcome,
    arguments::{Format, PriceArguments},
    interrupt::was_interrupted,
    output::{print, warn},
};

pub fn price(arguments: &PriceArguments) -> Result<Outcome, Failure> {
    let graphs = read(&arguments.files, arguments.participants.as_deref())?;
    let participants = graphs.benefit.participants();
    let pairs: Vec<(usize, usize)> = graphs.competing.pairs().collect();
    let mut decider =
        Decider::new(arguments.policy, Objective::Welfare, &arguments.effort, 1 + pairs.len());
    let now = decider.plan(&Setting::new(&graphs.competing, &graphs.benefit));
    let mut found = Vec::new();
    for &(a, b) in &pairs {
        let competing = graphs.competing.reconciled(a, b);
        let plan = decider.plan(&Setting::new(&competing, &graphs.benefit));
        if was_interrupted() {
            warn(&format!(
                "interrupted: {} of {} competitions were priced",
                found.len(),
                pairs.len()
            ));
            break;
        }
        found.push((a, b, plan.welfare, plan.upper_bound));
    }
    // A plan that keeps the rule keeps it with a competition less, too. So the plan of now
    // is one of those without any pair, and their bounds hold for now.
    let bound = found.iter().map(|found| found.3).fold(now.upper_bound, f64::min);
    let searched = decider.seeks_the_largest_welfare();
    let price = |&(a, b, welfare, upper_bound): &(usize, usize, f64, f64)| {
        if !searched {
            // What the policy does, for better or worse.
            let difference = welfare - now.welfare;
            return Price { a, b, welfare_without: welfare, least: difference, most: difference };
        }
        let welfare_without = welfare.max(now.welfare);
        let least = (welfare_without - bound).max(0.0);
        let most = (upper_bound - now.welfare).max(least);
        Price { a, b, welfare_without, least, most }
    };
    let mut prices: Vec<Price> = found.iter().map(price).collect();
    // The dearest first; of equals the first listed.
    prices.sort_by(|a, b| b.least.total_cmp(&a.least).then(b.most.total_cmp(&a.most)));
    print(|output| match arguments.format {
        Format::Text => {
            output.write_all(prices_text(&graphs.competing, &prices, now.welfare).as_bytes())
        }
        Format::Json => {
            let name = |index| participants.name(index);
            let rows = prices.iter().map(|price| {
                json!({
                    "pair": [name(price.a), name(price.b)],
                    "welfare_without": price.welfare_without,
                    "costs": { "least": price.least, "most": price.most },
                })
            });
            let rows: Vec<_> = rows.collect();
            write_json(
                output,
                &json!({ "welfare": now.welfare, "upper_bound": bound, "prices": rows }),
            )
        }
    })?;
    Ok(Outcome::Done)
}
