//! `price`: what each competition costs.

use fedcompetitors_files::write_json;
use fedcompetitors_report::{Measure, Price, prices_text};
use fedcompetitors_select::{Bounded, Plan, Setting};
use serde_json::json;

use super::{
    decide::{Decider, check_served},
    select::read,
};
use crate::{
    Failure, Outcome,
    arguments::{Format, PriceArguments},
    interrupt::was_interrupted,
    output::{print, warn},
};

pub fn price(arguments: &PriceArguments) -> Result<Outcome, Failure> {
    let graphs = read(&arguments.graphs)?;
    let participants = graphs.benefit.participants();
    let pairs: Vec<(usize, usize)> = graphs.competing.pairs().collect();
    let objective = &arguments.objective;
    let measure = objective.measure();
    if measure == Measure::Fairness {
        return Err(Failure::Usage {
            error: "prices need an objective that is a sum".into(),
            hint: "use `--objective welfare` or `--objective diminishing`".into(),
        });
    }
    check_served(arguments.policy, objective)?;
    let samples = objective.read_samples(participants)?;
    let objective = objective.with(samples.as_ref())?;
    let mut decider = Decider::new(arguments.policy, objective, &arguments.effort, 1 + pairs.len());
    let now = figures(&decider.plan(&Setting::new(&graphs.competing, &graphs.benefit)));
    let mut found = Vec::new();
    for &(a, b) in &pairs {
        let competing = graphs.competing.reconciled(a, b);
        let plan = figures(&decider.plan(&Setting::new(&competing, &graphs.benefit)));
        if was_interrupted() {
            warn(&format!(
                "interrupted: {} of {} competitions were priced",
                found.len(),
                pairs.len()
            ));
            break;
        }
        found.push((a, b, plan.value, plan.upper_bound));
    }
    // A plan that keeps the rule keeps it with a competition less, too. So the plan of now
    // is one of those without any pair, and their bounds hold for now.
    let bound = found.iter().map(|found| found.3).fold(now.upper_bound, f64::min);
    let searched = arguments.policy.searches();
    let price = |&(a, b, value, upper_bound): &(usize, usize, f64, f64)| {
        if !searched {
            // What the policy does, for better or worse.
            let difference = value - now.value;
            return Price { a, b, value_without: value, least: difference, most: difference };
        }
        let value_without = value.max(now.value);
        let least = (value_without - bound).max(0.0);
        let most = (upper_bound - now.value).max(least);
        Price { a, b, value_without, least, most }
    };
    let mut prices: Vec<Price> = found.iter().map(price).collect();
    // The dearest first; of equals the first listed.
    prices.sort_by(|a, b| b.least.total_cmp(&a.least).then(b.most.total_cmp(&a.most)));
    print(|output| match arguments.format {
        Format::Text => {
            output.write_all(prices_text(&graphs.competing, &prices, now.value, measure).as_bytes())
        }
        Format::Json => {
            let name = |index| participants.name(index);
            let (value, without) = match measure {
                Measure::Diminishing => ("value", "value_without"),
                Measure::Welfare | Measure::Fairness => ("welfare", "welfare_without"),
            };
            let rows = prices.iter().map(|price| {
                json!({
                    "pair": [name(price.a), name(price.b)],
                    without: price.value_without,
                    "costs": { "least": price.least, "most": price.most },
                })
            });
            let rows: Vec<_> = rows.collect();
            write_json(output, &json!({ value: now.value, "upper_bound": bound, "prices": rows }))
        }
    })?;
    Ok(Outcome::Done)
}

/// The figure that counts, and its bound.
fn figures(plan: &Plan) -> Bounded {
    let welfare = Bounded { value: plan.welfare, upper_bound: plan.upper_bound };
    plan.diminishing.unwrap_or(welfare)
}
