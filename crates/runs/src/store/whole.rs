//! Is what is kept still what was written? A hash over all that is kept of a training, and one
//! over the rest when the run is complete. It tells damage: whoever cheats can make it anew.

use rusqlite::{Connection, types::ValueRef};
use sha2::{Digest, Sha256};

use fedcompetitors_federate::exchange::hex;
use fedcompetitors_record::Status;

use super::Store;
use crate::RunError;

/// All that is kept of a training when it ends, and what its figures are read with.
const TRAINING: [&str; 12] = [
    "SELECT id, session, method, role, rule, policy, trainer, estimator, rounds, gradients, certificate, welfare,
            upper_bound, note, forecast, entries, (SELECT value FROM run WHERE key = 'name')
     FROM trainings WHERE id = ?1",
    "SELECT id, name FROM participants WHERE ?1 IS NOT NULL ORDER BY id",
    "SELECT helper, helped FROM usage WHERE training = ?1 ORDER BY helper, helped",
    "SELECT round, known, plan, certificate, why FROM plans WHERE training = ?1 ORDER BY id",
    "SELECT helper, helped, reason FROM refusals WHERE training = ?1 ORDER BY helper, helped",
    "SELECT source, statement, pairs FROM flows WHERE training = ?1 ORDER BY source",
    "SELECT participant, round, split, metric, value FROM metrics WHERE training = ?1
     ORDER BY participant, round, split, metric",
    "SELECT disclosure FROM disclosures WHERE training = ?1 ORDER BY id",
    "SELECT participant, outputs FROM predictions WHERE training = ?1 ORDER BY participant",
    "SELECT entry, round, sender, receiver, content, made_of, provenance, bytes, hash
     FROM ledger WHERE training = ?1 ORDER BY entry",
    "SELECT round, participant, kind FROM incidents WHERE training = ?1 ORDER BY id",
    "SELECT participant, file, hash, provenance, parts FROM models WHERE training = ?1
     ORDER BY participant",
];

/// All else that is kept of a run that is complete, and which trainings it has.
const RUN: [&str; 9] = [
    "SELECT key, value FROM run WHERE key <> 'hash' ORDER BY key",
    "SELECT id, name, source, source_hash, samples, few FROM participants ORDER BY id",
    "SELECT a, b, since, heard FROM competing ORDER BY a, b",
    "SELECT session, participant, training, validation, test, hash, tested FROM splits
     ORDER BY session, participant",
    "SELECT id, session, estimator, gradients, entries, before, known FROM estimates ORDER BY id",
    "SELECT estimate, entry, round, sender, receiver, content, made_of, provenance, bytes, hash
     FROM estimate_ledger ORDER BY estimate, entry",
    "SELECT session, estimator, helper, helped, benefit, related FROM benefits
     ORDER BY session, estimator, helper, helped",
    "SELECT id, hash FROM trainings ORDER BY id",
    "SELECT method, metric, participant, value, low, high, gain, gain_low, gain_high FROM figures
     ORDER BY id",
];

/// The hash of all that is kept of a training.
pub fn training(connection: &Connection, id: i64) -> rusqlite::Result<String> {
    let mut hasher = Sha256::new();
    TRAINING.iter().try_for_each(|query| add(connection, query, [id], &mut hasher))?;
    Ok(hex(&hasher.finalize()))
}

/// The hash of all else.
pub fn run(connection: &Connection) -> rusqlite::Result<String> {
    let mut hasher = Sha256::new();
    RUN.iter().try_for_each(|query| add(connection, query, [], &mut hasher))?;
    Ok(hex(&hasher.finalize()))
}

/// Adds the rows of a query, so that no two tables look the same.
fn add(
    connection: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
    hasher: &mut Sha256,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query(parameters)?;
    let mut count = 0_u64;
    while let Some(row) = rows.next()? {
        count += 1;
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => hasher.update([0]),
                ValueRef::Integer(number) => {
                    hasher.update([1]);
                    hasher.update(number.to_le_bytes());
                }
                ValueRef::Real(number) => {
                    hasher.update([2]);
                    hasher.update(number.to_le_bytes());
                }
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    hasher.update([3]);
                    hasher.update((bytes.len() as u64).to_le_bytes());
                    hasher.update(bytes);
                }
            }
        }
    }
    hasher.update([4]);
    hasher.update(count.to_le_bytes());
    Ok(())
}

impl Store {
    /// The trainings, by method and session, of which something is not what it was when they ended;
    /// empty is the title of the run itself.
    pub fn altered(&self) -> Result<Vec<String>, RunError> {
        let mut altered = Vec::new();
        let trainings: Vec<(i64, String, String, bool, Option<String>)> = self.rows(
            "SELECT id, session, method, gradients IS NOT NULL, hash FROM trainings ORDER BY id",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )?;
        for (id, session, method, is_done, hash) in trainings {
            let same = match hash {
                None => !is_done,
                Some(hash) => {
                    hash == training(&self.connection, id).map_err(|error| self.stored(error))?
                }
            };
            if !same {
                altered.push(format!("{method}, {session}"));
            }
        }
        let is_running = self.said("status")?.as_deref() == Some(Status::Running.name());
        let hash = run(&self.connection).map_err(|error| self.stored(error))?;
        if !is_running && self.said("hash")? != Some(hash) {
            altered.push(String::new());
        }
        Ok(altered)
    }

    /// Is everything what it was when it was written?
    pub fn check_all(&self) -> Result<(), RunError> {
        self.check_pages()?;
        match self.altered()?.first() {
            None => Ok(()),
            Some(title) if title.is_empty() => {
                Err(self.damaged("it was changed after the run ended".into()))
            }
            Some(title) => {
                Err(self.damaged(format!("{title}: it was changed after the training ended")))
            }
        }
    }
}
