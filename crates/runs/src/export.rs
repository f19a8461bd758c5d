//! A run's tables as CSV, by name instead of number, without anything that differs from
//! one run to the next: same seed, same bytes.

use std::{
    io::{self, Write},
    path::Path,
};

use fedcompetitors_files::{atomically, make_folder};
use rusqlite::types::Value;

use super::{RunError, Store, store::StoredPrediction};

/// The table of all figures in long form: one line a figure.
const METRICS: &str = "
    SELECT (SELECT value FROM run WHERE key = 'name') AS run, method, session,
           participants.name AS participant, round, split, metric, value
    FROM metrics JOIN trainings ON trainings.id = training
    JOIN participants ON participants.id = participant
    ORDER BY training, metrics.round, metrics.participant, split, metric";

/// Who says that it competes with whom, as `verify` reads it, as far as the last plan knew: about
/// what was declared behind that it proves nothing.
const COMPETING: &str = "
    SELECT a.name AS a, b.name AS b FROM competing
    JOIN participants AS a ON a.id = competing.a JOIN participants AS b ON b.id = competing.b
    WHERE heard <= ifnull((SELECT known FROM plans ORDER BY id DESC LIMIT 1), heard)
    ORDER BY a.id, b.id";

/// Every table that is exported, with its query.
const TABLES: [(&str, &str); 17] = [
    (
        "participants.csv",
        // As `--samples` of `select` reads it.
        "SELECT name AS participant, samples, few, source, source_hash FROM participants ORDER BY id",
    ),
    (
        // As `--competing` reads it.
        "competing.csv",
        "SELECT a.name AS a, b.name AS b, since FROM competing
         JOIN participants AS a ON a.id = competing.a JOIN participants AS b ON b.id = competing.b
         ORDER BY a.id, b.id",
    ),
    (
        "splits.csv",
        "SELECT session, name AS participant, training, validation, test, hash FROM splits
         JOIN participants ON participants.id = participant ORDER BY session, participant",
    ),
    (
        // As `assignments` in `[evaluation]` reads it.
        "assignments.csv",
        "SELECT name AS participant, CAST(substr(session, 8) AS INTEGER) AS repeat, value AS row,
                CAST(substr(session, instr(session, 'fold ') + 5) AS INTEGER) AS fold
         FROM splits JOIN participants ON participants.id = participant, json_each(tested)
         WHERE session <> 'final' ORDER BY repeat, participant, row",
    ),
    (
        // As `--benefit` reads it: the benefits that the run's own plan was made of.
        "benefits.csv",
        "SELECT helper.name AS \"from\", helped.name AS \"to\", benefit, related FROM benefits
         JOIN (SELECT session, estimator FROM trainings ORDER BY id LIMIT 1) USING (session, estimator)
         JOIN participants AS helper ON helper.id = benefits.helper
         JOIN participants AS helped ON helped.id = benefits.helped
         ORDER BY helped.id, helper.id",
    ),
    (
        "estimates.csv",
        "SELECT session, estimator, helper.name AS \"from\", helped.name AS \"to\", benefit, related FROM benefits
         JOIN participants AS helper ON helper.id = benefits.helper
         JOIN participants AS helped ON helped.id = benefits.helped
         ORDER BY session, estimator, helped.id, helper.id",
    ),
    (
        "trainings.csv",
        "SELECT session, method, policy, rule, trainer, estimator, rounds, gradients, welfare, upper_bound,
                note, certificate
         FROM trainings ORDER BY id",
    ),
    (
        "usage.csv",
        "SELECT session, method, helper.name AS \"from\", helped.name AS \"to\" FROM usage
         JOIN trainings ON trainings.id = training
         JOIN participants AS helper ON helper.id = usage.helper
         JOIN participants AS helped ON helped.id = usage.helped
         ORDER BY training, helped.id, helper.id",
    ),
    (
        "plans.csv",
        "SELECT session, method, round, why, plan, plans.certificate FROM plans
         JOIN trainings ON trainings.id = training ORDER BY training, plans.id",
    ),
    (
        "refusals.csv",
        "SELECT session, method, helper.name AS \"from\", helped.name AS \"to\", reason FROM refusals
         JOIN trainings ON trainings.id = training
         JOIN participants AS helper ON helper.id = refusals.helper
         JOIN participants AS helped ON helped.id = refusals.helped
         ORDER BY training, helped.id, helper.id",
    ),
    (
        "flows.csv",
        "SELECT session, method, source, statement, pairs FROM flows
         JOIN trainings ON trainings.id = training ORDER BY training, source",
    ),
    ("metrics.csv", METRICS),
    (
        "figures.csv",
        "SELECT method, metric, ifnull(name, '') AS participant, value, low, high, gain, gain_low,
                gain_high
         FROM figures LEFT JOIN participants ON participants.id = participant ORDER BY figures.id",
    ),
    (
        "ledger.csv",
        // Estimates first, as they come before the trainings that need them.
        "SELECT session, method, entry, round, ifnull(sender.name, '') AS sender,
                ifnull(receiver.name, '') AS receiver, content, made_of, provenance, bytes, moved.hash
         FROM (SELECT 0 AS stage, estimates.id, session, estimator || ' estimate' AS method,
                      estimate_ledger.* FROM estimate_ledger JOIN estimates ON estimates.id = estimate
               UNION ALL
               SELECT 1, trainings.id, session, method, ledger.*
               FROM ledger JOIN trainings ON trainings.id = training) AS moved
         LEFT JOIN participants AS sender ON sender.id = moved.sender
         LEFT JOIN participants AS receiver ON receiver.id = moved.receiver
         ORDER BY stage, moved.id, entry",
    ),
    (
        "incidents.csv",
        "SELECT session, method, round, name AS participant, kind FROM incidents
         JOIN trainings ON trainings.id = training
         JOIN participants ON participants.id = participant ORDER BY incidents.id",
    ),
    ("stops.csv", "SELECT session, method, round, message FROM stops ORDER BY session, method"),
    (
        "models.csv",
        "SELECT session, method, name AS participant, file, models.hash, provenance, parts FROM models
         JOIN trainings ON trainings.id = training
         JOIN participants ON participants.id = participant ORDER BY training, participant",
    ),
];

/// Writes the figures of a run in long form, as CSV.
///
/// # Errors
/// If the run cannot be read or was changed; what the writer says is told apart from that.
pub fn write_metrics(folder: &Path, writer: &mut dyn Write) -> Result<io::Result<()>, RunError> {
    let store = Store::read(folder)?;
    store.check_all()?;
    write(&store, METRICS, writer)
}

/// Writes every table of a run as CSV into a folder, the federation file with every default
/// written out, and in a folder `proof` what `verify` reads.
///
/// # Errors
/// If the run cannot be read or was changed, or something cannot be written.
pub fn export(folder: &Path, into: &Path) -> Result<(), RunError> {
    let store = Store::read(folder)?;
    store.check_all()?;
    make_folder(into)?;
    for (file, query) in TABLES {
        let mut table = Vec::new();
        let path = into.join(file);
        write(&store, query, &mut table)?.map_err(|error| RunError::unwritable(&path, error))?;
        atomically(&path, |writer| writer.write_all(&table))?;
    }
    let predictions = into.join("predictions.csv");
    let mut table = Vec::new();
    write_predictions(&store, &mut table)?
        .map_err(|error| RunError::unwritable(&predictions, error))?;
    atomically(&predictions, |writer| writer.write_all(&table))?;
    write_proof(&store, &into.join("proof"))?;
    let federation = store.said("federation")?.unwrap_or_default();
    atomically(&into.join("federation.toml"), |writer| writer.write_all(federation.as_bytes()))?;
    Ok(())
}

/// What `verify` reads, as the texts of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Who competes, as CSV.
    pub competing: Vec<u8>,
    /// The plan, as JSON.
    pub plan: String,
    /// Its certificate, as JSON.
    pub certificate: String,
}

/// What `verify` reads of a run; nothing before it has a plan.
///
/// # Errors
/// If the run cannot be read or was changed.
pub fn proof(folder: &Path) -> Result<Option<Proof>, RunError> {
    let store = Store::read(folder)?;
    store.check_all()?;
    proof_of(&store)
}

/// Who competes, the plan of the first training (the federation's own method in its final session)
/// and its certificate.
fn proof_of(store: &Store) -> Result<Option<Proof>, RunError> {
    let trainings: Vec<(i64, Proven)> = store.rows(
        "SELECT id, policy, rule, welfare, upper_bound, certificate FROM trainings
         WHERE certificate <> '' AND welfare IS NOT NULL ORDER BY id LIMIT 1",
        [],
        |row| {
            let (policy, rule, welfare) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let (upper_bound, certificate) = (row.get(4)?, row.get(5)?);
            Ok((row.get(0)?, Proven { policy, rule, welfare, upper_bound, certificate }))
        },
    )?;
    let Some((id, proven)) = trainings.into_iter().next() else {
        return Ok(None);
    };
    let plan = match store.last_plan(id)? {
        Some(plan) => plan,
        None => proven.plan(store, id)?,
    };
    let mut competing = Vec::new();
    write(store, COMPETING, &mut competing)?
        .map_err(|error| RunError::unwritable(Path::new("competing.csv"), error))?;
    Ok(Some(Proof { competing, plan, certificate: proven.certificate }))
}

/// Writes what `verify` reads.
fn write_proof(store: &Store, into: &Path) -> Result<(), RunError> {
    let Some(proof) = proof_of(store)? else {
        return Ok(());
    };
    make_folder(into)?;
    for (name, text) in [
        ("competing.csv", &*proof.competing),
        ("plan.json", proof.plan.as_bytes()),
        ("certificate.json", proof.certificate.as_bytes()),
    ] {
        atomically(&into.join(name), |writer| writer.write_all(text))?;
    }
    Ok(())
}

/// A training with a proof.
struct Proven {
    policy: String,
    rule: String,
    welfare: f64,
    upper_bound: f64,
    certificate: String,
}

impl Proven {
    /// The text of the plan's file, where only its edges are kept.
    fn plan(&self, store: &Store, training: i64) -> Result<String, RunError> {
        let names: Vec<String> =
            store.rows("SELECT name FROM participants ORDER BY id", [], |row| row.get(0))?;
        let usage = store.rows(
            "SELECT helper.name, helped.name, ifnull(benefit, 0.0) FROM usage
             JOIN trainings ON trainings.id = training
             JOIN participants AS helper ON helper.id = usage.helper
             JOIN participants AS helped ON helped.id = usage.helped
             LEFT JOIN benefits ON benefits.session = trainings.session
              AND benefits.estimator = trainings.estimator
              AND benefits.helper = usage.helper AND benefits.helped = usage.helped
             WHERE training = ? ORDER BY usage.helped, usage.helper",
            [training],
            |row| {
                let (from, to): (String, String) = (row.get(0)?, row.get(1)?);
                Ok(serde_json::json!({ "from": from, "to": to, "benefit": row.get::<_, f64>(2)? }))
            },
        )?;
        let plan = serde_json::json!({
            "format": "fedcompetitors-plan/1",
            "policy": self.policy,
            "rule": self.rule,
            "participants": names,
            "usage": usage,
            "welfare": self.welfare,
            "upper_bound": self.upper_bound,
        });
        Ok(format!("{plan:#}\n"))
    }
}

fn write(store: &Store, query: &str, writer: &mut dyn Write) -> Result<io::Result<()>, RunError> {
    let names = store.columns(query)?;
    let rows: Vec<Vec<String>> = store.rows(query, [], |row| {
        (0..names.len()).map(|at| Ok(cell(row.get(at)?))).collect::<rusqlite::Result<_>>()
    })?;
    let mut table = csv::Writer::from_writer(writer);
    let mut records = || -> csv::Result<()> {
        table.write_record(&names)?;
        rows.iter().try_for_each(|row| table.write_record(row))
    };
    Ok(records().map_err(io::Error::from).and_then(|()| table.flush()))
}

/// Writes what each model predicts for the rows of its test: its outputs, which for two classes are the
/// logarithm of the odds of the second.
fn write_predictions(store: &Store, writer: &mut dyn Write) -> Result<io::Result<()>, RunError> {
    let participants: Vec<String> =
        store.rows("SELECT name FROM participants ORDER BY id", [], |row| row.get(0))?;
    let predictions = store.predictions()?;
    let mut table = csv::Writer::from_writer(writer);
    let mut records = || -> csv::Result<()> {
        table.write_record(["method", "session", "participant", "row", "place", "output"])?;
        for StoredPrediction { method, session, participant, rows, outputs } in &predictions {
            let session = session.to_string();
            let places = outputs.len() / rows.len().max(1);
            for (row, outputs) in rows.iter().zip(outputs.chunks(places.max(1))) {
                for (place, output) in outputs.iter().enumerate() {
                    let (row, place) = (row.to_string(), place.to_string());
                    let (name, output) = (&participants[*participant], output.to_string());
                    table.write_record([method, &session, name, &row, &place, &output])?;
                }
            }
        }
        Ok(())
    };
    Ok(records().map_err(io::Error::from).and_then(|()| table.flush()))
}

/// A value as text; what is undefined is empty.
fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Blob(bytes) => fedcompetitors_federate::exchange::hex(&bytes),
    }
}
