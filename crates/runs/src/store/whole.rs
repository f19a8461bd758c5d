//! Is what is stored still what was written? There is a hash over all that is stored of a training, one over each
//! estimate, and one over the rest and these hashes. Every change renews them, so a run that was interrupted is
//! checked before it goes on. They show damage: anybody who can write to the folder can
//! compute them again.

use rusqlite::{Connection, Transaction, params, types::ValueRef};
use sha2::{Digest, Sha256};

use fedcompetitors_federate::exchange::hex;

use super::{Store, estimates::title};
use crate::RunError;

/// All that is stored of a training, and what its figures are read with.
const TRAINING: [&str; 15] = [
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
    "SELECT participant, file, file_hash, hash, provenance, parts FROM models WHERE training = ?1
     ORDER BY participant",
    "SELECT round, gradients, hash FROM checkpoints WHERE training = ?1",
    "SELECT participant, entry, receipt FROM kept WHERE training = ?1 ORDER BY participant, entry",
    "SELECT stops.round, message FROM stops JOIN trainings USING (session, method) WHERE id = ?1",
];

/// All that is stored of an estimate.
const ESTIMATE: [&str; 3] = [
    "SELECT id, session, estimator, gradients, entries, before, known FROM estimates WHERE id = ?1",
    "SELECT entry, round, sender, receiver, content, made_of, provenance, bytes, hash
     FROM estimate_ledger WHERE estimate = ?1 ORDER BY entry",
    "SELECT helper, helped, benefit, related FROM benefits JOIN estimates USING (session, estimator)
     WHERE id = ?1 ORDER BY helper, helped",
];

/// All else that is stored of a run, and which estimates and trainings it has.
const RUN: [&str; 8] = [
    "SELECT key, value FROM run WHERE key <> 'hash' ORDER BY key",
    "SELECT id, name, source, source_hash, samples, few FROM participants ORDER BY id",
    "SELECT a, b, since, heard FROM competing ORDER BY a, b",
    "SELECT session, participant, training, validation, test, hash, tested FROM splits
     ORDER BY session, participant",
    "SELECT id, hash FROM estimates ORDER BY id",
    "SELECT id, hash FROM trainings ORDER BY id",
    "SELECT method, metric, participant, value, low, high, gain, gain_low, gain_high FROM figures
     ORDER BY id",
    "SELECT session, method, round, message FROM stops
     WHERE (session, method) NOT IN (SELECT session, method FROM trainings) ORDER BY session, method",
];

/// The hash of what these queries give, with this number where they ask for one.
fn hash(connection: &Connection, queries: &[&str], id: Option<i64>) -> rusqlite::Result<String> {
    let mut hasher = Sha256::new();
    for query in queries {
        match id {
            Some(id) => add(connection, query, [id], &mut hasher)?,
            None => add(connection, query, [], &mut hasher)?,
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Renews the hash of a training.
pub fn seal_training(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<usize> {
    let hash = hash(transaction, &TRAINING, Some(id))?;
    transaction.execute("UPDATE trainings SET hash = ? WHERE id = ?", params![hash, id])
}

/// Renews the hash of an estimate.
pub fn seal_estimate(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<usize> {
    let hash = hash(transaction, &ESTIMATE, Some(id))?;
    transaction.execute("UPDATE estimates SET hash = ? WHERE id = ?", params![hash, id])
}

/// Renews the hashes of trainings that are not done, and that of the run.
pub fn seal(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut unfinished =
        transaction.prepare_cached("SELECT id FROM trainings WHERE gradients IS NULL")?;
    let ids = unfinished.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for id in ids {
        seal_training(transaction, id)?;
    }
    let hash = hash(transaction, &RUN, None)?;
    transaction.execute("INSERT OR REPLACE INTO run VALUES ('hash', ?)", [hash])?;
    Ok(())
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
    /// The estimates and trainings of which something is not what was written; empty is the title of the run itself.
    pub fn altered(&self) -> Result<Vec<String>, RunError> {
        let mut altered = Vec::new();
        let of = |queries: &[&str], id: Option<i64>| {
            hash(&self.connection, queries, id).map_err(|error| self.stored(error))
        };
        let all = "SELECT id, session, estimator, hash FROM estimates ORDER BY id";
        for (id, session, estimator, hash) in self.rows(all, [], sealed)? {
            if hash != Some(of(&ESTIMATE, Some(id))?) {
                altered.push(format!("{}, {session}", title(&estimator)));
            }
        }
        let all = "SELECT id, session, method, hash FROM trainings ORDER BY id";
        for (id, session, method, hash) in self.rows(all, [], sealed)? {
            if hash != Some(of(&TRAINING, Some(id))?) {
                altered.push(format!("{method}, {session}"));
            }
        }
        if self.said("hash")? != Some(of(&RUN, None)?) {
            altered.push(String::new());
        }
        Ok(altered)
    }

    /// Is everything what it was when it was written?
    pub fn check_all(&self) -> Result<(), RunError> {
        self.check_pages()?;
        self.check_hashes()
    }

    /// The same without the pages that hold nothing of that.
    pub fn check_hashes(&self) -> Result<(), RunError> {
        match self.altered()?.first() {
            None => Ok(()),
            Some(title) if title.is_empty() => {
                Err(self.damaged("it was changed after it was written".into()))
            }
            Some(title) => {
                Err(self.damaged(format!("{title}: it was changed after it was written")))
            }
        }
    }
}

/// Number, session, name and hash of an estimate or a training.
type Sealed = (i64, String, String, Option<String>);

fn sealed(row: &rusqlite::Row<'_>) -> rusqlite::Result<Sealed> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// Renews all hashes of a record, as anybody who can write to the folder can: for tests of what is found all the same.
#[doc(hidden)]
pub fn reseal(folder: &std::path::Path) -> Result<(), RunError> {
    let mut store = Store::open(folder)?;
    store.change(|transaction| {
        type Seal = fn(&Transaction<'_>, i64) -> rusqlite::Result<usize>;
        let seals: [(&str, Seal); 2] = [("estimates", seal_estimate), ("trainings", seal_training)];
        for (table, seal) in seals {
            let mut all = transaction.prepare(&format!("SELECT id FROM {table}"))?;
            for id in all.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()? {
                seal(transaction, id)?;
            }
        }
        Ok(())
    })
}
