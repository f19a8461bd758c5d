//! What models predict for rows that they were not trained on, and the figures that follow.

use fedcompetitors_federate::exchange;
use fedcompetitors_record::{Figure, Interval, Score, Scores, Session, StandardError};
use rusqlite::params;

use super::{Store, from_json, json, named};
use crate::{RunError, figures::Figures};

/// What a method predicts for the rows of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPrediction {
    /// The method.
    pub method: String,
    /// The session.
    pub session: Session,
    /// Whose rows they are.
    pub participant: usize,
    /// Their numbers in their file.
    pub rows: Vec<u32>,
    /// The outputs of the model, row by row.
    pub outputs: Vec<f32>,
}

impl Store {
    /// What all finished trainings predict, in the order in which they were begun.
    pub fn predictions(&self) -> Result<Vec<StoredPrediction>, RunError> {
        let all: Vec<(String, Session, usize, String, Vec<u8>)> = self.rows(
            "SELECT method, trainings.session, predictions.participant, tested, outputs
             FROM predictions JOIN trainings ON trainings.id = predictions.training
             JOIN splits ON splits.session = trainings.session
              AND splits.participant = predictions.participant
             ORDER BY trainings.id, predictions.participant",
            [],
            |row| Ok((row.get(0)?, named(row, 1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )?;
        all.into_iter()
            .map(|(method, session, participant, tested, bytes)| {
                let rows: Option<Vec<u32>> = from_json(&tested);
                let (outputs, rest) = exchange::numbers(&bytes);
                let outputs: Vec<f32> = outputs.collect();
                let rows = rows.filter(|rows| {
                    rest.is_empty() && (rows.is_empty() || outputs.len().is_multiple_of(rows.len()))
                });
                let what = || {
                    format!(
                        "{method}, {session}: predictions for other rows than those of the test"
                    )
                };
                let rows = rows.ok_or_else(|| self.damaged(what()))?;
                Ok(StoredPrediction { method, session, participant, rows, outputs })
            })
            .collect()
    }

    /// Keeps the figures of methods.
    pub fn add_figures(&mut self, figures: &Figures) -> Result<(), RunError> {
        let Figures { methods, standard_errors } = figures;
        self.change(|transaction| {
            transaction.execute("DELETE FROM figures", [])?;
            transaction.execute(
                "INSERT OR REPLACE INTO run VALUES ('standard-errors', ?)",
                [json(standard_errors)],
            )?;
            let mut insert = transaction.prepare(
                "INSERT INTO figures (method, metric, participant, value, low, high, gain, gain_low,
                                      gain_high)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?;
            for (method, scores) in methods {
                for Scores { metric, mean, participants } in scores {
                    let each = participants.iter().enumerate().map(|(at, one)| (Some(at), one));
                    for (participant, Score { value, gain }) in
                        [(None, mean)].into_iter().chain(each)
                    {
                        let parts = |found: &Figure| {
                            let ends = found.interval().map(|found| (found.low, found.high));
                            let (low, high) = ends.unzip();
                            (found.value(), low, high)
                        };
                        let (value, low, high) = parts(value);
                        let (gain, gain_low, gain_high) = parts(gain);
                        insert.execute(params![
                            method,
                            metric,
                            participant,
                            value,
                            low,
                            high,
                            gain,
                            gain_low,
                            gain_high
                        ])?;
                    }
                }
            }
            Ok(())
        })
    }

    /// How sure differences between methods are, once all sessions are done.
    pub fn standard_errors(&self) -> Result<Vec<StandardError>, RunError> {
        let what = || self.damaged("the standard errors cannot be read".into());
        self.said("standard-errors")?
            .map_or(Ok(Vec::new()), |text| from_json(&text).ok_or_else(what))
    }

    /// The figures of a method, once all sessions are done; `count` participants are known.
    pub fn figures(&self, method: &str, count: usize) -> Result<Vec<Scores>, RunError> {
        let rows: Vec<(String, Option<usize>, Score)> = self.rows(
            "SELECT metric, participant, value, low, high, gain, gain_low, gain_high FROM figures
             WHERE method = ? ORDER BY id",
            [method],
            |row| {
                let figure = |at: usize| -> rusqlite::Result<Figure> {
                    Ok(match (row.get(at)?, row.get(at + 1)?, row.get(at + 2)?) {
                        (None, _, _) => Figure::Undefined,
                        (Some(value), Some(low), Some(high)) => {
                            Figure::Interval(Interval { value, low, high })
                        }
                        (Some(value), _, _) => Figure::Value(value),
                    })
                };
                Ok((row.get(0)?, row.get(1)?, Score { value: figure(2)?, gain: figure(5)? }))
            },
        )?;
        let mut all: Vec<Scores> = Vec::new();
        for (metric, participant, score) in rows {
            match (participant, all.last_mut()) {
                (None, _) => {
                    all.push(Scores { metric, mean: score, participants: Vec::new() });
                }
                (Some(at), Some(last)) if last.participants.len() == at => {
                    last.participants.push(score);
                }
                _ => return Err(self.damaged(format!("the figures of {method} have no order"))),
            }
        }
        if all.iter().any(|scores| scores.participants.len() != count) {
            return Err(self.damaged(format!("the figures of {method} are not of everybody")));
        }
        Ok(all)
    }
}
