//! What came out of a run, read back from its store.

use std::{collections::BTreeSet, path::Path};

use fedcompetitors_files::{federation, federation::Evaluation, parse_federation};
use fedcompetitors_graphs::Choice;
use fedcompetitors_record::{
    Direction, Disclosure, Flow, IncidentKind, IncidentLine, Method, Metric, Model, Moved,
    Participant, PlanFigures, Refused, Session, Status, Summary, TestedRows, Unfinished,
};
use fedcompetitors_select::Policy;
use serde::de::DeserializeOwned;

use super::{
    RunError, Store, figures,
    store::{StoredTraining, from_json, named},
};

/// Reads a run directory.
///
/// # Errors
/// If it cannot be read.
pub fn summary(folder: &Path) -> Result<Summary, RunError> {
    of(&Store::read(folder)?)
}

/// Everybody, with their competitors by name.
pub fn participants(store: &Store) -> Result<Vec<Participant>, RunError> {
    let people: Vec<(usize, String, String, usize, bool)> = store.rows(
        "SELECT id, name, source, samples, few FROM participants ORDER BY id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
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
        .map(|((_, name, source, samples, few), others)| Participant {
            name: name.clone(),
            source: source.clone(),
            samples: *samples,
            has_few_of_a_class: *few,
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
    let mut methods: Vec<Method> = Vec::new();
    let mut sessions = Vec::new();
    let mut unfinished = None;
    for training in &trainings {
        if !sessions.contains(&training.session) {
            sessions.push(training.session);
        }
        let seen = methods.iter().position(|method| method.name == training.method);
        let at = seen.unwrap_or(methods.len());
        if seen.is_none() {
            methods.push(described(&known, training)?);
        }
        let method = &mut methods[at];
        method.incidents.extend(incidents(&known, training)?);
        method.plans.extend(plan(store, training)?.map(|plan| (training.session, plan)));
        let seconds: Vec<f64> =
            store.rows("SELECT seconds FROM seconds WHERE training = ?", [training.id], |row| {
                row.get(0)
            })?;
        method.seconds += seconds.iter().sum::<f64>();
        if training.gradients.is_some() {
            method.done.push(training.session);
            if training.session == Session::Final {
                method.models = models(&known, training)?;
                method.disclosures = disclosures(&known, training)?;
            }
        } else {
            unfinished = Some(Unfinished {
                method: training.method.clone(),
                session: training.session,
                done: store.saved_rounds(training.id)?,
                rounds: training.rounds,
            });
        }
    }
    let metric = metric(store)?;
    figures::add_scores(&known, &mut methods, &metric)?;
    let said = |key: &str| -> Result<String, RunError> { Ok(store.said(key)?.unwrap_or_default()) };
    let stops = store.stops()?;
    let status = if stops.is_empty() { status(store)? } else { Status::Stopped };
    let federation = said("federation")?;
    Ok(Summary {
        name: said("name")?,
        status,
        metric,
        tested_rows: tested_rows(&federation),
        federation,
        participants,
        features: from_json(&said("features")?).unwrap_or_default(),
        methods,
        sessions,
        constant: store.figures(figures::CONSTANT, known.count)?,
        standard_errors: store.standard_errors()?,
        unfinished,
        stops,
    })
}

/// Which rows a federation file tests together; the record of remote participants may have no such file.
fn tested_rows(federation: &str) -> TestedRows {
    let Ok(file) = parse_federation(Path::new(""), federation) else {
        return TestedRows::Single;
    };
    let Evaluation { groups, time, .. } = file.settings.evaluation;
    let groups = groups.map_or(TestedRows::Single, TestedRows::Groups);
    time.map_or(groups, TestedRows::Later)
}

/// The status, as it is stored.
pub fn status(store: &Store) -> Result<Status, RunError> {
    let text = store.said("status")?.unwrap_or_default();
    text.parse().map_err(|error| store.damaged(format!("the status of the run, {error}")))
}

/// The figure that is reported.
pub fn metric(store: &Store) -> Result<Metric, RunError> {
    let direction = store.said("direction")?.unwrap_or_default();
    let direction: Direction = direction
        .parse()
        .map_err(|error| store.damaged(format!("the direction of the metric, {error}")))?;
    Ok(Metric { name: store.said("metric")?.unwrap_or_default(), direction })
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
        "SELECT welfare, upper_bound, note, forecast FROM trainings
         WHERE id = ? AND welfare IS NOT NULL",
        [training.id],
        |row| {
            let forecast: Option<String> = row.get(3)?;
            Ok(PlanFigures {
                welfare: row.get(0)?,
                upper_bound: row.get(1)?,
                note: row.get(2)?,
                forecast: forecast.and_then(|text| from_json(&text)),
            })
        },
    )?;
    Ok(plans.into_iter().next())
}

/// A method as its first training says, without figures.
fn described(known: &Known<'_>, training: &StoredTraining) -> Result<Method, RunError> {
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
                     (SELECT estimates.id FROM estimates JOIN trainings USING (session, estimator)
                      WHERE trainings.id = ?1))"
        ))
    };
    let refused: Vec<Refused> = store.rows(
        "SELECT helper, helped, reason FROM refusals WHERE training = ? ORDER BY helped, helper",
        [id],
        |row| Ok(Refused { helper: row.get(0)?, helped: row.get(1)?, reason: row.get(2)? }),
    )?;
    known.all(refused.iter().flat_map(|refused| [refused.helper, refused.helped]))?;
    let mut flows = Vec::new();
    for (flow, pairs) in store.flows(id)? {
        let pairs: Vec<(usize, usize)> = known.json(&pairs)?;
        known.all(pairs.iter().flat_map(|&(a, b)| [a, b]))?;
        flows.push(Flow { pairs, ..flow });
    }
    Ok(Method {
        name: training.method.clone(),
        role: training.role,
        rule: training.rule,
        is_local: federation::Method::parse(&training.method) == Ok(federation::Method::local()),
        searches: Choice::<dyn Policy>::named(&policy).is_ok_and(|policy| policy.searches()),
        policy,
        trainer,
        estimator,
        done: Vec::new(),
        scores: Vec::new(),
        models: Vec::new(),
        disclosures: Vec::new(),
        gradients: training.gradients.unwrap_or(0),
        edges: count("SELECT count(*) FROM usage WHERE training = ?")? as usize,
        refused,
        moved: Moved { bytes: moved("sum(bytes)")?, transfers: moved("count(*)")? },
        flows,
        plans: Vec::new(),
        incidents: Vec::new(),
        seconds: 0.0,
    })
}

/// Everybody's model of a finished training.
fn models(known: &Known<'_>, training: &StoredTraining) -> Result<Vec<Model>, RunError> {
    let rows = known.store.rows(
        "SELECT participant, provenance, parts, file, hash FROM models WHERE training = ?
         ORDER BY participant",
        [training.id],
        |row| {
            let texts: (String, String) = (row.get(1)?, row.get(2)?);
            let kept: (Option<String>, String) = (row.get(3)?, row.get(4)?);
            Ok((row.get(0)?, texts, kept))
        },
    )?;
    if !rows.iter().map(|row: &(usize, _, _)| row.0).eq(0..known.count) {
        let (method, session) = (&training.method, training.session);
        let what = format!("{method}, {session}: there is not one model for each participant");
        return Err(known.store.damaged(what));
    }
    rows.into_iter()
        .map(|(_, (provenance, parts), (file, hash))| {
            let provenance: Vec<usize> = known.json(&provenance)?;
            let parts: Vec<(usize, f32)> = known.json(&parts)?;
            known.all(provenance.iter().copied().chain(parts.iter().map(|part| part.0)))?;
            Ok(Model { provenance, parts, file, hash })
        })
        .collect()
}

/// What summaries of a training reveal or leave out.
fn disclosures(known: &Known<'_>, training: &StoredTraining) -> Result<Vec<Disclosure>, RunError> {
    let texts: Vec<String> = known.store.rows(
        "SELECT disclosure FROM disclosures WHERE training = ? ORDER BY id",
        [training.id],
        |row| row.get(0),
    )?;
    let all: Vec<Disclosure> =
        texts.iter().map(|text| known.json(text)).collect::<Result<_, _>>()?;
    known.all(all.iter().flat_map(Disclosure::participants))?;
    Ok(all)
}

/// Incidents with rounds in a row put together.
fn incidents(known: &Known<'_>, training: &StoredTraining) -> Result<Vec<IncidentLine>, RunError> {
    let all: Vec<(usize, IncidentKind, usize)> = known.store.rows(
        "SELECT DISTINCT participant, kind, round FROM incidents WHERE training = ?
         ORDER BY participant, kind, round",
        [training.id],
        |row| Ok((row.get(0)?, named(row, 1)?, row.get(2)?)),
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
                session: training.session,
                participant,
                kind,
                first: round,
                last: round,
            }),
        }
    }
    Ok(lines)
}
