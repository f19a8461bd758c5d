//! `compare`: the plans of all policies side by side.

use std::time::Instant;

use fedcompetitors_files::write_json;
use fedcompetitors_graphs::{Choice, Rule, find_leak, longest_chain};
use fedcompetitors_report::{Comparison, comparison_text};
use fedcompetitors_select::{Policy, Setting, Shares};
use serde_json::{Value, json};

use super::{decide::Decider, select::read};
use crate::{
    Failure, Outcome,
    arguments::{CompareArguments, Format},
    output::print,
};

pub fn compare(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let graphs = read(&arguments.graphs)?;
    let samples = arguments.objective.read_samples(graphs.benefit.participants())?;
    let objective = arguments.objective.with(samples.as_ref())?;
    // Plans are compared that keep one rule.
    let comparable = Choice::<dyn Policy>::all().filter(|policy| policy.rule() == Rule::Paths);
    let compared = comparable.map(|policy| {
        let start = Instant::now();
        let plan = Decider::new(policy, objective, &arguments.effort, 1)
            .plan(&Setting::new(&graphs.competing, &graphs.benefit));
        let seconds = start.elapsed().as_secs_f64();
        let usage = &plan.usage;
        let Shares { with_nothing, least, mean } =
            Shares::of(&graphs.competing, &graphs.benefit, usage);
        Comparison {
            policy: plan.policy,
            value: samples.as_ref().map(|samples| samples.value(&graphs.benefit, usage)),
            welfare: plan.welfare,
            upper_bound: plan.upper_bound,
            edges: usage.len(),
            with_nothing,
            least,
            mean,
            longest_chain: longest_chain(usage),
            seconds,
            keeps_the_rule: find_leak(&graphs.competing, usage).is_none(),
            note: plan.note,
        }
    });
    let comparisons: Vec<Comparison> = compared.collect();
    let measure = arguments.objective.measure();
    print(|output| match arguments.format {
        Format::Text => output.write_all(comparison_text(&comparisons, measure).as_bytes()),
        Format::Json => {
            write_json(output, &Value::Array(comparisons.iter().map(as_json).collect()))
        }
    })?;
    let all_keep_it = comparisons.iter().all(|comparison| comparison.keeps_the_rule);
    Ok(if all_keep_it { Outcome::Done } else { Outcome::Finding })
}

fn as_json(comparison: &Comparison) -> Value {
    let mut value = json!({
        "policy": comparison.policy,
        "welfare": comparison.welfare,
        "upper_bound": comparison.upper_bound,
        "edges": comparison.edges,
        "with_nothing": comparison.with_nothing,
        "least": comparison.least,
        "geometric_mean": comparison.mean,
        "longest_chain": comparison.longest_chain,
        "seconds": comparison.seconds,
        "keeps_the_rule": comparison.keeps_the_rule,
        "note": comparison.note,
    });
    if let Some(diminishing) = comparison.value {
        value["diminishing"] = json!(diminishing);
    }
    value
}
