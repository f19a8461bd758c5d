//! `verify`: proof that a plan keeps the rule, or the path by which it does not.

use fedcompetitors_files::{
    StatedPlan, atomically, read_certificate, read_competing, read_plan, write_certificate,
    write_json,
};
use fedcompetitors_graphs::{Certificate, CompetingGraph, Leak, shown};
use fedcompetitors_report::{certificate_text, leak_text, other_welfare_text};
use fedcompetitors_select::Past;
use serde_json::json;

use crate::{
    Failure, Outcome,
    arguments::{Format, VerifyArguments},
    output::{print, refuse_overwriting, shown_path, tell, warn},
};

pub fn verify(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    refuse_overwriting(arguments.certificate.as_deref(), &[&arguments.competing, &arguments.plan])?;
    let plan = read_plan(&arguments.plan)?;
    if let Some(rule) = arguments.rule.filter(|rule| !plan.rule.implies(**rule)) {
        return Err(Failure::Usage {
            error: format!("the plan is one under the rule `{}`, not `{rule}`", plan.rule),
            hint: "omit `--rule` to check the rule that the plan names".into(),
        });
    }
    let competing = read_competing(&arguments.competing, plan.participants())?;
    let competing = match &plan.past {
        Some(past) => remember(past, competing),
        None => competing,
    };
    if plan.is_other_welfare() {
        warn(&other_welfare_text(plan.welfare, plan.benefit_sum));
    }
    let certificate = match plan.prove(&competing) {
        Ok(certificate) => certificate,
        Err(leak) => {
            if let Some(path) = arguments.certificate.as_deref().filter(|path| path.exists()) {
                warn(&format!(
                    "{} is an older certificate and does not belong to this plan",
                    shown_path(path)
                ));
            }
            return report_leak(arguments.format, &competing, &leak);
        }
    };
    match &arguments.against {
        Some(path) => {
            let claimed = read_certificate(path, plan.participants())?;
            check_claim(arguments, &competing, &plan, &claimed)
        }
        None => report_proof(arguments, &competing, &plan, &certificate),
    }
}

/// Pairs that are pointed out one by one.
const MOST_NAMED: usize = 10;

/// The competing graph with what only the plan still knows, which is pointed out.
pub fn remember(past: &Past, competing: CompetingGraph) -> CompetingGraph {
    let name = |index| shown(past.provenance.participants().name(index));
    let forgotten = past.forgotten(&competing).count();
    if forgotten > MOST_NAMED {
        warn(&format!(
            "{forgotten} competing pairs are recorded in the plan but missing from the competing file; the first of them:"
        ));
    }
    for (a, b) in past.forgotten(&competing).take(MOST_NAMED) {
        warn(&format!(
            "the plan records that \"{}\" and \"{}\" compete, but the competing file does not: \
             they count as competitors until `--reconciled` is given",
            name(a),
            name(b)
        ));
    }
    past.with_remembered(competing)
}

fn report_proof(
    arguments: &VerifyArguments,
    competing: &CompetingGraph,
    plan: &StatedPlan,
    certificate: &Certificate,
) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.certificate {
        atomically(path, |writer| write_certificate(certificate, writer))?;
    }
    print(|output| match arguments.format {
        Format::Text => {
            let with_past = plan.past.is_some();
            let text = certificate_text(competing, &plan.usage, certificate, with_past);
            output.write_all(text.as_bytes())
        }
        Format::Json => write_certificate(certificate, output),
    })?;
    Ok(Outcome::Done)
}

/// Tells of a plan that breaks the rule.
pub fn report_leak(
    format: Format,
    competing: &CompetingGraph,
    leak: &Leak,
) -> Result<Outcome, Failure> {
    print(|output| match format {
        Format::Text => output.write_all(leak_text(competing, leak).as_bytes()),
        Format::Json => {
            let name = |index: usize| competing.participants().name(index);
            let path: Vec<&str> = leak.path.iter().map(|&index| name(index)).collect();
            let pair = [path[0], path[path.len() - 1]];
            write_json(
                output,
                &json!({ "leak": { "pair": pair, "path": path }, "connected_pairs": leak.pairs }),
            )
        }
    })?;
    tell(if leak.from_before {
        "hint: the first step happened before this plan and cannot be removed; `fedcompetitors replan` takes it into account"
    } else {
        "hint: remove one edge of this path, or make a new plan"
    });
    Ok(Outcome::Finding)
}

fn check_claim(
    arguments: &VerifyArguments,
    competing: &CompetingGraph,
    plan: &StatedPlan,
    claimed: &Certificate,
) -> Result<Outcome, Failure> {
    let flaw = plan.check(competing, claimed).err();
    let words = flaw.map(|flaw| flaw.describe(plan.participants()));
    print(|output| match (arguments.format, &words) {
        (Format::Json, words) => {
            write_json(output, &json!({ "holds": words.is_none(), "flaw": words }))
        }
        (Format::Text, None) => {
            writeln!(
                output,
                "The certificate holds: it proves that the plan keeps the rule `{}`.",
                plan.rule
            )
        }
        (Format::Text, Some(words)) => {
            writeln!(output, "The certificate does not hold for this plan: {words}.")
        }
    })?;
    if flaw.is_none() {
        return Ok(Outcome::Done);
    }
    tell("hint: the plan itself keeps the rule; write its certificate with `--certificate FILE`");
    Ok(Outcome::Finding)
}
