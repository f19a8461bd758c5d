//! Learning by evidence: what a participant sends of its data, and what the coordinator makes of it.
//!
//! A participant's half is [`commit`] and [`Own::with_evidence`]: a summary of its own rows, made before it
//! receives anything, so that the summary carries nobody else's data whatever the participant learns later.
//! The coordinator's half is [`Relations`]: who is related with whom, how closely, and one sum of summaries
//! for each receiver. Whatever it computes for a receiver follows from the summaries of those that do not
//! compete with it.

use std::collections::BTreeMap;

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{
    Part,
    linear::{
        BadSummary, Own, Prepared, Relation, Summary, likeliest_variance, log_evidences,
        relatedness,
    },
};
use fedcompetitors_record::{Content, IncidentKind};
use rayon::prelude::*;

use crate::{
    FederateError, Federation,
    exchange::{Exchange, Offer, Parcel},
};

/// Rows that must differ from the others in a column for it to be in a summary.
pub const FEWEST: usize = 5;

/// The participant's own fit.
///
/// # Errors
/// If its model is not linear.
pub fn own<'a>(federation: &Federation<'a>, participant: usize) -> Result<&'a Own, FederateError> {
    federation.learner(participant).linear().ok_or_else(|| FederateError::NotLinear {
        participant: federation.participants().name(participant).to_owned(),
    })
}

/// The number of rows that a participant fits its model to: those for training and validation.
pub fn own_rows(federation: &Federation<'_>, participant: usize) -> usize {
    let learner = federation.learner(participant);
    learner.samples(Part::Training) + learner.samples(Part::Validation)
}

/// All participants that are present send summaries of their own rows; those that are no summaries are
/// refused by name. Columns in which fewer than `fewest` rows differ from the others are left out.
///
/// # Errors
/// If a model is not linear.
pub fn commit(
    federation: &Federation<'_>,
    exchange: &mut Exchange<'_>,
    fewest: usize,
) -> Result<Vec<Option<Parcel>>, FederateError> {
    let messages = (0..federation.len())
        .into_par_iter()
        .map(|from| Ok(own(federation, from)?.summary(fewest).to_message()))
        .collect::<Result<Vec<_>, FederateError>>()?;
    let coefficients = own(federation, 0)?.rows().coefficients();
    let offers = messages.into_iter().enumerate().map(|(from, values)| {
        let carried = federation.own(from);
        exchange.is_there(from).then(|| Offer { values, before: Vec::new(), carried })
    });
    let offers = offers.collect();
    let length = Summary::message_length(coefficients);
    let mut accepted = exchange.collect(Content::Summary, length, offers);
    for slot in &mut accepted {
        let Some(parcel) = slot else { continue };
        if let Err(bad) = Summary::from_message(coefficients, &parcel.values) {
            exchange.incident(parcel.from, incident(bad));
            *slot = None;
        }
    }
    Ok(accepted)
}

fn incident(bad: BadSummary) -> IncidentKind {
    match bad {
        BadSummary::Length => IncidentKind::WrongLength,
        BadSummary::NotFinite => IncidentKind::NotFinite,
        BadSummary::NotPositive => IncidentKind::NotPositive,
    }
}

/// How the participants' tasks are related, as the coordinator sees it from their summaries.
pub struct Relations {
    /// For each participant the summary that was accepted.
    committed: Vec<Option<Committed>>,
    receivers: Vec<Receiver>,
    /// The summaries at each variance that some receiver needs, by participant and bits of the variance.
    prepared: BTreeMap<(usize, u64), Prepared>,
}

/// A summary that the coordinator has accepted.
struct Committed {
    /// The message, without its numbers.
    receipt: Parcel,
    summary: Summary,
    /// The rows that it was made of.
    rows: usize,
}

/// What the coordinator knows of a receiver and those that do not compete with it.
#[derive(Debug, Clone, Copy)]
struct Receiver {
    /// The likeliest variance of coefficients.
    variance: f64,
    /// The mean curvature of a row in one coefficient.
    curvature: f64,
}

impl Relations {
    /// Computes what all relations need from the messages of [`commit`]. Costs O(d³) for each participant
    /// and variance.
    ///
    /// # Errors
    /// If a model is not linear.
    pub fn new(
        federation: &Federation<'_>,
        messages: &[Option<Parcel>],
    ) -> Result<Self, FederateError> {
        let coefficients = own(federation, 0)?.rows().coefficients();
        let committed = messages.iter().map(|message| {
            let message = message.as_ref()?;
            let summary = Summary::from_message(coefficients, &message.values).ok()?;
            let rows = own_rows(federation, message.from);
            Some(Committed { receipt: message.receipt(), summary, rows })
        });
        Ok(Self::of_committed(federation.competing(), committed.collect()))
    }

    fn of_committed(competing: &CompetingGraph, committed: Vec<Option<Committed>>) -> Self {
        let evidences: Vec<Option<Vec<f64>>> = committed
            .par_iter()
            .map(|one| one.as_ref().map(|one| log_evidences(&one.summary)))
            .collect();
        let receiver = |to: usize| {
            let friends: Vec<usize> = (0..committed.len())
                .filter(|&from| from == to || !competing.competes(from, to))
                .collect();
            let evidences = friends.iter().filter_map(|&from| evidences[from].as_deref());
            let summaries = || friends.iter().filter_map(|&from| committed[from].as_ref());
            let trace: f64 = summaries().map(|one| one.summary.trace()).sum();
            let rows: usize = summaries().map(|one| one.rows * one.summary.coefficients()).sum();
            Receiver {
                variance: likeliest_variance(evidences),
                curvature: trace / rows.max(1) as f64,
            }
        };
        let receivers: Vec<Receiver> = (0..committed.len()).map(receiver).collect();
        let mut wanted: Vec<(usize, u64)> = Vec::new();
        for (to, receiver) in receivers.iter().enumerate() {
            let friends = (0..committed.len())
                .filter(|&from| committed[from].is_some() && !competing.competes(from, to));
            wanted.extend(friends.map(|from| (from, receiver.variance.to_bits())));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let prepared = wanted.into_par_iter().filter_map(|(of, variance)| {
            let summary = &committed[of].as_ref()?.summary;
            Some(((of, variance), Prepared::new(summary, f64::from_bits(variance))))
        });
        let prepared = prepared.collect();
        Self { committed, receivers, prepared }
    }

    /// How a participant's task is related with a receiver's; none without their summaries. They must
    /// not compete.
    pub fn of(&self, from: usize, to: usize) -> Option<Relation> {
        let variance = self.receivers[to].variance.to_bits();
        let prepared = |of: usize| self.prepared.get(&(of, variance));
        Some(relatedness(prepared(to)?, prepared(from)?))
    }

    /// The number of a receiver's own rows that all of a sender's rows are worth to it, if their tasks
    /// are related: more rows bring less and less, as the tasks differ.
    pub fn worth(&self, from: usize, to: usize, relation: Relation) -> f64 {
        let rows = self.committed[from].as_ref().map_or(0, |one| one.rows) as f64;
        rows / (1.0 + relation.saturation * self.receivers[to].curvature * rows)
    }

    /// Those of some helpers whose task is likelier the receiver's than another.
    pub fn sources(&self, to: usize, helpers: impl Iterator<Item = usize>) -> Vec<Source> {
        let related = helpers.filter_map(|from| {
            let relation = self.of(from, to).filter(|relation| relation.is_related())?;
            let probability = relation.probability();
            let worth = probability * self.worth(from, to, relation);
            Some(Source { from, probability, saturation: relation.saturation, worth })
        });
        related.collect()
    }

    /// The sum of what sources say, each as far as its task is the receiver's, and the messages that it
    /// is made of.
    pub fn sum(&self, sources: &[Source]) -> (Summary, Vec<Parcel>) {
        let mut parcels = Vec::with_capacity(sources.len());
        let mut sum: Option<Summary> = None;
        for source in sources {
            let Some(committed) = &self.committed[source.from] else { continue };
            let (saturated, _) = committed.summary.saturated(source.saturation);
            match &mut sum {
                Some(sum) => sum.add(&saturated),
                None => sum = Some(saturated),
            }
            parcels.push(committed.receipt.clone());
        }
        (sum.unwrap_or_else(|| Summary::nothing(0)), parcels)
    }
}

/// Somebody whose data a receiver uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// The participant.
    pub from: usize,
    /// The probability that its task is the receiver's.
    pub probability: f64,
    /// The likeliest variance of the difference between the coefficients of the two.
    pub saturation: f64,
    /// The number of the receiver's own rows that its data is worth, as far as it is probable that the
    /// tasks are related.
    pub worth: f64,
}
