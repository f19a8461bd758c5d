//! The ledger: guard, ledger and store for remote participants.

use std::{borrow::Cow, path::PathBuf, sync::Mutex};

use fedcompetitors_graphs::{Choice, shown};
use fedcompetitors_learn as learn;
use fedcompetitors_record::{Content, Direction, IncidentKind, Metric};
use fedcompetitors_report::{finding_text, refusal_text};
use fedcompetitors_runs::{self as runs, About, Final, Stand, Told};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::{
    errors::Failure,
    graphs::{BenefitGraph, CompetingGraph},
    plans::rule_of,
};

/// What a run is, as the Python side says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    name: String,
    everything: String,
    metric: String,
    direction: String,
    seed: u64,
    rounds: usize,
    policy: String,
}

impl Settings {
    fn check(self) -> Result<About, Failure> {
        let Self { name, everything, metric, direction, seed, rounds, policy } = self;
        let metric = Metric { direction: parse_direction(&direction)?, name: metric };
        Ok(About { name, settings: everything, metric, seed, rounds, policy })
    }
}

fn parse_direction(text: &str) -> Result<Direction, Failure> {
    text.parse().map_err(|_| {
        Failure::new(
            "NotASetting",
            format!("the direction \"{}\" is unknown", shown(text)),
            "give higher or lower, whichever is better",
        )
    })
}

/// Whether more or less of a learner's own figure is better. By default that of the metric with this
/// name; higher where there is none, but for losses.
#[pyfunction]
#[pyo3(signature = (metric, given=None))]
pub fn direction(metric: &str, given: Option<&str>) -> Result<&'static str, Failure> {
    if let Some(given) = given {
        return Ok(parse_direction(given)?.name());
    }
    let name = metric.to_lowercase();
    let is_more = match Choice::<dyn learn::Metric>::named(&name) {
        Ok(listed) => listed.more_is_better(),
        Err(_) => !name.ends_with("loss"),
    };
    Ok(if is_more { Direction::Higher } else { Direction::Lower }.name())
}

/// Participant, split, metric and value.
type Figure = (usize, String, String, Option<f64>);

/// A participant's own numbers, and what the coordinator last knew of it.
type Submission<'py> = Option<(PyReadonlyArray1<'py, f32>, Option<PyReadonlyArray1<'py, f32>>)>;

/// A participant's model in the end, from whom it has learned, and the entry that it came with.
type Model<'py> = (PyReadonlyArray1<'py, f32>, Vec<(usize, f32)>, Option<u64>);

/// Of whom, its entry, and its numbers.
type Kept<'py> = (usize, u64, Bound<'py, PyArray1<f32>>);

/// An entry, its round, and its numbers.
type Clean<'py> = (u64, usize, Bound<'py, PyArray1<f32>>);

/// Guard, ledger and store of a run.
#[pyclass(frozen, module = "fedcompetitors._native")]
pub struct Ledger {
    opened: Mutex<Opened>,
}

struct Opened {
    ledger: runs::Ledger,
    /// Where it was when it was opened.
    stand: Stand,
}

impl Ledger {
    fn new(ledger: runs::Ledger, stand: Stand) -> Self {
        Self { opened: Mutex::new(Opened { ledger, stand }) }
    }

    /// Works on the run while other Python threads go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Opened) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        py.detach(|| {
            let mut opened = self.opened.lock().map_err(|_| {
                Failure::new("FedCompetitorsError", "the run was left half-written", "resume")
            })?;
            work(&mut opened)
        })
    }
}

#[pymethods]
impl Ledger {
    /// Begins a run in a folder that has none.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        folder: PathBuf,
        settings: Settings,
        competing: PyRef<'_, CompetingGraph>,
        sources: Vec<(String, usize)>,
    ) -> Result<Self, Failure> {
        let (competing, about) = (competing.graph.clone(), settings.check()?);
        let ledger = py.detach(|| runs::Ledger::begin(&folder, about, competing, &sources))?;
        Ok(Self::new(ledger, Stand::default()))
    }

    /// Goes on with the run in a folder; None, if there is none.
    #[staticmethod]
    fn resume(
        py: Python<'_>,
        folder: PathBuf,
        settings: Settings,
    ) -> Result<Option<Self>, Failure> {
        // It reads and hashes everybody's last model.
        let about = settings.check()?;
        let found = py.detach(|| runs::Ledger::resume(&folder, about))?;
        Ok(found.map(|(ledger, stand)| Self::new(ledger, stand)))
    }

    /// Where a resumed run was: state, plan, benefits, and whether it is complete.
    #[expect(clippy::type_complexity, reason = "one tuple, taken apart where it is asked for")]
    fn stand(
        &self,
        py: Python<'_>,
    ) -> Result<(Cow<'static, [u8]>, Option<String>, Option<BenefitGraph>, bool), Failure> {
        self.with(py, |opened| {
            let Stand { state, plan, benefit, is_complete, .. } = &opened.stand;
            let benefit = benefit.clone().map(BenefitGraph::listed);
            Ok((Cow::Owned(state.clone()), plan.clone(), benefit, *is_complete))
        })
    }

    /// The last that was accepted of everybody, in a resumed run.
    fn kept<'py>(&self, py: Python<'py>) -> Result<Vec<Kept<'py>>, Failure> {
        let kept = self.with(py, |opened| Ok(std::mem::take(&mut opened.stand.kept)))?;
        let kept = kept.into_iter().map(|message| {
            let entry = message.entry();
            (message.from(), entry, PyArray1::from_slice(py, message.values()))
        });
        Ok(kept.collect())
    }

    fn competing(&self, py: Python<'_>) -> Result<CompetingGraph, Failure> {
        self.with(py, |opened| Ok(CompetingGraph::listed(opened.ledger.competing().clone())))
    }

    fn carries(&self, py: Python<'_>, participant: usize) -> Result<Vec<usize>, Failure> {
        self.with(py, |opened| Ok(opened.ledger.carries(participant).collect()))
    }

    /// The figures of a resumed run's rounds so far, each with its round.
    fn told(&self, py: Python<'_>) -> Result<Vec<(usize, Figure)>, Failure> {
        let told = self.with(py, |opened| Ok(opened.ledger.told()?))?;
        let figure = |one: Told| (one.participant, one.split, one.metric, one.value);
        Ok(told.into_iter().map(|(round, one)| (round, figure(one))).collect())
    }

    /// Whose data something carries that was accepted and is kept.
    fn provenance(&self, py: Python<'_>, entry: u64) -> Result<Vec<usize>, Failure> {
        self.with(py, |opened| Ok(opened.ledger.provenance(entry)?))
    }

    /// The round in which a participant was first handed what carries another one's data.
    fn carries_since(
        &self,
        py: Python<'_>,
        participant: usize,
        other: usize,
    ) -> Result<Option<usize>, Failure> {
        self.with(py, |opened| Ok(opened.ledger.carries_since(participant, other)?))
    }

    /// The last that was kept of a participant and carries no data of these others: its entry,
    /// its round and its numbers.
    fn last_without<'py>(
        &self,
        py: Python<'py>,
        participant: usize,
        others: Vec<usize>,
    ) -> Result<Option<Clean<'py>>, Failure> {
        let found =
            self.with(py, |opened| Ok(opened.ledger.last_without(participant, &others)?))?;
        Ok(found.map(|(entry, round, values)| (entry, round, PyArray1::from_vec(py, values))))
    }

    fn begin_round(&self, py: Python<'_>, round: usize) -> Result<(), Failure> {
        self.with(py, |opened| {
            opened.ledger.begin_round(round);
            Ok(())
        })
    }

    fn missing(&self, py: Python<'_>, participant: usize) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.incident(participant, IncidentKind::Missing)?))
    }

    fn unreadable(&self, py: Python<'_>, participant: usize) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.incident(participant, IncidentKind::Unreadable)?))
    }

    /// Takes what participants send; gives the entries of what was accepted.
    fn collect(
        &self,
        py: Python<'_>,
        content: &str,
        length: usize,
        submissions: Vec<Submission<'_>>,
    ) -> Result<Vec<Option<u64>>, Failure> {
        let content = content_of(content)?;
        let slices = submissions
            .iter()
            .map(|submission| {
                submission
                    .as_ref()
                    .map(|(values, before)| {
                        let before = before.as_ref().map_or(Ok(&[][..]), |before| slice(before))?;
                        Ok((slice(values)?, before))
                    })
                    .transpose()
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        self.with(py, |opened| Ok(opened.ledger.collect(content, length, &slices)?))
    }

    /// Asks whether a participant may be handed what was made of these entries; then it is.
    fn deliver(
        &self,
        py: Python<'_>,
        to: usize,
        content: &str,
        values: PyReadonlyArray1<'_, f32>,
        made_of: Vec<u64>,
    ) -> Result<Vec<usize>, Failure> {
        let (content, values) = (content_of(content)?, slice(&values)?);
        self.with(py, |opened| Ok(opened.ledger.deliver(to, content, values, &made_of)?))
    }

    /// Sets a training aside for an estimate in between.
    fn begin_estimate(&self, py: Python<'_>, before: usize) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.begin_estimate(before)?))
    }

    /// Keeps what has moved in the estimate so far.
    fn keep_estimate(&self, py: Python<'_>) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.keep_estimate()?))
    }

    /// Breaks the estimate off: what it has shown stays on record.
    fn break_off_estimate(&self, py: Python<'_>) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.break_off_estimate()?))
    }

    fn end_estimate(
        &self,
        py: Python<'_>,
        benefit: PyRef<'_, BenefitGraph>,
        gradients: u64,
    ) -> Result<(), Failure> {
        let benefit = &benefit.graph;
        self.with(py, |opened| Ok(opened.ledger.end_estimate(benefit, gradients)?))
    }

    fn follow(
        &self,
        py: Python<'_>,
        plan: &str,
        certificate: &str,
        why: &str,
        benefit: PyRef<'_, BenefitGraph>,
    ) -> Result<(), Failure> {
        let benefit = &benefit.graph;
        self.with(py, |opened| {
            Ok(opened.ledger.follow((plan, certificate, why), benefit, &refusal_text)?)
        })
    }

    fn declare(
        &self,
        py: Python<'_>,
        competing: PyRef<'_, CompetingGraph>,
        since: usize,
    ) -> Result<(), Failure> {
        let competing = competing.graph.clone();
        self.with(py, |opened| Ok(opened.ledger.declare(competing, since)?))
    }

    fn found(
        &self,
        py: Python<'_>,
        participant: usize,
        source: &str,
        samples: usize,
    ) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.found(participant, source, samples)?))
    }

    fn tell(&self, py: Python<'_>, figures: Vec<Figure>) -> Result<(), Failure> {
        self.with(py, |opened| {
            opened.ledger.tell(told(figures));
            Ok(())
        })
    }

    fn keep(&self, py: Python<'_>, state: &[u8]) -> Result<(), Failure> {
        self.with(py, |opened| Ok(opened.ledger.keep(state.to_vec())?))
    }

    fn keep_models(
        &self,
        py: Python<'_>,
        models: Vec<(u64, PyReadonlyArray1<'_, f32>)>,
    ) -> Result<(), Failure> {
        let models = models
            .iter()
            .map(|(entry, values)| Ok((*entry, slice(values)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        self.with(py, |opened| Ok(opened.ledger.keep_models(&models)?))
    }

    /// Ends the run; were there incidents?
    fn finish(
        &self,
        py: Python<'_>,
        models: Vec<Model<'_>>,
        tensors: Vec<(String, Vec<usize>)>,
        figures: Vec<Figure>,
        gradients: u64,
    ) -> Result<bool, Failure> {
        let models = models
            .iter()
            .map(|(parameters, parts, entry)| {
                let parameters = slice(parameters)?;
                Ok(Final { parameters, parts: parts.clone(), entry: *entry })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        self.with(py, |opened| {
            Ok(opened.ledger.finish(&models, &tensors, told(figures), gradients)?)
        })
    }
}

fn slice<'a>(array: &'a PyReadonlyArray1<'_, f32>) -> Result<&'a [f32], Failure> {
    array.as_slice().map_err(|_| {
        Failure::new(
            "NotContiguous",
            "an array is not contiguous in memory",
            "use `numpy.ascontiguousarray(array)`",
        )
    })
}

fn told(figures: Vec<Figure>) -> Vec<Told> {
    figures
        .into_iter()
        .map(|(participant, split, metric, value)| Told { participant, split, metric, value })
        .collect()
}

fn content_of(name: &str) -> Result<Content, Failure> {
    match name.parse() {
        Ok(content @ (Content::Model | Content::Gradient)) => Ok(content),
        _ => Err(Failure::new(
            "NotASetting",
            format!("the content \"{name}\" is unknown"),
            "give \"model\" or \"gradient\"",
        )),
    }
}

/// What an audit says: how the run stands, in numbers what was looked at, and the findings in
/// words.
#[pyfunction]
pub fn audit(
    py: Python<'_>,
    folder: PathBuf,
    competing: Option<PyRef<'_, CompetingGraph>>,
    rule: Option<&str>,
) -> Result<(String, usize, usize, Vec<String>), Failure> {
    let competing = competing.as_ref().map(|one| &one.graph);
    let rule = rule.map(rule_of).transpose()?;
    let found = py.detach(|| runs::audit(&folder, competing, rule))?;
    let findings = found.findings.iter().map(finding_text);
    Ok((found.status.to_string(), found.transfers, found.models, findings.collect()))
}
