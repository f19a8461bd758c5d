//! The trainer `evidence`: linear models fitted exactly to the own rows and to one sum of what helpers'
//! data says.
//!
//! In the first round everybody commits a summary of its own rows, in the second everybody receives one sum
//! of those of its helpers whose tasks are related with its own. A summary carries its sender's data alone, so
//! no chain of others can arise.

use fedcompetitors_graphs::{
    BenefitGraph, UsageGraph,
    bits::{self, ones},
};
use fedcompetitors_learn::linear::Summary;
use fedcompetitors_record::{Content, Disclosure};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Best, Effort, Trainer, TrainerKind, Training, descent::each};
use crate::{
    FederateError, Federation,
    evidence::{FEWEST, Relations, Source, Sum, commit, most_coefficients, own, own_rows},
    exchange::{Exchange, Message},
    kinds::{Models, Settings, settings},
    saved,
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

    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        _: Effort,
    ) -> Box<dyn Training> {
        let members = (0..federation.len()).map(|participant| Member {
            participant,
            helpers: ones(usage.collaborators(participant)).collect(),
            parameters: Vec::new(),
            carried: federation.site(participant).own(),
            sources: Vec::new(),
            weight: 0.0,
            rows: own_rows(federation, participant),
        });
        Box::new(Rounds {
            settings: self.clone(),
            done: 0,
            members: members.collect(),
            messages: Vec::new(),
            disclosures: Vec::new(),
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Rounds>(saved)?))
    }
}

/// A training in progress.
#[derive(Serialize, Deserialize)]
struct Rounds {
    settings: Evidence,
    done: usize,
    members: Vec<Member>,
    /// The summaries that were accepted in the first round.
    messages: Vec<Option<Message>>,
    /// What summaries leave out, and sums with a single source.
    disclosures: Vec<Disclosure>,
}

/// The state of a participant in training.
#[derive(Serialize, Deserialize)]
struct Member {
    participant: usize,
    /// Those it may learn from.
    helpers: Vec<usize>,
    parameters: Vec<f32>,
    carried: Vec<u64>,
    /// Those whose data was in its sum, with the number of its rows that this is worth.
    sources: Vec<(usize, f64)>,
    /// The weight that it gives to the sum.
    weight: f64,
    /// Its own rows.
    rows: usize,
}

impl Training for Rounds {
    fn rounds(&self) -> usize {
        2
    }

    fn done(&self) -> usize {
        self.done
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        if self.done == 0 {
            self.commit(federation, exchange)?;
        } else {
            self.deliver(federation, exchange)?;
        }
        self.done += 1;
        Ok(())
    }

    fn best(&self, participant: usize) -> Best<'_> {
        let member = &self.members[participant];
        Best { parameters: &member.parameters, carried: &member.carried }
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        self.members[participant].parts()
    }

    fn disclosures(&self) -> Vec<Disclosure> {
        self.disclosures.clone()
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Rounds {
    /// Everybody fits its own rows and sends a summary of them.
    fn commit(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        self.messages = commit(federation, exchange, self.settings.fewest)?;
        for participant in 0..federation.len() {
            let rows = own(federation, participant)?.rows();
            // What is the same in all rows reveals nothing.
            let constant = rows.rare_columns(1);
            let mut features = rows.rare_columns(self.settings.fewest);
            features.retain(|column| !constant.contains(column));
            if !features.is_empty() {
                self.disclosures.push(Disclosure::LeftOut { participant, features });
            }
        }
        each(&mut self.members, |member| {
            member.parameters = own(federation, member.participant)?.parameters();
            Ok(())
        })
    }

    /// Everybody who is there receives one sum, and fits its own rows with it.
    fn deliver(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let relations = Relations::new(federation, &self.messages)?;
        let fewest = self.settings.fewest_sources();
        let sums = self.members.par_iter().map(|member| {
            let sources = relations.sources(member.participant, member.helpers.iter().copied());
            let sum = relations.sum(&sources, fewest);
            (sources, sum)
        });
        let sums: Vec<_> = sums.collect();
        let mut receivers = Vec::new();
        for (member, (sources, sum)) in self.members.iter_mut().zip(sums) {
            let to = member.participant;
            if let ([source], true) = (&sources[..], exchange.is_there(to)) {
                let (participant, source) = (to, source.from);
                self.disclosures.push(if self.settings.single_source {
                    Disclosure::SingleSource { participant, source }
                } else {
                    Disclosure::Withheld { participant, source }
                });
            }
            let left_out = sources_left_out(to, &sources, sum.as_ref());
            self.disclosures.extend(left_out.filter(|_| exchange.is_there(to)));
            let Some(sum) = sum.filter(|_| exchange.is_there(to)) else { continue };
            let message = sum.summary.to_message();
            let carried = exchange.deliver(to, Content::Summary, &message, &sum.made_of)?;
            bits::union(&mut member.carried, &carried);
            member.sources = sum.sources.iter().map(|source| (source.from, source.worth)).collect();
            receivers.push((member, message));
        }
        each(&mut receivers, |(member, message)| {
            let own = own(federation, member.participant)?;
            // A sum of summaries that were accepted is one.
            if let Ok(sum) = Summary::from_message(own.rows().coefficients(), message) {
                (member.parameters, member.weight) = own.with_evidence(&sum);
            }
            Ok(())
        })
    }
}

/// The sources, of several, that have no part in a sum.
fn sources_left_out(to: usize, sources: &[Source], sum: Option<&Sum>) -> Option<Disclosure> {
    let used = sum.map_or(&[][..], |sum| &sum.sources);
    let is_used = |from: usize| used.iter().any(|source| source.from == from);
    let left_out: Vec<usize> =
        sources.iter().map(|source| source.from).filter(|&from| !is_used(from)).collect();
    (sources.len() > 1 && !left_out.is_empty()).then_some(Disclosure::SourcesLeftOut {
        participant: to,
        sources: left_out,
        is_empty: used.is_empty(),
    })
}

impl Member {
    /// Itself by its own rows, and its sources by the rows that theirs are worth, with the weight that it
    /// gives to the sum.
    fn parts(&self) -> Vec<(usize, f32)> {
        let sources = self.sources.iter().map(|&(from, worth)| (from, self.weight * worth));
        let parts: Vec<(usize, f64)> =
            std::iter::once((self.participant, self.rows as f64)).chain(sources).collect();
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        parts.into_iter().map(|(from, part)| (from, (part / total) as f32)).collect()
    }
}
