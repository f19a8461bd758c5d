//! What is kept of a training with remote participants: plans that change, late
//! declarations, and the last that was accepted of everybody.

use std::{collections::BTreeMap, fs, path::PathBuf};

use fedcompetitors_federate::{
    exchange::{self, Message, hex},
    saved,
};
use fedcompetitors_files::{atomically, make_folder, sync_folder};
use rusqlite::params;

use super::{LAST_HEARD, Store, from_json, trainings::NewTraining};
use crate::{RunError, competing_hash};
use fedcompetitors_graphs::{CompetingGraph, bits::contains};

/// The folder of the numbers that are kept, in a run directory.
pub const KEPT: &str = "kept";

/// What the file of something that is kept is called.
fn file_name(training: i64, receipt: &Message) -> String {
    format!("{training}-{}.f32", receipt.entry())
}

/// Could that be the name of such a file? A folder that a run is given may have others.
fn is_file_name(name: &str) -> bool {
    let numbers = name.strip_suffix(".f32").and_then(|stem| stem.split_once('-'));
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    numbers.is_some_and(|(training, entry)| is_number(training) && is_number(entry))
}

/// A plan that a training follows from a round on.
#[derive(Debug, Clone, Copy)]
pub struct NewPlan<'a> {
    /// The first round that follows it.
    pub round: usize,
    /// The text of its file.
    pub plan: &'a str,
    /// Why there is a new one, in words.
    pub why: &'a str,
}

impl Store {
    /// Keeps a plan that a training follows from a round on; `new` says what it is.
    pub fn add_plan(
        &mut self,
        training: i64,
        NewPlan { round, plan, why }: NewPlan<'_>,
        new: &NewTraining,
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            transaction.execute(
                &format!(
                    "INSERT INTO plans (training, round, plan, certificate, why, known)
                     VALUES (?, ?, ?, ?, ?, {LAST_HEARD})"
                ),
                params![training, round, plan, new.certificate, why],
            )?;
            for table in ["usage", "refusals"] {
                let all = format!("DELETE FROM {table} WHERE training = ?");
                transaction.execute(&all, [training])?;
            }
            for (helper, helped) in &new.usage {
                transaction.execute(
                    "INSERT INTO usage VALUES (?, ?, ?)",
                    params![training, helper, helped],
                )?;
            }
            for (helper, helped, reason) in &new.refusals {
                transaction.execute(
                    "INSERT INTO refusals VALUES (?, ?, ?, ?)",
                    params![training, helper, helped, reason],
                )?;
            }
            let figures = new.plan.as_ref();
            transaction.execute(
                "UPDATE trainings SET certificate = ?, welfare = ?, upper_bound = ?, note = ?
                 WHERE id = ?",
                params![
                    new.certificate,
                    figures.map(|plan| plan.welfare),
                    figures.map(|plan| plan.upper_bound),
                    figures.and_then(|plan| plan.note.as_ref()),
                    training
                ],
            )
        })?;
        Ok(())
    }

    /// The text of the last plan of a training.
    pub fn last_plan(&self, training: i64) -> Result<Option<String>, RunError> {
        let plans = self.rows(
            "SELECT plan FROM plans WHERE training = ? ORDER BY id DESC LIMIT 1",
            [training],
            |row| row.get(0),
        )?;
        Ok(plans.into_iter().next())
    }

    /// Adds what a graph has of competitions that nobody knew before a round.
    pub fn declare(&mut self, competing: &CompetingGraph, round: usize) -> Result<(), RunError> {
        self.change(|transaction| {
            let last: u64 =
                transaction.query_row(&format!("SELECT {LAST_HEARD}"), [], |row| row.get(0))?;
            for (a, b) in competing.all_reports() {
                transaction.execute(
                    "INSERT OR IGNORE INTO competing VALUES (?, ?, ?, ?)",
                    params![a, b, round, last + 1],
                )?;
            }
            transaction.execute(
                "INSERT OR REPLACE INTO run VALUES ('competing', ?)",
                [competing_hash(competing)],
            )
        })?;
        Ok(())
    }

    /// How many samples somebody has, and where they are, for whoever is heard of late.
    pub fn found(
        &mut self,
        participant: usize,
        source: &str,
        samples: usize,
    ) -> Result<(), RunError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE participants SET source = ?, samples = ? WHERE id = ?",
                params![source, samples, participant],
            )
        })?;
        Ok(())
    }

    /// Keeps the last that was accepted of some participants, whose entries the ledger has by
    /// now. What was kept of them before is forgotten if it carries the same participants' data.
    pub fn keep(&mut self, training: i64, all: &[(&Message, &[f32])]) -> Result<(), RunError> {
        let before = self.receipts(training)?;
        let folder = self.kept_folder();
        make_folder(&folder)?;
        for (receipt, values) in all.iter().filter(|(receipt, _)| !before.contains(receipt)) {
            let bytes = exchange::bytes(values);
            atomically(&folder.join(file_name(training, receipt)), |file| file.write_all(&bytes))?;
        }
        // The names of the files, too, are to be there before the database speaks of them.
        sync_folder(&folder)?;
        self.change(|transaction| {
            let mut forget =
                transaction.prepare_cached("DELETE FROM kept WHERE training = ? AND entry = ?")?;
            let mut insert =
                transaction.prepare_cached("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)")?;
            for (receipt, _) in all {
                let is_same = |old: &&Message| {
                    old.from() == receipt.from() && old.carried() == receipt.carried()
                };
                for old in before.iter().filter(is_same) {
                    forget.execute(params![training, old.entry()])?;
                }
                let about = saved::write(receipt);
                insert.execute(params![training, receipt.from(), receipt.entry(), about])?;
            }
            Ok(())
        })?;
        self.forget_but(&self.names(training)?);
        Ok(())
    }

    /// The last that was accepted of everybody, with its numbers.
    pub fn kept(&self, training: i64) -> Result<Vec<Message>, RunError> {
        let mut last = BTreeMap::new();
        for receipt in self.receipts(training)? {
            last.insert(receipt.from(), receipt);
        }
        last.into_values().map(|receipt| self.with_numbers(training, receipt)).collect()
    }

    /// The last that was kept of a participant and carries no data of these others, with its
    /// numbers.
    pub fn last_without(
        &self,
        training: i64,
        participant: usize,
        others: &[usize],
    ) -> Result<Option<Message>, RunError> {
        let is_clean = |one: &Message| !others.iter().any(|&who| contains(one.carried(), who));
        let mut all = self.receipts(training)?.into_iter();
        let found = all.rfind(|one| one.from() == participant && is_clean(one));
        found.map(|receipt| self.with_numbers(training, receipt)).transpose()
    }

    /// What is kept, with its numbers, which are those that the ledger knows.
    fn with_numbers(&self, training: i64, kept: Message) -> Result<Message, RunError> {
        let path = self.kept_folder().join(file_name(training, &kept));
        let damaged = |what: String| RunError::Damaged { path: path.clone(), what };
        let bytes = fs::read(&path).map_err(|error| damaged(error.to_string()))?;
        let (values, rest) = exchange::numbers(&bytes);
        let kept = kept.restored(values.collect());
        let hashes: Vec<String> = self.rows(
            "SELECT hash FROM ledger WHERE training = ? AND entry = ?",
            params![training, kept.entry()],
            |row| row.get(0),
        )?;
        let hash = hex(&exchange::hash(kept.values()));
        if hashes.first() != Some(&hash) || !rest.is_empty() {
            let what = "these are not the numbers that the ledger has an entry of";
            return Err(damaged(what.into()));
        }
        Ok(kept)
    }

    /// The round in which a participant was first handed what carries another one's data.
    pub fn carries_since(
        &self,
        training: i64,
        participant: usize,
        other: usize,
    ) -> Result<Option<usize>, RunError> {
        let handed: Vec<(usize, String)> = self.rows(
            "SELECT round, provenance FROM ledger WHERE training = ? AND receiver = ?
             ORDER BY entry",
            params![training, participant],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut handed = handed.into_iter();
        let found = handed.find(|(_, provenance)| {
            from_json::<Vec<usize>>(provenance).is_some_and(|all| all.contains(&other))
        });
        Ok(found.map(|(round, _)| round))
    }

    /// The round of an entry of the ledger.
    pub fn round_of(&self, training: i64, entry: u64) -> Result<Option<usize>, RunError> {
        let rounds = self.rows(
            "SELECT round FROM ledger WHERE training = ? AND entry = ?",
            params![training, entry],
            |row| row.get(0),
        )?;
        Ok(rounds.into_iter().next())
    }

    /// Forgets what was kept and is not to be gone on with: what a killed run has left before
    /// the database knew of it, or everything, once there is no training to go on with.
    pub fn tidy(&self, training: Option<i64>) -> Result<(), RunError> {
        let names = training.map(|training| self.names(training)).transpose()?;
        self.forget_but(&names.unwrap_or_default());
        // Where something is left in it, it stays.
        let _ = fs::remove_dir(self.kept_folder());
        Ok(())
    }

    /// Removes files that look like ours but for these. One that cannot be removed does no harm.
    fn forget_but(&self, names: &[String]) {
        let Ok(files) = fs::read_dir(self.kept_folder()) else {
            return;
        };
        for file in files.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if is_file_name(&name) && !names.contains(&name) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// What is kept, without its numbers, by participant, the last one last.
    pub fn receipts(&self, training: i64) -> Result<Vec<Message>, RunError> {
        let rows: Vec<Vec<u8>> = self.rows(
            "SELECT receipt FROM kept WHERE training = ? ORDER BY participant, entry",
            [training],
            |row| row.get(0),
        )?;
        Ok(rows.iter().map(|row| saved::read(row)).collect::<Result<_, _>>()?)
    }

    /// The files of what is kept.
    fn names(&self, training: i64) -> Result<Vec<String>, RunError> {
        let receipts = self.receipts(training)?;
        Ok(receipts.iter().map(|receipt| file_name(training, receipt)).collect())
    }

    /// Where the numbers are that are kept. In the database they would be written twice, first
    /// to its log, which for hundreds of megabytes takes seconds of each round.
    fn kept_folder(&self) -> PathBuf {
        self.path.with_file_name(KEPT)
    }

    /// Everybody by name, in order, and everybody's reports.
    pub fn who_competes(&self) -> Result<CompetingGraph, RunError> {
        let names: Vec<String> =
            self.rows("SELECT name FROM participants ORDER BY id", [], |row| row.get(0))?;
        let reports: Vec<(usize, usize)> =
            self.rows("SELECT a, b FROM competing ORDER BY a, b", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let damaged = |error: fedcompetitors_graphs::GraphError| self.damaged(error.to_string());
        let participants = fedcompetitors_graphs::Participants::new(names).map_err(damaged)?;
        let mut competing = CompetingGraph::builder(&participants);
        for (a, b) in reports {
            competing.report(a, b).map_err(damaged)?;
        }
        let competing = competing.build();
        if self.said("competing")? != Some(competing_hash(&competing)) {
            return Err(self.damaged("the competitions differ from those that were stored".into()));
        }
        Ok(competing)
    }
}
