//! The trainer `evidence`: linear models fitted exactly to the own rows and to one sum of what helpers'
//! data says.
//!
//! In the first round everybody commits a summary of its own rows, in the second everybody receives one sum
//! of those of its helpers whose tasks are related with its own. A summary carries its sender's data alone, so
//! no chain of others can arise.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph, bits::ones};
use fedcompetitors_record::{Disclosure, Flow, FlowSource};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ByMessages, Effort, Needs, Trainer, TrainerKind};
use crate::{
    FederateError, Known,
    evidence::{FEWEST, Relations, most_coefficients},
    kinds::{Models, Settings, settings},
    protocol::{Ask, Combiner, Coordinate, Coordinator, Finish, Heard, Labelled, Question},
};

pub static KIND: TrainerKind = TrainerKind::new::<Evidence>(
    "evidence",
    "Exact fits to the own rows and to one sum of summaries of helpers' data, which carry their senders' data alone. For models without hidden layers.",
);

settings! {
    /// Settings of `evidence`.
    pub struct Evidence {
        /// Columns in which fewer rows than this differ from the others are left out of summaries:
        /// they would give single records away. One number counts for the estimator and the trainer, of two
        /// the larger.
        pub fewest: usize = FEWEST,
        /// Whether a participant may receive what a single source says of a coefficient, which is that source's
        /// summary: it may give single records away. Without it, coefficients of which fewer than two sources
        /// say something are left out of a sum.
        pub single_source: bool = false,
    }
}

impl Settings for Evidence {}

impl Trainer for Evidence {
    fn flows(&self, _: &CompetingGraph, _: &UsageGraph) -> Vec<Flow> {
        let statement = "evidence: how much of each source is in a sum follows from the summaries of all that do not compete with the receiver, also of those that are no sources";
        vec![Flow { source: FlowSource::Trainer, statement: statement.into(), pairs: Vec::new() }]
    }

    fn sends_own_data_only(&self) -> bool {
        true
    }

    fn models(&self) -> Models {
        Models::Linear
    }

    fn validates(&self, _: bool) -> bool {
        false
    }

    fn most_coefficients(&self, folds: u32) -> Option<usize> {
        Some(most_coefficients(folds))
    }

    fn fewest_sources(&self) -> usize {
        if self.single_source { 1 } else { 2 }
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Evidence {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        _: Effort,
    ) -> Box<dyn Coordinate> {
        let members = (0..known.len()).map(|participant| Member {
            participant,
            helpers: ones(usage.collaborators(participant)).collect(),
            sum: None,
            sources: Vec::new(),
            related: Vec::new(),
            left_out: Vec::new(),
            was_given: false,
            rows: known.members[participant].rows(),
        });
        let summing = Summing {
            settings: self.clone(),
            done: 0,
            coefficients: known.coefficients(),
            members: members.collect(),
        };
        Box::new(Coordinator::new(known, summing))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Coordinator::<Summing>::resume(saved)
    }
}

/// The coordinator's half: a round in which summaries are committed, and one in which sums are delivered.
#[derive(Serialize, Deserialize)]
struct Summing {
    settings: Evidence,
    done: usize,
    coefficients: usize,
    members: Vec<Member>,
}

/// What the coordinator knows of a participant.
#[derive(Serialize, Deserialize)]
struct Member {
    participant: usize,
    /// Those it may learn from.
    helpers: Vec<usize>,
    /// The sum that it is given in the second round.
    sum: Option<Labelled>,
    /// Those whose data is in its sum, with the number of its rows that this is worth.
    sources: Vec<(usize, f64)>,
    /// Those of its helpers whose tasks are related with its own.
    related: Vec<usize>,
    /// The features that are left out of its summary.
    left_out: Vec<usize>,
    /// Whether it was given its sum, if there is one.
    was_given: bool,
    /// Its own rows.
    rows: usize,
}

impl Combiner for Summing {
    fn rounds(&self) -> usize {
        2
    }

    fn done(&self) -> usize {
        self.done
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let nothing = Vec::new;
        match self.done {
            0 => {
                let ask = Ask::Fit { summary: Some(self.settings.fewest) };
                Question { ask, given: nothing() }
            }
            1 => {
                let given = self.members[participant].sum.iter().collect();
                Question { ask: Ask::Fit { summary: None }, given }
            }
            _ => Question { ask: Ask::Finish(Finish::Alone), given: nothing() },
        }
    }

    fn take(&mut self, competing: &CompetingGraph, heard: Vec<Option<Heard>>) {
        self.done += 1;
        if self.done == 1 {
            self.add_up(competing, &heard);
        } else {
            for member in &mut self.members {
                // Who was missing in the second round has received nothing.
                if member.sum.take().is_some() && !member.was_given {
                    member.sources.clear();
                    member.related.clear();
                }
            }
        }
    }

    fn given(&mut self, participant: usize) {
        self.members[participant].was_given = true;
    }

    /// Itself by its own rows, and its sources by the rows that theirs are worth, with the weight that it
    /// gives to the sum.
    fn parts(&self, participant: usize, uses: &[f64]) -> Vec<(usize, f32)> {
        let member = &self.members[participant];
        let weight = uses.get(1).copied().unwrap_or(0.0);
        let sources = member.sources.iter().map(|&(from, worth)| (from, weight * worth));
        let parts: Vec<(usize, f64)> =
            std::iter::once((participant, member.rows as f64)).chain(sources).collect();
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        parts.into_iter().map(|(from, part)| (from, (part / total) as f32)).collect()
    }

    fn disclosures(&self) -> Vec<Disclosure> {
        let left_out = self.members.iter().filter(|member| !member.left_out.is_empty());
        let left_out = left_out.map(|Member { participant, left_out, .. }| Disclosure::LeftOut {
            participant: *participant,
            features: left_out.clone(),
        });
        left_out.chain(self.members.iter().filter_map(|member| self.of_sum(member))).collect()
    }
}

impl Summing {
    /// Makes a sum for everybody of the summaries of its related helpers.
    fn add_up(&mut self, competing: &CompetingGraph, heard: &[Option<Heard>]) {
        for (member, heard) in self.members.iter_mut().zip(heard) {
            member.left_out =
                heard.iter().flat_map(|heard| heard.report.left_out.clone()).collect();
        }
        let summary = |of: usize| heard[of].as_ref()?.messages.first();
        let committed = (0..heard.len()).map(|of| Some((summary(of)?, self.members[of].rows)));
        let relations =
            Relations::new(competing, self.coefficients, &committed.collect::<Vec<_>>());
        let fewest = self.settings.fewest_sources();
        let sums = self.members.par_iter().map(|member| {
            let sources = relations.sources(member.participant, member.helpers.iter().copied());
            let sum = relations.sum(&sources, fewest);
            (sources, sum)
        });
        let sums: Vec<_> = sums.collect();
        for (member, (sources, sum)) in self.members.iter_mut().zip(sums) {
            member.related = sources.iter().map(|source| source.from).collect();
            let Some(sum) = sum else { continue };
            member.sources = sum.sources.iter().map(|source| (source.from, source.worth)).collect();
            member.sum = Some(sum.labelled);
        }
    }

    /// What there is to say of the sum that a participant has received, or of there being none.
    fn of_sum(&self, member: &Member) -> Option<Disclosure> {
        let Member { participant, related, sources, .. } = member;
        let participant = *participant;
        if let [source] = related[..] {
            return Some(if self.settings.single_source {
                Disclosure::SingleSource { participant, source }
            } else {
                Disclosure::Withheld { participant, source }
            });
        }
        let is_used = |from: &usize| sources.iter().any(|(source, _)| source == from);
        let left_out: Vec<usize> = related.iter().copied().filter(|from| !is_used(from)).collect();
        let is_empty = sources.is_empty();
        (!left_out.is_empty()).then_some(Disclosure::SourcesLeftOut {
            participant,
            sources: left_out,
            is_empty,
        })
    }
}
