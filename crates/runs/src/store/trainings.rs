//! The trainings of a run in its store: their plans, rounds, checkpoints and models.

use std::borrow::Cow;

use fedcompetitors_federate::exchange::{bytes, hex};
use fedcompetitors_record::{
    Disclosure, Flow, Incident, PlanFigures, Role, Rule, Session, Stop, Transfer,
};
use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use super::{Store, json, named, whole};
use crate::RunError;

/// A method with a session, as it stands in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTraining {
    /// Its number.
    pub id: i64,
    /// The session.
    pub session: Session,
    /// The method's name.
    pub method: String,
    /// The role of the method.
    pub role: Role,
    /// The rule that its plans keep.
    pub rule: Rule,
    /// How many rounds it takes.
    pub rounds: usize,
    /// Gradients of each participant; nothing until it is done.
    pub gradients: Option<u64>,
}

/// Where a training was when it was last saved.
#[derive(Debug)]
pub struct Checkpoint {
    /// Rounds that were done.
    pub round: usize,
    /// Gradients that were taken.
    pub gradients: u64,
    /// The training.
    pub state: Vec<u8>,
    /// What the exchange remembers.
    pub exchange: Vec<u8>,
}

/// A figure of a participant's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Whose.
    pub participant: usize,
    /// After which round.
    pub round: usize,
    /// On which part of its data.
    pub split: Cow<'static, str>,
    /// What was measured.
    pub metric: Cow<'static, str>,
    /// The value, where it is defined.
    pub value: Option<f64>,
}

/// The file of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenModel {
    /// Its name in the run directory.
    pub name: String,
    /// The SHA-256 of its bytes.
    pub hash: String,
}

/// A participant's model in the end.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredModel {
    /// Its file in the run directory, where it has one.
    pub file: Option<WrittenModel>,
    /// The SHA-256 of its parameters.
    pub hash: String,
    /// Whose data it carries.
    pub provenance: Vec<usize>,
    /// From whom it has learned, itself included, with the part of each.
    pub parts: Vec<(usize, f32)>,
    /// What it predicts for the rows of the test; none where there is no test here.
    pub predictions: Option<Vec<f32>>,
}

/// What a training is before its first round.
#[derive(Debug)]
pub struct NewTraining {
    pub session: Session,
    pub method: String,
    pub role: Role,
    pub rule: Rule,
    pub policy: String,
    pub trainer: String,
    pub estimator: Option<String>,
    pub rounds: usize,
    pub certificate: String,
    /// Nothing, where there is no plan.
    pub plan: Option<PlanFigures>,
    /// helper, helped
    pub usage: Vec<(usize, usize)>,
    /// helper, helped, reason
    pub refusals: Vec<(usize, usize, String)>,
    pub flows: Vec<Flow>,
}

impl Store {
    /// The training of a method with a session.
    pub fn training(
        &self,
        session: Session,
        method: &str,
    ) -> Result<Option<StoredTraining>, RunError> {
        let all = self.trainings()?;
        Ok(all.into_iter().find(|one| one.session == session && one.method == method))
    }

    /// All trainings that were begun, in order.
    pub fn trainings(&self) -> Result<Vec<StoredTraining>, RunError> {
        self.rows(
            "SELECT id, session, method, role, rounds, gradients, rule FROM trainings ORDER BY id",
            [],
            |row| {
                Ok(StoredTraining {
                    id: row.get(0)?,
                    session: named(row, 1)?,
                    method: row.get(2)?,
                    role: named(row, 3)?,
                    rounds: row.get(4)?,
                    gradients: row.get(5)?,
                    rule: named(row, 6)?,
                })
            },
        )
    }

    /// Begins a training; returns its number.
    pub fn begin_training(&mut self, new: &NewTraining) -> Result<i64, RunError> {
        self.change(|transaction| {
            let plan = new.plan.as_ref();
            transaction.execute(
                "INSERT INTO trainings (session, method, role, policy, trainer, estimator, rounds,
                                        certificate, welfare, upper_bound, note, forecast, rule)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    new.session.to_string(),
                    new.method,
                    new.role.name(),
                    new.policy,
                    new.trainer,
                    new.estimator,
                    new.rounds,
                    new.certificate,
                    plan.map(|plan| plan.welfare),
                    plan.map(|plan| plan.upper_bound),
                    plan.and_then(|plan| plan.note.as_ref()),
                    plan.and_then(|plan| plan.forecast.as_ref()).map(json),
                    new.rule.name()
                ],
            )?;
            let id = transaction.last_insert_rowid();
            forget_stop(transaction, id, Some(0))?;
            let mut insert = transaction.prepare("INSERT INTO usage VALUES (?, ?, ?)")?;
            for (helper, helped) in &new.usage {
                insert.execute(params![id, helper, helped])?;
            }
            let mut insert = transaction.prepare("INSERT INTO refusals VALUES (?, ?, ?, ?)")?;
            for (helper, helped, reason) in &new.refusals {
                insert.execute(params![id, helper, helped, reason])?;
            }
            let mut insert = transaction.prepare("INSERT INTO flows VALUES (?, ?, ?, ?)")?;
            for Flow { source, statement, pairs } in &new.flows {
                insert.execute(params![id, source.name(), statement, json(pairs)])?;
            }
            Ok(id)
        })
    }

    /// The round of the last checkpoint of a training; 0 before the first. Reads nothing else.
    pub fn saved_rounds(&self, training: i64) -> Result<usize, RunError> {
        let rounds =
            self.rows("SELECT round FROM checkpoints WHERE training = ?", [training], |row| {
                row.get(0)
            })?;
        Ok(rounds.into_iter().next().unwrap_or(0))
    }

    /// Where a training is to go on.
    pub fn checkpoint(&self, training: i64) -> Result<Option<Checkpoint>, RunError> {
        let found = self
            .connection
            .query_row(
                "SELECT round, gradients, state, exchange, hash FROM checkpoints WHERE training = ?",
                [training],
                |row| {
                    let (round, gradients) = (row.get(0)?, row.get(1)?);
                    let (state, exchange) = (row.get(2)?, row.get(3)?);
                    let hash: Vec<u8> = row.get(4)?;
                    Ok((Checkpoint { round, gradients, state, exchange }, hash))
                },
            )
            .optional()
            .map_err(|error| self.stored(error))?;
        match found {
            None => Ok(None),
            Some((checkpoint, hash)) if checkpoint.hash() == hash => Ok(Some(checkpoint)),
            Some((checkpoint, _)) => {
                let round = checkpoint.round;
                Err(self.damaged(format!("the checkpoint of round {round} was changed")))
            }
        }
    }

    /// Keeps what has happened since the last time and where to go on, in one change.
    pub fn add_rounds(
        &mut self,
        training: i64,
        happened: &Happened,
        checkpoint: &Checkpoint,
        seconds: f64,
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            happened.insert(transaction, training)?;
            forget_stop(transaction, training, Some(checkpoint.round))?;
            transaction.execute(
                "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)",
                params![
                    training,
                    checkpoint.round,
                    checkpoint.gradients,
                    checkpoint.state,
                    checkpoint.exchange,
                    checkpoint.hash()
                ],
            )?;
            add_seconds(transaction, training, seconds)
        })
    }

    /// Ends a training: the last that happened, the gradients that each participant took,
    /// and everybody's model.
    pub fn end_training(
        &mut self,
        training: i64,
        happened: &Happened,
        gradients: u64,
        models: &[StoredModel],
        seconds: f64,
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            happened.insert(transaction, training)?;
            forget_stop(transaction, training, None)?;
            let mut insert =
                transaction.prepare("INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?)")?;
            let mut disclose = transaction
                .prepare("INSERT INTO disclosures (training, disclosure) VALUES (?, ?)")?;
            for disclosure in &happened.disclosures {
                disclose.execute(params![training, json(disclosure)])?;
            }
            let mut predict = transaction.prepare("INSERT INTO predictions VALUES (?, ?, ?)")?;
            for (participant, model) in models.iter().enumerate() {
                let StoredModel { file, hash, provenance, parts, predictions } = model;
                let (provenance, parts) = (json(provenance), json(parts));
                let (file, of_file) = file.as_ref().map(|file| (&file.name, &file.hash)).unzip();
                insert.execute(params![
                    training,
                    participant,
                    file,
                    of_file,
                    hash,
                    provenance,
                    parts
                ])?;
                if let Some(outputs) = predictions {
                    predict.execute(params![training, participant, bytes(outputs)])?;
                }
            }
            transaction.execute(
                "UPDATE trainings SET gradients = ? WHERE id = ?",
                params![gradients, training],
            )?;
            transaction.execute("DELETE FROM checkpoints WHERE training = ?", [training])?;
            transaction.execute("DELETE FROM kept WHERE training = ?", [training])?;
            whole::seal_training(transaction, training)?;
            add_seconds(transaction, training, seconds)
        })
    }

    /// Says that the guard has stopped a training, and keeps what has happened since the last
    /// checkpoint for whoever wants to know how it came to that. The checkpoint stays where it
    /// was: a resumed run does these rounds again.
    pub fn stop(&mut self, stop: &Stop, happened: &Happened) -> Result<(), RunError> {
        let training = self.training(stop.session, &stop.method)?;
        self.change(|transaction| {
            if let Some(training) = training {
                happened.insert(transaction, training.id)?;
            }
            transaction.execute(
                "INSERT OR REPLACE INTO stops VALUES (?, ?, ?, ?)",
                params![stop.session.to_string(), stop.method, stop.round, stop.message],
            )
        })?;
        Ok(())
    }

    /// What flows outside the ledger of a training; the pairs as the JSON that is stored.
    pub fn flows(&self, training: i64) -> Result<Vec<(Flow, String)>, RunError> {
        self.rows(
            "SELECT source, statement, pairs FROM flows WHERE training = ? ORDER BY source",
            [training],
            |row| {
                let (source, statement) = (named(row, 0)?, row.get(1)?);
                Ok((Flow { source, statement, pairs: Vec::new() }, row.get(2)?))
            },
        )
    }

    /// What the guard has stopped.
    pub fn stops(&self) -> Result<Vec<Stop>, RunError> {
        self.rows(
            "SELECT session, method, round, message FROM stops ORDER BY session, method",
            [],
            |row| {
                Ok(Stop {
                    session: named(row, 0)?,
                    method: row.get(1)?,
                    round: row.get(2)?,
                    message: row.get(3)?,
                })
            },
        )
    }
}

/// What has happened in some rounds.
#[derive(Debug, Default)]
pub struct Happened {
    pub figures: Vec<Figure>,
    pub transfers: Vec<Transfer>,
    pub incidents: Vec<Incident>,
    /// Known when the training ends.
    pub disclosures: Vec<Disclosure>,
}

impl Happened {
    fn insert(&self, transaction: &Transaction<'_>, training: i64) -> rusqlite::Result<()> {
        make_room(transaction, training)?;
        if let Some(first) = self.transfers.first() {
            // What had moved behind the last checkpoint when the guard stopped it.
            transaction.execute(
                "DELETE FROM ledger WHERE training = ? AND entry >= ?",
                params![training, first.entry],
            )?;
        }
        let mut insert =
            transaction.prepare_cached("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)")?;
        for figure in &self.figures {
            let Figure { participant, round, split, metric, value } = figure;
            insert.execute(params![training, participant, round, split, metric, value])?;
        }
        enter(transaction, "ledger", training, &self.transfers)?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO incidents (training, round, participant, kind) VALUES (?, ?, ?, ?)",
        )?;
        for incident in &self.incidents {
            let Incident { round, participant, kind } = incident;
            insert.execute(params![training, round, participant, kind.name()])?;
        }
        transaction.execute(
            "UPDATE trainings SET entries =
                 (SELECT ifnull(max(entry), 0) FROM ledger WHERE training = ?1) WHERE id = ?1",
            [training],
        )?;
        Ok(())
    }
}

/// Enters what has moved in a ledger, that of trainings or that of estimates.
pub fn enter(
    transaction: &Transaction<'_>,
    ledger: &str,
    of: i64,
    transfers: &[Transfer],
) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare_cached(&format!("INSERT INTO {ledger} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))?;
    for transfer in transfers {
        insert.execute(params![
            of,
            transfer.entry,
            transfer.round,
            transfer.from,
            transfer.to,
            transfer.content.name(),
            json(&transfer.made_of),
            json(&transfer.provenance),
            transfer.bytes,
            hex(&transfer.hash)
        ])?;
    }
    Ok(())
}

/// The rounds that were kept as the guard stopped them are done again, and make room for what
/// happens now.
fn make_room(transaction: &Transaction<'_>, training: i64) -> rusqlite::Result<()> {
    let was_stopped: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM stops JOIN trainings USING (session, method) WHERE id = ?)",
        [training],
        |row| row.get(0),
    )?;
    if was_stopped {
        for table in ["metrics", "incidents"] {
            let beyond = format!(
                "DELETE FROM {table} WHERE training = ?1
                 AND round > ifnull((SELECT round FROM checkpoints WHERE training = ?1), 0)"
            );
            transaction.execute(&beyond, [training])?;
        }
    }
    Ok(())
}

/// A training has come past this round, or to its end: if the guard had stopped it there or
/// before, that is over.
fn forget_stop(
    transaction: &Transaction<'_>,
    training: i64,
    round: Option<usize>,
) -> rusqlite::Result<usize> {
    transaction.execute(
        "DELETE FROM stops WHERE round <= ifnull(?2, round)
         AND (session, method) = (SELECT session, method FROM trainings WHERE id = ?1)",
        params![training, round],
    )
}

fn add_seconds(transaction: &Transaction<'_>, training: i64, seconds: f64) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO seconds VALUES (?1, ?2)
         ON CONFLICT (training) DO UPDATE SET seconds = seconds + ?2",
        params![training, seconds],
    )?;
    Ok(())
}

impl Checkpoint {
    fn hash(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        hasher.update((self.state.len() as u64).to_le_bytes());
        hasher.update(&self.state);
        hasher.update(&self.exchange);
        hasher.finalize().to_vec()
    }
}
