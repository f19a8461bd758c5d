//! Reads a run directory for the auditor, which believes nothing of it.

use std::path::Path;

use fedcompetitors_audit::Auditor;
use fedcompetitors_federate::exchange::{self, hex};
use fedcompetitors_graphs::{CompetingGraph, Rule};
use fedcompetitors_record::{
    Audit, Competition, Declared, EstimateHistory, Flow, FoundModel, Ledger, Line, ModelHistory,
    Origin, PlanHistory, TrainingHistory,
};
use sha2::{Digest, Sha256};

use super::{
    RunError, Store,
    models::file_hash,
    read_model,
    store::{estimate_title, from_json, json, plan_edges},
    summary,
};

/// Audits everything that a run directory holds. Who competes and the rule are those of the record where
/// they are not given.
///
/// # Errors
/// If the run directory cannot be read.
pub fn audit(
    folder: &Path,
    competing: Option<&CompetingGraph>,
    rule: Option<Rule>,
) -> Result<Audit, RunError> {
    let store = Store::read(folder)?;
    store.check_pages()?;
    let origin = origin(&store)?;
    let declared = competing.map(|competing| Declared {
        names: competing.participants().names().map(str::to_owned).collect(),
        reports: competing.all_reports().collect(),
    });
    let mut auditor = Auditor::new(&origin, declared.as_ref(), rule);
    let estimates: Vec<(i64, String, String, u64)> = store.rows(
        "SELECT id, session, estimator, known FROM estimates ORDER BY id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    for (id, session, estimator, known) in estimates {
        let title = format!("{}, {session}", estimate_title(&estimator));
        let ledger = ledger(&store, ["estimate_ledger", "estimate", "estimates"], id)?;
        auditor.estimate(&EstimateHistory { title, known, ledger });
    }
    for training in store.trainings()? {
        let id = training.id;
        auditor.training(&TrainingHistory {
            title: format!("{}, {}", training.method, training.session),
            method: training.method,
            role: training.role,
            rule: training.rule,
            is_done: training.gradients.is_some(),
            usage: store.rows(
                "SELECT helper, helped FROM usage WHERE training = ?",
                [id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?,
            plans: plans(&store, id)?,
            ledger: ledger(&store, ["ledger", "training", "trainings"], id)?,
            models: models(&store, id, folder)?,
            flows: store
                .flows(id)?
                .into_iter()
                .map(|(flow, pairs)| Some(Flow { pairs: from_json(&pairs)?, ..flow }))
                .collect(),
        });
    }
    Ok(auditor.finish())
}

fn origin(store: &Store) -> Result<Origin, RunError> {
    let names = store
        .rows("SELECT id, name FROM participants", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let competitions =
        store.rows("SELECT a, b, since, heard FROM competing ORDER BY a, b", [], |row| {
            let (a, b) = (row.get(0)?, row.get(1)?);
            Ok(Competition { a, b, since: row.get(2)?, heard: row.get(3)? })
        })?;
    let reports: Vec<(usize, usize)> = competitions.iter().map(|one| (one.a, one.b)).collect();
    let hash = hex(&Sha256::digest(json(&reports)));
    Ok(Origin {
        status: summary::status(store)?,
        names: names.into_iter().collect(),
        is_other_competition: store.said("competing")? != Some(hash),
        competitions,
        stops: store.stops()?,
        altered: store.altered()?,
    })
}

/// A ledger, given its table, the column that says whose it is, and the table of those.
fn ledger(store: &Store, [table, of, owners]: [&str; 3], id: i64) -> Result<Ledger, RunError> {
    let lines = store.rows(
        &format!(
            "SELECT entry, round, sender, receiver, content, made_of, provenance, bytes
             FROM {table} WHERE {of} = ? ORDER BY entry"
        ),
        [id],
        |row| {
            Ok(Line {
                entry: row.get(0)?,
                round: row.get(1)?,
                sender: row.get(2)?,
                receiver: row.get(3)?,
                content: row.get::<_, String>(4)?.parse().ok(),
                made_of: from_json(&row.get::<_, String>(5)?),
                provenance: from_json(&row.get::<_, String>(6)?),
                bytes: row.get(7)?,
            })
        },
    )?;
    let entries =
        store
            .rows(&format!("SELECT entries FROM {owners} WHERE id = ?"), [id], |row| row.get(0))?;
    Ok(Ledger { lines, entries: entries.first().copied().unwrap_or(0) })
}

fn plans(store: &Store, training: i64) -> Result<Vec<PlanHistory>, RunError> {
    store.rows(
        "SELECT round, known, plan FROM plans WHERE training = ? ORDER BY id",
        [training],
        |row| {
            let usage = plan_edges(&row.get::<_, String>(2)?);
            Ok(PlanHistory { round: row.get(0)?, known: row.get(1)?, usage })
        },
    )
}

fn models(store: &Store, training: i64, folder: &Path) -> Result<Vec<ModelHistory>, RunError> {
    store.rows(
        "SELECT participant, file, hash, provenance, file_hash FROM models WHERE training = ?
         ORDER BY participant",
        [training],
        |row| {
            let file: Option<String> = row.get(1)?;
            Ok(ModelHistory {
                participant: row.get(0)?,
                hash: row.get(2)?,
                provenance: from_json(&row.get::<_, String>(3)?),
                file_hash: row.get(4)?,
                file: file.map(|file| {
                    let found = found(&folder.join(&file)).map_err(|error| error.to_string());
                    (file, found)
                }),
            })
        },
    )
}

/// A model's file as it is found.
fn found(path: &Path) -> Result<FoundModel, RunError> {
    let (about, parameters) = read_model(path)?;
    Ok(FoundModel {
        file_hash: file_hash(path)?,
        hash: hex(&exchange::hash(&parameters)),
        stated_hash: about.hash,
        participant: about.participant,
        provenance: about.provenance.into_iter().collect(),
    })
}
