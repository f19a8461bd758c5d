//! What came out of a run, read back from its store.

use std::{collections::BTreeSet, path::Path};

use serde::de::DeserializeOwned;

use super::{
    RunError, Store,
    store::{PlanFigures, Stop, StoredTraining, from_json},
};

/// How a run can stand, as it is kept.
const STATUSES: [&str; 3] = ["running", "complete", "complete with incidents"];

/// How a run stands in which the guard has stopped a training.
const STOPPED: &str = "stopped by the guard";

/// What came out of a run so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// What the federation is called.
    pub name: String,
    /// How the run stands: `running`, `complete`, `complete with incidents` or `stopped by the
    /// guard`.
    pub status: String,
    /// What is reported.
    pub metric: String,
    /// The file, with every default written out.
    pub federation: String,
    /// Everybody.
    pub participants: Vec<ParticipantSummary>,
    /// The methods that were begun, the file's own first.
    pub methods: Vec<MethodSummary>,
    /// The seeds that were begun.
    pub seeds: Vec<u64>,
    /// Rounds that are done of the training that is on its way, and all of them.
    pub on_its_way: Option<(String, u64, usize, usize)>,
    /// What the guard has stopped.
    pub stops: Vec<Stop>,
}

/// One participant.
#[derive(Debug, Clone, PartialEq)]
pub struct ParticipantSummary {
    /// Its name.
    pub name: String,
    /// Where its data comes from.
    pub source: String,
    /// How many samples it has.
    pub samples: usize,
    /// With whom it competes, by name.
    pub competitors: Vec<String>,
}

/// One method.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodSummary {
    /// What it is called.
    pub name: String,
    /// Who decides, how it is trained, and by whose estimate.
    pub policy: String,
    /// How it is trained.
    pub trainer: String,
    /// By whose estimate.
    pub estimator: Option<String>,
    /// For each seed that is done the figures of each participant.
    pub cells: Vec<(u64, Vec<Cell>)>,
    /// Gradients of each participant, with the first seed.
    pub gradients: u64,
    /// How good its plan is, for each seed that was begun; nothing where it has none.
    pub plans: Vec<(u64, PlanFigures)>,
    /// Edges of the plan with the first seed, and useful ones that were refused.
    pub edges: usize,
    /// Refused edges with the first seed: helper, helped, why.
    pub refused: Vec<(usize, usize, String)>,
    /// Bytes that moved with the first seed, and in how many transfers.
    pub moved: (u64, u64),
    /// What flows besides: in words, with the competing pairs that it would join.
    pub flows: Vec<(String, Vec<(usize, usize)>)>,
    /// Who was missing or sent garbage, with the first seed it happened to.
    pub incidents: Vec<IncidentLine>,
    /// How long it took, all seeds together.
    pub seconds: f64,
}

/// One participant's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The metric on the test data, where it is defined.
    pub test: Option<f64>,
    /// Whose data it carries.
    pub provenance: Vec<usize>,
    /// From whom it has learned, itself included, with the part of each.
    pub parts: Vec<(usize, f32)>,
    /// Its file in the run directory, where it has one.
    pub file: Option<String>,
    /// The SHA-256 of its parameters.
    pub hash: String,
}

/// Somebody who was missing or whose parcels were refused, from one round to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentLine {
    /// The seed.
    pub seed: u64,
    /// Who.
    pub participant: usize,
    /// What.
    pub kind: String,
    /// The first round.
    pub first: usize,
    /// The last round in a row.
    pub last: usize,
}

/// Reads a run directory.
///
/// # Errors
/// If it cannot be read.
pub fn summary(folder: &Path) -> Result<Summary, RunError> {
    of(&Store::read(folder)?)
}

/// Everybody, with their competitors by name.
pub fn participants(store: &Store) -> Result<Vec<ParticipantSummary>, RunError> {
    let people: Vec<(usize, String, String, usize)> = store.rows(
        "SELECT id, name, source, samples FROM participants ORDER BY id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    if let Some(at) = (0..people.len()).find(|&at| people[at].0 != at) {
        return Err(store.damaged(format!("participant {at} is missing")));
    }
    let known = Known { store, count: people.len() };
    let mut competitors = vec![BTreeSet::new(); people.len()];
    for (a, b) in
        store.rows("SELECT a, b FROM competing", [], |row| Ok((row.get(0)?, row.get(1)?)))?
    {
        known.all([a, b])?;
        competitors[a].insert(b);
        competitors[b].insert(a);
    }
    let participants = people
        .iter()
        .zip(competitors)
        .map(|((_, name, source, samples), others)| ParticipantSummary {
            name: name.clone(),
            source: source.clone(),
            samples: *samples,
            competitors: others.into_iter().map(|other| people[other].1.clone()).collect(),
        })
        .collect();
    Ok(participants)
}

/// Everything that is counted by participant is looked at here: whoever shows a summary need
/// not fear a damaged record.
pub fn of(store: &Store) -> Result<Summary, RunError> {
    let participants = participants(store)?;
    let known = Known { store, count: participants.len() };
    let trainings = store.trainings()?;
    let mut methods: Vec<MethodSummary> = Vec::new();
    let mut seeds = Vec::new();
    let mut on_its_way = None;
    for training in &trainings {
        if !seeds.contains(&training.seed) {
            seeds.push(training.seed);
        }
        let seen = methods.iter().position(|method| method.name == training.method);
        let at = seen.unwrap_or(methods.len());
        if seen.is_none() {
            methods.push(described(&known, training)?);
        }
        let method = &mut methods[at];
        method.incidents.extend(incidents(&known, training)?);
        method.plans.extend(plan(store, training)?.map(|plan| (training.seed, plan)));
        let seconds: Vec<f64> =
            store.rows("SELECT seconds FROM seconds WHERE training = ?", [training.id], |row| {
                row.get(0)
            })?;
        method.seconds += seconds.iter().sum::<f64>();
        if training.gradients.is_some() {
            method.cells.push((training.seed, cells(&known, training)?));
        } else {
            let done = store.checkpoint(training.id)?.map_or(0, |checkpoint| checkpoint.round);
            on_its_way = Some((training.method.clone(), training.seed, done, training.rounds));
        }
    }
    let said = |key: &str| -> Result<String, RunError> { Ok(store.said(key)?.unwrap_or_default()) };
    let stops = store.stops()?;
    let mut status = said("status")?;
    if !STATUSES.contains(&status.as_str()) {
        return Err(store.damaged(format!("a run cannot be \"{status}\"")));
    }
    if !stops.is_empty() {
        STOPPED.clone_into(&mut status);
    }
    Ok(Summary {
        name: said("name")?,
        status,
        metric: said("metric")?,
        federation: said("federation")?,
        participants,
        methods,
        seeds,
        on_its_way,
        stops,
    })
}

/// Those who take part: the first so many numbers.
pub struct Known<'a> {
    pub store: &'a Store,
    pub count: usize,
}

impl Known<'_> {
    /// Are all of these participants?
    pub fn all(&self, ids: impl IntoIterator<Item = usize>) -> Result<(), RunError> {
        match ids.into_iter().find(|&id| id >= self.count) {
            None => Ok(()),
            Some(id) => Err(self.store.damaged(format!("there is no participant {id}"))),
        }
    }

    /// What stands there as JSON.
    fn json<T: DeserializeOwned>(&self, text: &str) -> Result<T, RunError> {
        from_json(text).ok_or_else(|| self.store.damaged(format!("this cannot be read: {text}")))
    }
}

/// How good the plan of a training is.
fn plan(store: &Store, training: &StoredTraining) -> Result<Option<PlanFigures>, RunError> {
    let plans = store.rows(
        "SELECT welfare, upper_bound, note FROM trainings WHERE id = ? AND welfare IS NOT NULL",
        [training.id],
        |row| Ok(PlanFigures { welfare: row.get(0)?, upper_bound: row.get(1)?, note: row.get(2)? }),
    )?;
    Ok(plans.into_iter().next())
}

/// A method as its first training says, without figures.
fn described(known: &Known<'_>, training: &StoredTraining) -> Result<MethodSummary, RunError> {
    let (store, id) = (known.store, training.id);
    let count = |query: &str| -> Result<u64, RunError> {
        Ok(store
            .rows(query, [id], |row| row.get::<_, Option<u64>>(0))?
            .first()
            .copied()
            .flatten()
            .unwrap_or(0))
    };
    let kinds: Vec<(String, String, Option<String>)> = store.rows(
        "SELECT policy, trainer, estimator FROM trainings WHERE id = ?",
        [id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let (policy, trainer, estimator) = kinds.into_iter().next().unwrap_or_default();
    // What the estimate has moved counts for all that need it, as its gradients do.
    let moved = |what: &str| {
        count(&format!(
            "SELECT {what} FROM (
                 SELECT bytes FROM ledger WHERE training = ?1
                 UNION ALL
                 SELECT bytes FROM estimate_ledger WHERE estimate =
                     (SELECT estimates.id FROM estimates JOIN trainings USING (seed, estimator)
                      WHERE trainings.id = ?1))"
        ))
    };
    let flows: Vec<(String, String)> = store.rows(
        "SELECT statement, pairs FROM flows WHERE training = ? ORDER BY source",
        [id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let refused: Vec<(usize, usize, String)> = store.rows(
        "SELECT helper, helped, reason FROM refusals WHERE training = ? ORDER BY helped, helper",
        [id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    known.all(refused.iter().flat_map(|(helper, helped, _)| [*helper, *helped]))?;
    let mut joined = Vec::new();
    for (statement, pairs) in flows {
        let pairs: Vec<(usize, usize)> = known.json(&pairs)?;
        known.all(pairs.iter().flat_map(|&(a, b)| [a, b]))?;
        joined.push((statement, pairs));
    }
    Ok(MethodSummary {
        name: training.method.clone(),
        policy,
        trainer,
        estimator,
        cells: Vec::new(),
        gradients: training.gradients.unwrap_or(0),
        edges: count("SELECT count(*) FROM usage WHERE training = ?")? as usize,
        refused,
        moved: (moved("sum(bytes)")?, moved("count(*)")?),
        flows: joined,
        plans: Vec::new(),
        incidents: Vec::new(),
        seconds: 0.0,
    })
}

fn cells(known: &Known<'_>, training: &StoredTraining) -> Result<Vec<Cell>, RunError> {
    let rows = known.store.rows(
        "SELECT models.participant, test.value, models.provenance, models.parts, models.file,
                models.hash
         FROM models LEFT JOIN metrics AS test
           ON test.training = models.training AND test.participant = models.participant
          AND test.split = 'test' AND test.round = ?2
          AND test.metric = (SELECT value FROM run WHERE key = 'metric')
         WHERE models.training = ?1 ORDER BY models.participant",
        (training.id, training.rounds),
        |row| {
            let texts: (String, String) = (row.get(2)?, row.get(3)?);
            let kept: (Option<String>, String) = (row.get(4)?, row.get(5)?);
            Ok((row.get(0)?, row.get(1)?, texts, kept))
        },
    )?;
    if !rows.iter().map(|row: &(usize, _, _, _)| row.0).eq(0..known.count) {
        let (method, seed) = (&training.method, training.seed);
        let what = format!("{method}, seed {seed}: there is not one model for each participant");
        return Err(known.store.damaged(what));
    }
    rows.into_iter()
        .map(|(_, test, (provenance, parts), (file, hash))| {
            let provenance: Vec<usize> = known.json(&provenance)?;
            let parts: Vec<(usize, f32)> = known.json(&parts)?;
            known.all(provenance.iter().copied().chain(parts.iter().map(|part| part.0)))?;
            Ok(Cell { test, provenance, parts, file, hash })
        })
        .collect()
}

/// Incidents with rounds in a row put together.
fn incidents(known: &Known<'_>, training: &StoredTraining) -> Result<Vec<IncidentLine>, RunError> {
    let all: Vec<(usize, String, usize)> = known.store.rows(
        "SELECT DISTINCT participant, kind, round FROM incidents WHERE training = ?
         ORDER BY participant, kind, round",
        [training.id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    known.all(all.iter().map(|one| one.0))?;
    let mut lines: Vec<IncidentLine> = Vec::new();
    for (participant, kind, round) in all {
        match lines.last_mut() {
            Some(line)
                if line.participant == participant
                    && line.kind == kind
                    && line.last + 1 == round =>
            {
                line.last = round;
            }
            _ => lines.push(IncidentLine {
                seed: training.seed,
                participant,
                kind,
                first: round,
                last: round,
            }),
        }
    }
    Ok(lines)
}
