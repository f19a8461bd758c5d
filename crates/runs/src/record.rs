//! All that a page about a run shows, read from its store at one moment. A run may be at work
//! meanwhile; and where the store is damaged, whatever can be read is, and the rest is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use fedcompetitors_files::federation::Method;
use fedcompetitors_record::{
    Curve, IncidentKind, LedgerLine, PlanStep, Record, Session, Status, Summary,
};

use super::{
    RunError, Store,
    store::{named, plan_edges},
    summary::{self, Known},
};

/// Reads a run directory, as far as it can be read.
///
/// # Errors
/// If there is no run, or it is out of reach.
pub fn record(folder: &Path) -> Result<Record, RunError> {
    let (store, damage) = Store::read_what_can_be(folder)?;
    let mut reader = Reader { store: &store, problems: damage.into_iter().collect() };
    let found = summary::of(&store);
    let summary = match found {
        Ok(summary) => summary,
        Err(error) => {
            reader.tell(&error);
            reader.remains()
        }
    };
    let known = Known { store: &store, count: summary.participants.len() };
    let first = reader.or_tell(first_training(&store)).flatten();
    let said = store.said("program").map(Option::unwrap_or_default);
    let mut record =
        Record { program: reader.or_tell(said).unwrap_or_default(), ..Record::default() };
    let reports = reader.or_tell(reports(&known)).unwrap_or_default();
    record.reports = reports.iter().map(|&(a, b, _)| (a, b)).collect();
    record.competing = pairs(&reports);
    record.ledger = reader.or_tell(ledger(&store)).unwrap_or_default();
    record.incidents = reader.or_tell(incidents(&store)).unwrap_or_default();
    if let Some(first) = first {
        record.benefit = reader.or_tell(benefit(&known, &first)).unwrap_or_default();
        record.related = reader.or_tell(related(&known, &first)).unwrap_or_default();
        record.usage = reader.or_tell(usage(&known, &first)).unwrap_or_default();
        let names: Vec<&str> = summary.participants.iter().map(|one| &*one.name).collect();
        record.plans = reader.or_tell(plans(&store, &first, &names)).unwrap_or_default();
        record.curves = reader.or_tell(curves(&known, &first)).unwrap_or_default();
        record.certificate = first.certificate;
    }
    record.problems = reader.problems;
    record.summary = summary;
    Ok(record)
}

/// The first training that was begun: the federation's own method in its first session, whose
/// models have files.
struct First {
    id: i64,
    session: Session,
    method: String,
    estimator: Option<String>,
    certificate: String,
}

/// Notes what cannot be read, and goes on.
struct Reader<'a> {
    store: &'a Store,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn tell(&mut self, error: &RunError) {
        let what = error.what();
        if !self.problems.contains(&what) {
            self.problems.push(what);
        }
    }

    fn or_tell<T>(&mut self, found: Result<T, RunError>) -> Option<T> {
        found.map_err(|error| self.tell(&error)).ok()
    }

    /// What is left of a summary that cannot be read as a whole.
    fn remains(&mut self) -> Summary {
        let mut said = |key: &str| {
            let said = self.store.said(key).map(Option::unwrap_or_default);
            self.or_tell(said).unwrap_or_default()
        };
        let (name, federation) = (said("name"), said("federation"));
        let status = self.or_tell(summary::status(self.store)).unwrap_or(Status::Running);
        let metric = self.or_tell(summary::metric(self.store)).unwrap_or_default();
        let participants = self.or_tell(summary::participants(self.store)).unwrap_or_default();
        let stops = self.or_tell(self.store.stops()).unwrap_or_default();
        Summary { name, status, metric, federation, participants, stops, ..Summary::default() }
    }
}

fn first_training(store: &Store) -> Result<Option<First>, RunError> {
    let first = store.rows(
        "SELECT id, session, method, estimator, certificate FROM trainings ORDER BY id LIMIT 1",
        [],
        |row| {
            let (id, session, method) = (row.get(0)?, named(row, 1)?, row.get(2)?);
            Ok(First { id, session, method, estimator: row.get(3)?, certificate: row.get(4)? })
        },
    )?;
    Ok(first.into_iter().next())
}

/// Who said of whom that they compete, and the first round for which that was known.
fn reports(known: &Known<'_>) -> Result<Vec<(usize, usize, u64)>, RunError> {
    let reports: Vec<(usize, usize, u64)> =
        known.store.rows("SELECT a, b, since FROM competing ORDER BY a, b", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    known.all(reports.iter().flat_map(|&(a, b, _)| [a, b]))?;
    Ok(reports)
}

/// Every pair once, whoever said it.
fn pairs(reports: &[(usize, usize, u64)]) -> Vec<(usize, usize, u64)> {
    let mut pairs = BTreeMap::new();
    for &(a, b, since) in reports {
        let first: &mut u64 = pairs.entry((a.min(b), a.max(b))).or_insert(since);
        *first = since.min(*first);
    }
    pairs.into_iter().map(|((a, b), since)| (a, b, since)).collect()
}

fn related(known: &Known<'_>, first: &First) -> Result<BTreeMap<(usize, usize), f64>, RunError> {
    let Some(estimator) = &first.estimator else {
        return Ok(BTreeMap::new());
    };
    let edges = known.store.related(first.session, estimator)?;
    known.all(edges.iter().flat_map(|&(helper, helped, _)| [helper, helped]))?;
    Ok(edges.into_iter().map(|(helper, helped, found)| ((helper, helped), found)).collect())
}

fn benefit(known: &Known<'_>, first: &First) -> Result<Vec<(usize, usize, f64)>, RunError> {
    let edges: Vec<(usize, usize, f64)> = known.store.rows(
        "SELECT helper, helped, benefit FROM benefits WHERE session = ? AND estimator = ?
         ORDER BY helper, helped",
        (first.session.to_string(), &first.estimator),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    known.all(edges.iter().flat_map(|&(helper, helped, _)| [helper, helped]))?;
    Ok(edges)
}

fn usage(known: &Known<'_>, first: &First) -> Result<Vec<(usize, usize)>, RunError> {
    let edges: Vec<(usize, usize)> = known.store.rows(
        "SELECT helper, helped FROM usage WHERE training = ? ORDER BY helper, helped",
        [first.id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    known.all(edges.iter().flat_map(|&(helper, helped)| [helper, helped]))?;
    Ok(edges)
}

fn plans(store: &Store, first: &First, names: &[&str]) -> Result<Vec<PlanStep>, RunError> {
    let numbers: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(number, &name)| (name, number)).collect();
    let steps: Vec<(u64, String, String)> = store.rows(
        "SELECT round, why, plan FROM plans WHERE training = ? ORDER BY id",
        [first.id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    steps
        .into_iter()
        .map(|(round, why, plan)| {
            let edges = || -> Option<BTreeSet<(usize, usize)>> {
                let number = |name: &String| numbers.get(name.as_str()).copied();
                let edges = plan_edges(&plan)?;
                edges.iter().map(|(from, to)| Some((number(from)?, number(to)?))).collect()
            };
            let edges = edges().ok_or_else(|| {
                store.damaged(format!("the plan of round {round} cannot be read"))
            })?;
            Ok(PlanStep { round, why, usage: edges.into_iter().collect() })
        })
        .collect()
}

/// Curves are means over the sessions that test; the final one counts while there are no others.
/// Sessions that are not done yet would bend the mean where they end: they count only while no
/// other is done.
fn curves(known: &Known<'_>, first: &First) -> Result<Vec<Curve>, RunError> {
    let points: Vec<(String, usize, u64, f64)> = known.store.rows(
        "SELECT method, participant, metrics.round, avg(value)
         FROM metrics JOIN trainings ON trainings.id = training
         WHERE method IN (?, ?) AND split = 'validation' AND value IS NOT NULL
           AND metric = (SELECT value FROM run WHERE key = 'metric')
           AND (gradients IS NOT NULL OR NOT EXISTS (
                SELECT 1 FROM trainings AS other
                WHERE other.method = trainings.method AND other.gradients IS NOT NULL))
           AND (session <> 'final' OR NOT EXISTS (
                SELECT 1 FROM trainings AS other
                WHERE other.method = trainings.method AND other.session <> 'final'
                  AND other.gradients IS NOT NULL))
         GROUP BY method, participant, metrics.round
         ORDER BY participant, min(trainings.id), metrics.round",
        [&first.method, &Method::local().name()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    known.all(points.iter().map(|point| point.1))?;
    let mut curves: Vec<Curve> = Vec::new();
    for (method, participant, round, value) in points {
        match curves.last_mut() {
            Some(curve) if curve.method == method && curve.participant == participant => {
                curve.points.push((round, value));
            }
            _ => curves.push(Curve { method, participant, points: vec![(round, value)] }),
        }
    }
    Ok(curves)
}

fn ledger(store: &Store) -> Result<Vec<LedgerLine>, RunError> {
    let sums = "count(sender), ifnull(sum(bytes) FILTER (WHERE sender IS NOT NULL), 0),
                count(receiver), ifnull(sum(bytes) FILTER (WHERE receiver IS NOT NULL), 0)";
    store.rows(
        &format!(
            "SELECT * FROM (
                 SELECT 1 AS is_estimate, min(estimates.id) AS first, estimator AS title, {sums}
                 FROM estimates LEFT JOIN estimate_ledger ON estimate = estimates.id
                 GROUP BY estimator
                 UNION ALL
                 SELECT 0, min(trainings.id), method, {sums}
                 FROM trainings LEFT JOIN ledger ON training = trainings.id GROUP BY method)
             ORDER BY is_estimate DESC, first"
        ),
        [],
        |row| {
            Ok(LedgerLine {
                is_estimate: row.get(0)?,
                of: row.get(2)?,
                sent: (row.get(3)?, row.get(4)?),
                delivered: (row.get(5)?, row.get(6)?),
            })
        },
    )
}

fn incidents(store: &Store) -> Result<Vec<(IncidentKind, usize, usize)>, RunError> {
    store.rows(
        "SELECT kind, count(*), count(DISTINCT participant) FROM incidents
         GROUP BY kind ORDER BY kind",
        [],
        |row| Ok((named(row, 0)?, row.get(1)?, row.get(2)?)),
    )
}
