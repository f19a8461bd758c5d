//! What `averaging`, `proximal` and `scaffold` have in common: models are averaged inside groups.
//!
//! The groups are the strongly connected components of the usage graph; a group of one trains alone,
//! so on a graph without edges this is Local. Everybody trains from the last average and sends its model; the
//! coordinator averages, weighted by samples. With control variates, participants also send the mean of their
//! gradients, and correct the next by the difference between the average of these and their own.

use fedcompetitors_graphs::{CompetingGraph, Reachability, UsageGraph};
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

use super::{Effort, pace::Pace};
use crate::{
    FederateError, Known,
    exchange::Message,
    protocol::{
        Adopt, Ask, Combiner, Coordinate, Coordinator, Finish, First, Heard, Labelled, Question,
        Train,
    },
};

/// What keeps local steps from drifting apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Correction {
    /// Nothing: `FedAvg`.
    None,
    /// A pull towards the common model, μ in the literature: `FedProx`.
    Pull(f32),
    /// Control variates: SCAFFOLD adds `c − cᵢ` to each gradient, where `cᵢ` is the mean of the participant's
    /// gradients along its last round and `c` the mean of those. (For plain gradient descent the mean of a
    /// round's gradients is the second of the two updates in the literature, `cᵢ − c + (x − yᵢ) / (K η)`.)
    ControlVariates,
}

/// The coordinator of a training before its first phase.
pub fn coordinate(
    correction: Correction,
    known: &Known<'_>,
    usage: &UsageGraph,
    effort: Effort,
) -> Box<dyn Coordinate> {
    let groups = groups(usage).into_iter().map(|members| Group {
        weights: known.weights_by_samples(&members).iter().map(|&w| w as f32).collect(),
        controls: vec![None; members.len()],
        members,
        common: Vec::new(),
    });
    let pace = Pace::new(effort.local_steps, effort.evaluations);
    Box::new(Coordinator::new(known, Averager { correction, pace, groups: groups.collect() }))
}

/// A coordinator that goes on from its saved state.
pub fn resume(saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
    Coordinator::<Averager>::resume(saved)
}

/// Those who reach each other, each group in listed order.
fn groups(usage: &UsageGraph) -> Vec<Vec<usize>> {
    let reach = Reachability::of(usage);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for participant in 0..usage.participants().len() {
        let with = |group: &&mut Vec<usize>| {
            reach.reaches(group[0], participant) && reach.reaches(participant, group[0])
        };
        match groups.iter_mut().find(with) {
            Some(group) => group.push(participant),
            None => groups.push(vec![participant]),
        }
    }
    groups
}

/// The coordinator's half.
#[derive(Serialize, Deserialize)]
struct Averager {
    correction: Correction,
    pace: Pace,
    groups: Vec<Group>,
}

/// Those who share a model.
#[derive(Serialize, Deserialize)]
struct Group {
    members: Vec<usize>,
    /// Their weights in the mean.
    weights: Vec<f32>,
    /// The last control variate of each member, which counts while it is missing.
    controls: Vec<Option<Message>>,
    /// The common model, and the common control variate; nothing before the first average.
    common: Vec<Labelled>,
}

impl Averager {
    fn group(&self, participant: usize) -> &Group {
        let has_it = |group: &&Group| group.members.contains(&participant);
        self.groups.iter().find(has_it).expect("everybody is in a group")
    }
}

impl Combiner for Averager {
    fn rounds(&self) -> usize {
        self.pace.rounds()
    }

    fn done(&self) -> usize {
        self.pace.rounds_done()
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let group = self.group(participant);
        let given = group.common.iter().collect();
        if self.done() == self.rounds() {
            return Question { ask: Ask::Finish(Finish::Adopt(Adopt::ALWAYS)), given };
        }
        let (sends, pull) = match self.correction {
            _ if group.members.len() == 1 => (vec![], 0.0),
            Correction::None => (vec![Content::Model], 0.0),
            Correction::Pull(pull) => (vec![Content::Model], pull),
            Correction::ControlVariates => (vec![Content::Model, Content::Gradient], 0.0),
        };
        let (first, steps) = (First::Adopt(Adopt::ALWAYS), self.pace.next());
        Question { ask: Ask::Train(Train { pull, ..Train::new(first, steps, sends) }), given }
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        self.pace.count(self.pace.next());
        for group in self.groups.iter_mut().filter(|group| group.members.len() > 1) {
            group.average(&heard);
        }
    }

    fn parts(&self, participant: usize, _: &[f64]) -> Vec<(usize, f32)> {
        let group = self.group(participant);
        group.members.iter().copied().zip(group.weights.iter().copied()).collect()
    }
}

impl Group {
    /// The mean of the models of those that were heard, and of the last control variates of all.
    fn average(&mut self, heard: &[Option<Heard>]) {
        let mut models: Vec<(&Message, f32)> = Vec::new();
        for ((&member, &weight), control) in
            self.members.iter().zip(&self.weights).zip(&mut self.controls)
        {
            let Some(Heard { messages, .. }) = &heard[member] else { continue };
            models.extend(messages.first().map(|model| (model, weight)));
            if let Some(mean) = messages.get(1) {
                *control = Some(mean.clone());
            }
        }
        let all_there = models.len() == self.members.len();
        let Some(model) = Labelled::mixture(Content::Model, &models, all_there) else { return };
        // A member that has sent no control variate has that of the start, 0.
        let controls = self.controls.iter().zip(&self.weights);
        let controls: Vec<(&Message, f32)> =
            controls.filter_map(|(control, &weight)| Some((control.as_ref()?, weight))).collect();
        let control = Labelled::sum(Content::Gradient, &controls);
        self.common = [Some(model), control].into_iter().flatten().collect();
    }
}
