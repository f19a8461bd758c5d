//! `explain`: why one participant may or may not learn from another.

use fedcompetitors_files::{Graphs, read_graphs, read_plan, write_json};
use fedcompetitors_report::{Explanation, Verdict};
use fedcompetitors_select::Past;
use serde_json::json;

use super::verify::report_leak;
use crate::{
    Failure, Outcome,
    arguments::{ExplainArguments, Format, GraphFiles},
    output::print,
};

pub fn explain(arguments: &ExplainArguments) -> Result<Outcome, Failure> {
    let plan = read_plan(&arguments.plan)?;
    let participants = plan.participants();
    let GraphFiles { competing, benefit } = &arguments.files;
    let Graphs { competing, benefit, .. } =
        read_graphs(competing, benefit, Some(participants.clone()))?;
    let competing = match &plan.past {
        Some(past) => past.with_remembered(competing),
        None => competing,
    };
    let (from, to) = (participants.find(&arguments.from)?, participants.find(&arguments.to)?);

    // A plan that breaks the rule explains nothing.
    let present = plan.past.as_ref().map(Past::present);
    if let Err(leak) = plan.prove(&competing) {
        return report_leak(arguments.format, &competing, &leak);
    }
    let (present, edge) = (present.as_ref(), (from, to));
    let explanation = Explanation::of(plan.rule, &competing, &benefit, &plan.usage, present, edge);
    let left = plan.past.as_ref().map_or(&[][..], |past| &past.left);
    let (word, sentence) = explanation.answer(&competing, &plan.policy, left);
    print(|output| match arguments.format {
        Format::Text => writeln!(output, "{sentence}"),
        Format::Json => {
            let because = match &explanation.verdict {
                Verdict::Refused(reason) => {
                    let path: Vec<&str> =
                        reason.path.iter().map(|&index| participants.name(index)).collect();
                    json!({ "pair": [path[0], path[path.len() - 1]], "path": path })
                }
                _ => json!(null),
            };
            let value = json!({
                "from": arguments.from,
                "to": arguments.to,
                "benefit": explanation.benefit,
                "verdict": word,
                "because": because,
                "sentence": sentence,
            });
            write_json(output, &value)
        }
    })?;
    Ok(Outcome::Done)
}
