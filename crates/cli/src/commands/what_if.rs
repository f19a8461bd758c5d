//! `select --without`, `--if-competing`, `--if-independent`: what a change would cost or
//! bring each participant.

use fedcompetitors_files::{Graphs, write_json};
use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use fedcompetitors_report::{Effect, Worth, effects_text};
use fedcompetitors_select::{Bounded, Plan, SampleCounts, Setting};
use serde_json::json;

use super::decide::Decider;
use crate::{
    Failure, Outcome,
    arguments::{PlanFormat, SelectArguments},
    interrupt::was_interrupted,
    output::{print, warn},
};

pub fn what_if(
    arguments: &SelectArguments,
    graphs: &Graphs,
    samples: Option<&SampleCounts>,
) -> Result<Outcome, Failure> {
    let participants = graphs.benefit.participants();
    let asked = &arguments.what_if;
    let find = |name: &String| participants.find(name);
    let absent = asked.without.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut competing = graphs.competing.clone();
    let shown = |index| fedcompetitors_graphs::shown(participants.name(index));
    for pair in asked.if_competing.chunks_exact(2) {
        let (a, b) = (find(&pair[0])?, find(&pair[1])?);
        if competing.competes(a, b) {
            warn(&format!("\"{}\" and \"{}\" already compete", shown(a), shown(b)));
        }
        competing = competing.declared(&[(a, b)])?;
    }
    for pair in asked.if_independent.chunks_exact(2) {
        let (a, b) = (find(&pair[0])?, find(&pair[1])?);
        if !competing.competes(a, b) {
            warn(&format!(
                "\"{}\" and \"{}\" do not compete in the first place",
                shown(a),
                shown(b)
            ));
        }
        competing = competing.reconciled(a, b);
    }
    let benefit = graphs.benefit.without(&absent);
    let mut decider = Decider::of(&arguments.policy, samples, 2)?;
    let now = decider.plan(&Setting::new(&graphs.competing, &graphs.benefit));
    let then = decider.plan(&Setting::new(&competing, &benefit).without(&absent));
    if was_interrupted() {
        warn("interrupted: the searches for the two plans had different times");
    }
    let effects = effects((&graphs.benefit, &now.usage), (&benefit, &then.usage), &absent);
    print(|output| match arguments.format {
        PlanFormat::Json => {
            let rows = effects.iter().map(|effect| {
                let name = participants.name(effect.participant);
                json!({ "participant": name, "gets": effect.now, "would_get": effect.then })
            });
            let rows: Vec<_> = rows.collect();
            let mut value = json!({
                "policy": now.policy,
                "welfare": { "now": now.welfare, "then": then.welfare },
                "upper_bound": { "now": now.upper_bound, "then": then.upper_bound },
                "participants": rows,
            });
            if let (Some(now), Some(then)) = (now.diminishing, then.diminishing) {
                let bounded =
                    |one: Bounded| json!({ "value": one.value, "upper_bound": one.upper_bound });
                value["diminishing"] = json!({ "now": bounded(now), "then": bounded(then) });
            }
            write_json(output, &value)
        }
        PlanFormat::Csv => {
            let mut table = csv::Writer::from_writer(output);
            table.write_record(["participant", "gets", "would_get"])?;
            for effect in &effects {
                let then = effect.then.map(|then| then.to_string()).unwrap_or_default();
                table.write_record([
                    participants.name(effect.participant),
                    &effect.now.to_string(),
                    &then,
                ])?;
            }
            table.flush()
        }
        PlanFormat::Text => {
            let worth =
                |plan: &Plan| Worth { welfare: plan.welfare, upper_bound: plan.upper_bound };
            let searched = decider.seeks_the_largest_welfare();
            let text = effects_text(participants, &effects, worth(&now), worth(&then), searched);
            output.write_all(text.as_bytes())?;
            if let (Some(now), Some(then)) = (now.diminishing, then.diminishing) {
                writeln!(output, "Value by diminishing returns now {now}.")?;
                writeln!(output, "Value by diminishing returns then {then}.")?;
            }
            Ok(())
        }
    })?;
    Ok(Outcome::Done)
}

/// What each gets by one plan and would get by another, without those who would not be there.
pub fn effects(
    now: (&BenefitGraph, &UsageGraph),
    then: (&BenefitGraph, &UsageGraph),
    absent: &[usize],
) -> Vec<Effect> {
    let gets = |(benefit, usage): (&BenefitGraph, &UsageGraph), to: usize| {
        benefit.received(to, |from| usage.uses(from, to))
    };
    let effect = |to: usize| Effect {
        participant: to,
        now: gets(now, to),
        then: (!absent.contains(&to)).then(|| gets(then, to)),
    };
    (0..now.0.participants().len()).map(effect).collect()
}
