//! Who would help whom, in the store of a run, with the ledger of finding out.

use fedcompetitors_graphs::{BenefitGraph, Participants};
use rusqlite::{OptionalExtension, Transaction, params};

use super::{LAST_HEARD, Store, trainings::enter, whole};
use fedcompetitors_record::{Session, Transfer};

use crate::RunError;

/// Benefits that an estimator has found.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Who would help whom.
    pub benefit: BenefitGraph,
    /// How probable it is that a helper's task is that of the helped, where that was asked.
    pub related: Vec<(usize, usize, f64)>,
    /// The gradients that each participant took.
    pub gradients: u64,
    /// The first round of a training that knew of it.
    pub before: usize,
}

/// What an estimate is called where trainings are called by their method.
pub fn title(estimator: &str) -> String {
    format!("{estimator} estimate")
}

impl Store {
    /// What an estimator has found with a session.
    pub fn estimate(
        &self,
        participants: &Participants,
        session: Session,
        estimator: &str,
    ) -> Result<Option<Estimate>, RunError> {
        let found: Option<(u64, usize)> = self
            .connection
            .query_row(
                "SELECT gradients, before FROM estimates
                 WHERE session = ? AND estimator = ? AND gradients IS NOT NULL",
                params![session.to_string(), estimator],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(|error| self.stored(error))?;
        let Some((gradients, before)) = found else {
            return Ok(None);
        };
        let mut benefit = BenefitGraph::builder(participants);
        let edges: Vec<(usize, usize, f64)> = self.rows(
            "SELECT helper, helped, benefit FROM benefits WHERE session = ? AND estimator = ?",
            params![session.to_string(), estimator],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        for (from, to, value) in edges {
            benefit.add(from, to, value).map_err(|error| self.damaged(error.to_string()))?;
        }
        let related = self.related(session, estimator)?;
        Ok(Some(Estimate { benefit: benefit.build(), related, gradients, before }))
    }

    /// How probable it is that helpers' tasks are those of the helped: helper, helped, probability.
    pub fn related(
        &self,
        session: Session,
        estimator: &str,
    ) -> Result<Vec<(usize, usize, f64)>, RunError> {
        self.rows(
            "SELECT helper, helped, related FROM benefits
             WHERE session = ? AND estimator = ? AND related IS NOT NULL ORDER BY helper, helped",
            params![session.to_string(), estimator],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
    }

    /// What was found last with a session, where it was asked for more than once.
    pub fn last_estimate(
        &self,
        participants: &Participants,
        session: Session,
    ) -> Result<Option<Estimate>, RunError> {
        let last: Vec<String> = self.rows(
            "SELECT estimator FROM estimates WHERE session = ? AND gradients IS NOT NULL
             ORDER BY before DESC, id DESC LIMIT 1",
            [session.to_string()],
            |row| row.get(0),
        )?;
        match last.first() {
            Some(estimator) => self.estimate(participants, session, estimator),
            None => Ok(None),
        }
    }

    /// Keeps what an estimator has found, and what moved for that.
    pub fn add_estimate(
        &mut self,
        session: Session,
        estimator: &str,
        Estimate { benefit, related, gradients, before }: &Estimate,
        transfers: &[Transfer],
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            let id = begin(transaction, session, estimator, Some(*gradients), transfers)?;
            transaction.execute(
                "UPDATE estimates SET before = ? WHERE session = ? AND estimator = ?",
                params![before, session.to_string(), estimator],
            )?;
            transaction.execute(
                "DELETE FROM stops WHERE session = ? AND method = ?",
                params![session.to_string(), title(estimator)],
            )?;
            let mut insert =
                transaction.prepare("INSERT INTO benefits VALUES (?, ?, ?, ?, ?, ?)")?;
            for to in 0..benefit.participants().len() {
                for (from, value) in benefit.helpers(to) {
                    let found = related.iter().find(|one| (one.0, one.1) == (from, to));
                    let related = found.map(|one| one.2);
                    insert.execute(params![
                        session.to_string(),
                        estimator,
                        from,
                        to,
                        value,
                        related
                    ])?;
                }
            }
            whole::seal_estimate(transaction, id).map(drop)
        })
    }

    /// What an earlier estimate of this name has shown stays on record, under another one.
    pub fn set_aside(&mut self, session: Session, estimator: &str) -> Result<(), RunError> {
        self.change(|transaction| {
            let id: Option<i64> = transaction
                .query_row(
                    "SELECT id FROM estimates WHERE session = ? AND estimator = ?",
                    params![session.to_string(), estimator],
                    |row| row.get(0),
                )
                .optional()?;
            for table in ["benefits", "estimates"] {
                transaction.execute(
                    &format!(
                        "UPDATE {table} SET estimator = ?2 || ', earlier ' ||
                             (SELECT id FROM estimates WHERE session = ?1 AND estimator = ?2)
                         WHERE session = ?1 AND estimator = ?2"
                    ),
                    params![session.to_string(), estimator],
                )?;
            }
            id.map_or(Ok(0), |id| whole::seal_estimate(transaction, id)).map(drop)
        })
    }

    /// Keeps what has moved in an estimate that is not finished.
    pub fn keep_estimate(
        &mut self,
        session: Session,
        estimator: &str,
        transfers: &[Transfer],
    ) -> Result<(), RunError> {
        self.change(|transaction| begin(transaction, session, estimator, None, transfers).map(drop))
    }

    /// Says that the guard has stopped an estimate, and keeps what had moved until then.
    pub fn stop_estimate(
        &mut self,
        session: Session,
        estimator: &str,
        (round, message): (usize, &str),
        transfers: &[Transfer],
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            begin(transaction, session, estimator, None, transfers)?;
            transaction.execute(
                "INSERT OR REPLACE INTO stops VALUES (?, ?, ?, ?)",
                params![session.to_string(), title(estimator), round, message],
            )
        })?;
        Ok(())
    }
}

/// Begins an estimate anew: what is kept of one that was stopped, or is not finished, makes room. Returns its number.
fn begin(
    transaction: &Transaction<'_>,
    session: Session,
    estimator: &str,
    gradients: Option<u64>,
    transfers: &[Transfer],
) -> rusqlite::Result<i64> {
    // What was known when it began.
    let known: u64 = transaction.query_row(
        &format!(
            "SELECT ifnull((SELECT known FROM estimates WHERE session = ? AND estimator = ?),
                           {LAST_HEARD})"
        ),
        params![session.to_string(), estimator],
        |row| row.get(0),
    )?;
    transaction.execute(
        "DELETE FROM estimate_ledger WHERE estimate =
             (SELECT id FROM estimates WHERE session = ? AND estimator = ?)",
        params![session.to_string(), estimator],
    )?;
    for table in ["benefits", "estimates"] {
        transaction.execute(
            &format!("DELETE FROM {table} WHERE session = ? AND estimator = ?"),
            params![session.to_string(), estimator],
        )?;
    }
    transaction.execute(
        "INSERT INTO estimates (session, estimator, gradients, entries, known)
         VALUES (?, ?, ?, ?, ?)",
        params![session.to_string(), estimator, gradients, transfers.len(), known],
    )?;
    let id = transaction.last_insert_rowid();
    enter(transaction, "estimate_ledger", id, transfers)?;
    whole::seal_estimate(transaction, id)?;
    Ok(id)
}
