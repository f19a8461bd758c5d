//! `select --without`, `--if-competing`, `--if-independent`: what a change would cost or
//! bring each participant.

use fedcompetitors_files::{Graphs, write_json};
use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use fedcompetitors_report::{Effect, effects_text};
use fedcompetitors_select::Setting;
use serde_json::json;

use super::select::policy;
use crate::{
    Failure, Outcome,
    arguments::{PlanFormat, SelectArguments},
    interrupt::while_searching,
    output::print,
};

pub fn what_if(arguments: &SelectArguments, graphs: &Graphs) -> Result<Outcome, Failure> {
    let participants = graphs.benefit.participants();
    let asked = &arguments.what_if;
    let find = |name: &String| participants.find(name);
    let absent = asked.without.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut competing = graphs.competing.clone();
    for pair in asked.if_competing.chunks_exact(2) {
        competing = competing.declared(find(&pair[0])?, find(&pair[1])?)?;
    }
    for pair in asked.if_independent.chunks_exact(2) {
        competing = competing.reconciled(find(&pair[0])?, find(&pair[1])?);
    }
    let benefit = graphs.benefit.without(&absent);
    let decide = |setting: &Setting<'_>| {
        while_searching(|stop| {
            policy(arguments.policy, arguments.effort.objective, arguments.effort.effort(stop))
                .plan(setting)
        })
    };
    let now = decide(&Setting::new(&graphs.competing, &graphs.benefit));
    let then = decide(&Setting::new(&competing, &benefit).without(&absent));
    let gets = |benefit: &BenefitGraph, usage: &UsageGraph, to: usize| {
        benefit.received(to, |from| usage.uses(from, to))
    };
    let effect = |to: usize| Effect {
        participant: to,
        now: gets(&graphs.benefit, &now.usage, to),
        then: (!absent.contains(&to)).then(|| gets(&benefit, &then.usage, to)),
    };
    let effects: Vec<Effect> = (0..participants.len()).map(effect).collect();
    print(|output| match arguments.format {
        PlanFormat::Json => {
            let rows = effects.iter().map(|effect| {
                let name = participants.name(effect.participant);
                json!({ "participant": name, "gets": effect.now, "would_get": effect.then })
            });
            let rows: Vec<_> = rows.collect();
            let welfare = json!({ "now": now.welfare, "then": then.welfare });
            write_json(
                output,
                &json!({ "policy": now.policy, "welfare": welfare, "participants": rows }),
            )
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
            let text = effects_text(participants, &effects, now.welfare, then.welfare);
            output.write_all(text.as_bytes())
        }
    })?;
    Ok(Outcome::Done)
}
