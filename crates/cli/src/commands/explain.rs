//! `explain`: why one participant may or may not learn from another.

use fedcompetitors_files::{Graphs, read_graphs, read_plan, write_json};
use fedcompetitors_graphs::find_leak;
use fedcompetitors_report::{Explanation, Verdict};
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
    let (from, to) = (participants.find(&arguments.from)?, participants.find(&arguments.to)?);

    // A plan that breaks the rule explains nothing.
    if let Some(leak) = find_leak(&competing, &plan.usage) {
        return report_leak(arguments.format, &competing, &leak);
    }
    let history = plan.past.as_ref().map(|past| &past.provenance);
    let explanation = Explanation::of(&competing, &benefit, &plan.usage, history, from, to);
    let sentence = if from == to {
        "Everybody learns from its own data; no plan is needed for that.".to_owned()
    } else {
        explanation.sentence(&competing, &plan.policy)
    };
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
                "verdict": explanation.word(),
                "because": because,
                "sentence": sentence,
            });
            write_json(output, &value)
        }
    })?;
    Ok(Outcome::Done)
}
