//! Learning by evidence: what a participant sends of its data, and what the coordinator makes of it.
//!
//! A participant's half is [`Own::summary`] and [`Own::with_evidence`]: a summary of its own rows, made before it
//! receives anything, so that the summary carries nobody else's data whatever the participant learns later.
//! The coordinator's half is [`Relations`]: who is related with whom, how closely, and one sum of summaries
//! for each receiver. Whatever it computes for a receiver follows from the summaries of those that do not
//! compete with it.

use std::{cmp::Reverse, collections::BTreeMap};

use fedcompetitors_graphs::{CompetingGraph, bits};
use fedcompetitors_learn::linear::{
    Own, Prepared, Relation, Summary, likeliest_variance, log_evidences, relatedness,
};
use fedcompetitors_record::Content;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{FederateError, Site, exchange::Message, protocol::Labelled};

/// Rows that must differ from the others in a column for it to be in a summary.
pub const FEWEST: usize = 5;

/// The most coefficients of a model where every fold is evaluated; a model without intercepts has features times
/// outputs. Time grows with their cube, memory with their square for each participant.
pub const MOST_WITH_FOLDS: usize = 500;

/// The most coefficients where one part of the rows is held out.
pub const MOST_HELD_OUT: usize = 2000;

/// The most coefficients that summaries are for, given the number of folds.
pub fn most_coefficients(folds: u32) -> usize {
    if folds > 1 { MOST_WITH_FOLDS } else { MOST_HELD_OUT }
}

/// A participant's own fit.
///
/// # Errors
/// If its model is not linear.
pub fn own<'a>(site: &Site<'a>) -> Result<&'a Own, FederateError> {
    let participant = || site.name().to_owned();
    let found = site.learner().linear();
    found.ok_or_else(|| FederateError::NotLinear { participant: participant() })
}

/// How the participants' tasks are related, as the coordinator sees it from their summaries.
pub struct Relations<'a> {
    /// For each participant the summary that was accepted.
    committed: Vec<Option<Committed<'a>>>,
    receivers: Vec<Receiver>,
    /// The summaries at each variance that some receiver needs, by participant and bits of the variance.
    prepared: BTreeMap<(usize, u64), Prepared>,
}

/// A summary that the coordinator has accepted.
struct Committed<'a> {
    message: &'a Message,
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

impl<'a> Relations<'a> {
    /// Computes what all relations need from the summaries that participants have sent, each with the number of rows
    /// that it was made of. Costs O(d³) for each participant and variance.
    pub fn new(
        competing: &CompetingGraph,
        coefficients: usize,
        messages: &[Option<(&'a Message, usize)>],
    ) -> Self {
        let committed = messages.iter().map(|sent| {
            let (message, rows) = (*sent)?;
            let summary = Summary::from_message(coefficients, message.values()).ok()?;
            Some(Committed { message, summary, rows })
        });
        Self::of_committed(competing, committed.collect())
    }

    fn of_committed(competing: &CompetingGraph, committed: Vec<Option<Committed<'a>>>) -> Self {
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
            let speaking = summaries().filter(|one| !one.summary.is_empty());
            let rows: usize = speaking.map(|one| one.rows * one.summary.coefficients()).sum();
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

    /// How a participant's task is related with a receiver's; none without their summaries, or where one of
    /// them says nothing. They must not compete.
    pub fn of(&self, from: usize, to: usize) -> Option<Relation> {
        let variance = self.receivers[to].variance.to_bits();
        let says_something =
            |of: usize| self.committed[of].as_ref().is_some_and(|one| !one.summary.is_empty());
        let prepared =
            |of: usize| self.prepared.get(&(of, variance)).filter(|_| says_something(of));
        Some(relatedness(prepared(to)?, prepared(from)?))
    }

    /// The number of rows that all of a sender's rows are worth to a receiver, if their tasks are related: more rows
    /// bring less and less, as the tasks differ. Rows count by what they say, in rows of the mean curvature: of rows
    /// with rare outcomes more are needed.
    pub fn worth(&self, from: usize, to: usize, relation: Relation) -> f64 {
        let Some(one) = &self.committed[from] else { return 0.0 };
        let information = one.summary.trace() / one.summary.coefficients().max(1) as f64;
        let curvature = self.receivers[to].curvature.max(f64::MIN_POSITIVE);
        information / (1.0 + relation.expected() * information) / curvature
    }

    /// Those of some helpers whose task is likelier the receiver's than another.
    pub fn sources(&self, to: usize, helpers: impl Iterator<Item = usize>) -> Vec<Source> {
        let related = helpers.filter_map(|from| {
            let relation = self.of(from, to).filter(|relation| relation.is_related())?;
            let probability = relation.probability();
            let worth = probability * self.worth(from, to, relation);
            let saturation = relation.expected();
            // A summary may be sound by itself and larger than anything that can be computed with it.
            let is_usable = worth.is_finite() && saturation.is_finite();
            is_usable.then_some(Source { from, probability, saturation, worth })
        });
        related.collect()
    }

    /// The sum of what sources say about the receiver's task. The variance of a difference between two tasks is
    /// half the sender's and half the receiver's own part: each source is saturated by its own part, and their
    /// sum, which speaks of what they have in common, by the receiver's, the mean over the sources by their
    /// traces. However many sources there are, the sum says no more than one over the latter.
    ///
    /// Where `fewest` is two or more,
    /// coefficients are left out until at least as many sources say something about each coefficient, and
    /// about each pair of coefficients, that is left: what one source alone says would be its summary. Without
    /// coefficients there is no sum.
    pub fn sum(&self, sources: &[Source], fewest: usize) -> Option<Sum> {
        let Chosen { of, left_out } = self.chosen(sources, fewest)?;
        let messages: Vec<&Message> = of.iter().map(|(committed, _)| committed.message).collect();
        let labelled =
            Labelled::computed(Content::Summary, &messages, || added(&of, &left_out).to_message());
        Some(Sum { labelled, sources: of.into_iter().map(|(_, source)| source).collect() })
    }

    /// The sources that have a part in a sum, and the coefficients that are left out of it.
    fn chosen(&self, sources: &[Source], fewest: usize) -> Option<Chosen<'_>> {
        let summary = |source: &Source| Some(&self.committed[source.from].as_ref()?.summary);
        let size = sources.iter().find_map(summary)?.coefficients();
        let speakers = |coefficient: usize| -> Vec<u64> {
            let mut speakers = vec![0; sources.len().div_ceil(64)];
            for (at, source) in sources.iter().enumerate() {
                if summary(source).is_some_and(|summary| summary.covers(coefficient)) {
                    bits::insert(&mut speakers, at);
                }
            }
            speakers
        };
        let mut coefficients: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        for coefficient in 0..size {
            coefficients.entry(speakers(coefficient)).or_default().push(coefficient);
        }
        // Those of most sources come first: they go together with most others.
        let mut groups: Vec<(&Vec<u64>, &Vec<usize>)> = coefficients.iter().collect();
        groups.sort_by_key(|(speakers, of)| {
            (Reverse(bits::count(speakers)), Reverse(of.len()), of.first().copied())
        });
        let mut kept: Vec<&Vec<u64>> = Vec::new();
        let mut left_out: Vec<usize> = Vec::new();
        for (speakers, of) in groups {
            // What no source says of a pair reveals nothing.
            let is_enough = |other: &&Vec<u64>| {
                let count = bits::common_ones(speakers, other).count();
                count == 0 || count >= fewest
            };
            if bits::count(speakers) >= fewest.max(1) && kept.iter().all(is_enough) {
                kept.push(speakers);
            } else {
                left_out.extend(of);
            }
        }
        // Whose coefficients are all left out is not in the sum.
        let is_used = |at: usize| kept.iter().any(|speakers| bits::contains(speakers, at));
        let used = sources.iter().enumerate().filter(|(at, _)| is_used(*at));
        let used =
            used.filter_map(|(_, source)| Some((self.committed[source.from].as_ref()?, *source)));
        let of: Vec<(&Committed<'_>, Source)> = used.collect();
        (!of.is_empty()).then_some(Chosen { of, left_out })
    }
}

/// What a sum is made of.
struct Chosen<'a> {
    of: Vec<(&'a Committed<'a>, Source)>,
    left_out: Vec<usize>,
}

/// The sum of summaries, each saturated by its source's own part, then by the receiver's; without these coefficients.
fn added(of: &[(&Committed<'_>, Source)], left_out: &[usize]) -> Summary {
    let size = of.first().map_or(0, |(committed, _)| committed.summary.coefficients());
    let mut sum = Summary::nothing(size);
    let (mut own_parts, mut total) = (0.0, 0.0);
    for (committed, source) in of {
        let own_part = 0.5 * source.saturation;
        let saturated = committed.summary.saturated(own_part).0;
        let trace = saturated.trace();
        (own_parts, total) = (own_parts + own_part * trace, total + trace);
        sum.add(&saturated);
    }
    sum.leave_out(left_out);
    sum.saturated(if total > 0.0 { own_parts / total } else { 0.0 }).0
}

/// What sources say together.
pub struct Sum {
    /// The sum of their summaries, as a message.
    pub labelled: Labelled,
    /// The sources that it is of.
    pub sources: Vec<Source>,
}

/// Somebody whose data a receiver uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The participant.
    pub from: usize,
    /// The probability that its task is the receiver's.
    pub probability: f64,
    /// The variance of the difference between the coefficients of the two that is to be expected.
    pub saturation: f64,
    /// The number of the receiver's own rows that its data is worth, as far as it is probable that the
    /// tasks are related.
    pub worth: f64,
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::{Participants, random::Stream};
    use fedcompetitors_testing::repeat;

    use super::*;
    use crate::exchange::{Exchange, Submission};

    /// Messages from this many participants, whose values are not looked at.
    fn messages(count: usize) -> Vec<Message> {
        let competing = CompetingGraph::builder(&Participants::numbered(count)).build();
        let mut exchange = Exchange::new(&competing);
        let carried: Vec<[u64; 1]> = (0..count).map(|from| [1 << from]).collect();
        let submissions =
            carried.iter().map(|of| Some(Submission { values: &[], before: &[], carried: of }));
        let submissions: Vec<_> = submissions.collect();
        let sent = exchange.take(Content::Summary, 0, false, &submissions);
        sent.into_iter().flatten().collect()
    }

    /// Relations of summaries that cover these coefficients, and all of them as sources.
    fn covering<'a>(
        size: usize,
        covers: &[Vec<usize>],
        messages: &'a [Message],
    ) -> (Relations<'a>, Vec<Source>) {
        let competing = CompetingGraph::builder(&Participants::numbered(covers.len())).build();
        let committed =
            covers.iter().zip(messages).enumerate().map(|(from, (covered, message))| {
                // Of two rows: all ones, and another value in each column.
                let mut summary = Summary::nothing(size);
                let value = |at: usize| 1.0 + at as f64 + 10.0 * from as f64;
                let entries = (0..size * size).map(|at| 1.0 + value(at / size) * value(at % size));
                summary.add(&Summary::new(entries.collect(), (0..size).map(value).collect()));
                let left_out: Vec<usize> = (0..size).filter(|at| !covered.contains(at)).collect();
                summary.leave_out(&left_out);
                Some(Committed { message, summary, rows: 50 })
            });
        let relations = Relations::of_committed(&competing, committed.collect());
        let source = |from| Source { from, probability: 1.0, saturation: 0.0, worth: 50.0 };
        (relations, (0..covers.len()).map(source).collect())
    }

    /// A sum before it is rounded to a message, with its sources.
    fn sum(
        relations: &Relations<'_>,
        sources: &[Source],
        fewest: usize,
    ) -> Option<(Summary, Vec<Source>)> {
        let Chosen { of, left_out } = relations.chosen(sources, fewest)?;
        let delivered = relations.sum(sources, fewest).expect("the same");
        assert_eq!(delivered.labelled.made_of().len(), of.len());
        assert_eq!(delivered.labelled.values(), added(&of, &left_out).to_message());
        Some((added(&of, &left_out), delivered.sources))
    }

    fn entries(summary: &Summary) -> impl Iterator<Item = (usize, f64)> {
        summary.curvature().iter().copied().enumerate()
    }

    /// What two or more sources say of a coefficient, and of a pair of them, is delivered; what one source
    /// says alone is not. Sources of which nothing is left are not in the sum.
    #[test]
    fn no_entry_of_a_sum_is_of_one_source_alone() {
        for case in 0..u64::from(repeat(200)) {
            let mut stream = Stream::new(case, "covered", 0);
            let (size, count) = (1 + stream.below(6) as usize, 1 + stream.below(5) as usize);
            let covers: Vec<Vec<usize>> =
                (0..count).map(|_| (0..size).filter(|_| stream.unit() < 0.7).collect()).collect();
            let messages = messages(count);
            let (relations, sources) = covering(size, &covers, &messages);
            let summaries: Vec<&Summary> = (0..count)
                .map(|from| &relations.committed[from].as_ref().expect("committed").summary)
                .collect();
            let of_one =
                |at: usize| summaries.iter().filter(|one| one.curvature()[at] != 0.0).count();
            if let Some((summary, used)) = sum(&relations, &sources, 2) {
                assert!(used.len() >= 2);
                for (at, value) in entries(&summary) {
                    let total: f64 =
                        used.iter().map(|source| summaries[source.from].curvature()[at]).sum();
                    assert!(
                        value == 0.0 || of_one(at) >= 2 && (value - total).abs() < 1e-9 * total
                    );
                }
                for source in &used {
                    let adds = |at: usize| summary.covers(at) && summaries[source.from].covers(at);
                    assert!((0..size).any(adds), "{} adds nothing", source.from);
                }
            } else {
                // Nobody else speaks of anything that somebody speaks of.
                assert!((0..size).all(|at| of_one(at * (size + 1)) < 2));
            }
            // Where one source is allowed, everything is delivered.
            let all = sum(&relations, &sources, 1);
            for at in 0..size * size {
                let total: f64 = summaries.iter().map(|one| one.curvature()[at]).sum();
                let found = all.as_ref().map_or(0.0, |(summary, _)| summary.curvature()[at]);
                assert!((found - total).abs() <= 1e-9 * total);
            }
        }
    }

    /// The sum is what remains of a joint quadratic form when everything but the receiver's coefficients is
    /// eliminated: sources and receiver differ from a common part by own parts of one variance.
    #[test]
    fn a_sum_is_what_sources_say_through_their_common_part() {
        for case in 0..u64::from(repeat(50)) {
            let mut stream = Stream::new(case, "common part", 0);
            let (size, count) = (1 + stream.below(4) as usize, 1 + stream.below(4) as usize);
            let messages = messages(count);
            let (relations, mut sources) =
                covering(size, &vec![(0..size).collect(); count], &messages);
            let own_part = 0.01 + stream.unit();
            sources.iter_mut().for_each(|source| source.saturation = 2.0 * own_part);
            let (found, _) = sum(&relations, &sources, 1).expect("sources");
            let (curvature, linear) = eliminated(&relations, size, count, own_part);
            let expected = curvature.iter().chain(&linear);
            for (found, expected) in found.curvature().iter().chain(found.linear()).zip(expected) {
                assert!((found - expected).abs() < 1e-8 * expected.abs().max(1.0), "case {case}");
            }
            if count == 1 {
                let summary = &relations.committed[0].as_ref().expect("committed").summary;
                let (whole, _) = summary.saturated(2.0 * own_part);
                for (found, whole) in found.curvature().iter().zip(whole.curvature()) {
                    assert!((found - whole).abs() < 1e-9 * whole.abs().max(1.0), "case {case}");
                }
            }
        }
    }

    /// The quadratic form of the coefficients of all sources, of the common part and of the receiver, in this
    /// order, with all but the last eliminated one after the other.
    fn eliminated(
        relations: &Relations<'_>,
        size: usize,
        count: usize,
        own_part: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let all = size * (count + 2);
        let mut form = vec![vec![0.0; all + 1]; all];
        for (at, committed) in relations.committed.iter().enumerate() {
            let summary = &committed.as_ref().expect("committed").summary;
            for row in 0..size {
                let values = &summary.curvature()[row * size..][..size];
                form[at * size + row][at * size..][..size].copy_from_slice(values);
                form[at * size + row][all] = summary.linear()[row];
            }
        }
        for (at, coefficient) in (0..count + 2).flat_map(|at| (0..size).map(move |one| (at, one))) {
            let (this, common) = (at * size + coefficient, count * size + coefficient);
            if this != common {
                form[this][this] += 1.0 / own_part;
                form[common][common] += 1.0 / own_part;
                form[this][common] -= 1.0 / own_part;
                form[common][this] -= 1.0 / own_part;
            }
        }
        let first = all - size;
        for pivot in 0..first {
            let done = form[pivot].clone();
            for row in &mut form[pivot + 1..] {
                let factor = row[pivot] / done[pivot];
                row.iter_mut().zip(&done).for_each(|(value, done)| *value -= factor * done);
            }
        }
        let left = form[first..].iter();
        let curvature = left.clone().flat_map(|row| row[first..all].to_vec()).collect();
        (curvature, left.map(|row| row[all]).collect())
    }

    /// What a helper is worth is the information of its summary in rows of the receiver and its friends, bounded by
    /// how far the tasks differ, whatever number of rows it claims.
    #[test]
    fn worth_is_information_and_not_rows() {
        let messages = messages(3);
        let (mut relations, _) = covering(2, &vec![vec![0, 1]; 3], &messages);
        let relation = relations.of(1, 0).expect("both have summaries");
        let trace =
            |of: usize| relations.committed[of].as_ref().map_or(0.0, |one| one.summary.trace());
        let row = (trace(0) + trace(1) + trace(2)) / (2.0 * 150.0);
        let (found, information) = (relations.worth(1, 0, relation), 0.5 * trace(1));
        let expected = 1.0 / (row / information + relation.expected() * row);
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        assert!(found < 1.0 / (relation.expected() * row));
        let claimed = relations.committed[1].as_mut().expect("committed");
        claimed.rows = 1_000_000;
        assert!((relations.worth(1, 0, relation) / found - 1.0).abs() < 1e-12);
    }

    /// Three sources with two of three classes each: every class has two sources, every pair of classes one.
    #[test]
    fn pairs_of_coefficients_need_two_sources_too() {
        let messages = messages(3);
        let (relations, sources) = covering(3, &[vec![0, 1], vec![1, 2], vec![0, 2]], &messages);
        let (summary, used) = sum(&relations, &sources, 2).expect("one coefficient is left");
        assert_eq!((0..3).filter(|&at| summary.covers(at)).collect::<Vec<_>>(), [0]);
        let from: Vec<usize> = used.iter().map(|source| source.from).collect();
        assert_eq!(from, [0, 2]);
        assert!(relations.sum(&sources[..1], 2).is_none());
        assert!(relations.sum(&sources[..1], 1).is_some());
    }
}
