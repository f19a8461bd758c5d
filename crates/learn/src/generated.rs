//! Made-up data for demonstrations: tasks that are alike within a kind and differ between
//! kinds.

use fedcompetitors_graphs::random::Stream;
use rand_distr::{Distribution, Gumbel, StandardNormal};

use crate::{LearnError, Samples, Targets};

/// What comes out of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A number.
    Number,
    /// One of so many classes.
    Classes(u32),
}

/// How a participant's data is made up.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// How many samples.
    pub samples: usize,
    /// How many features.
    pub features: usize,
    /// Participants of one kind have one task.
    pub kind: u64,
    /// How much the tasks of different kinds differ: 0 not at all, 1 as if unrelated.
    pub difference: f64,
    /// How much each participant's task differs from that of its kind: the length of its own part,
    /// relative to the kind's.
    pub own: f64,
    /// How much of the outcome is chance: 0 nothing.
    pub noise: f64,
}

/// How far the participants' means are apart, in deviations.
const SHIFT: f64 = 0.3;

/// How large scores are, so that chance of deviation 1 leaves something to learn.
const SIGNAL: f64 = 2.0;

impl Generated {
    /// The samples of a participant.
    ///
    /// # Errors
    /// If there are none, or no features.
    pub fn draw(
        &self,
        outcome: Outcome,
        seed: u64,
        participant: usize,
    ) -> Result<Samples, LearnError> {
        let scores = match outcome {
            Outcome::Number | Outcome::Classes(2) => 1,
            Outcome::Classes(count) => count as usize,
        };
        let tasks: Vec<Vec<f64>> =
            (0..scores).map(|score| self.task(seed, score, participant)).collect();
        let mut stream = Stream::new(seed, "generated samples", participant as u64);
        let mut normal = || -> f64 { StandardNormal.sample(stream.source()) };
        let means: Vec<f64> = (0..self.features).map(|_| SHIFT * normal()).collect();
        let mut features = Vec::with_capacity(self.samples * self.features);
        let mut sums = Vec::with_capacity(self.samples);
        for _ in 0..self.samples {
            let row: Vec<f64> = means.iter().map(|mean| mean + normal()).collect();
            let score =
                |task: &Vec<f64>| -> f64 { task.iter().zip(&row).map(|(w, x)| w * x).sum() };
            sums.push(tasks.iter().map(score).collect::<Vec<f64>>());
            features.extend(row.into_iter().map(|value| value as f32));
        }
        let mut stream = Stream::new(seed, "generated noise", participant as u64);
        let targets = self.targets(outcome, &sums, &mut stream);
        Samples::new(features, self.features, targets)
    }

    /// The weights of a score: those of all kinds and those of this one, blended, and the participant's
    /// own part.
    fn task(&self, seed: u64, score: usize, participant: usize) -> Vec<f64> {
        let draw = |purpose: &str, who: u64| -> Vec<f64> {
            let mut stream = Stream::new(seed, &format!("{purpose} {score}"), who);
            (0..self.features).map(|_| StandardNormal.sample(stream.source())).collect()
        };
        let (common, own) = (draw("generated task", 0), draw("generated task", self.kind + 1));
        let blended =
            common.iter().zip(own).map(|(c, o)| (1.0 - self.difference) * c + self.difference * o);
        let blended: Vec<f64> = blended.collect();
        let mut task = of_length(blended, SIGNAL);
        if self.own > 0.0 {
            let own = of_length(draw("generated own part", participant as u64), SIGNAL * self.own);
            task.iter_mut().zip(own).for_each(|(weight, own)| *weight += own);
        }
        task
    }

    fn targets(&self, outcome: Outcome, sums: &[Vec<f64>], stream: &mut Stream) -> Targets {
        let gumbel = Gumbel::new(0.0, 1.0).expect("a scale above 0");
        match outcome {
            Outcome::Number => Targets::Values(
                sums.iter()
                    .map(|sum| {
                        let chance: f64 = StandardNormal.sample(stream.source());
                        (sum[0] + self.noise * chance) as f32
                    })
                    .collect(),
            ),
            // The difference of two such is logistic: what logistic regression assumes.
            Outcome::Classes(count) => {
                let mut chance = || -> f64 { self.noise * gumbel.sample(stream.source()) };
                let mut label = |sum: &Vec<f64>| -> u32 {
                    if let [score] = sum[..] {
                        return u32::from(score + chance() > chance());
                    }
                    let tossed: Vec<f64> = sum.iter().map(|score| score + chance()).collect();
                    let best = (0..tossed.len())
                        .reduce(|best, at| if tossed[at] > tossed[best] { at } else { best });
                    best.unwrap_or(0) as u32
                };
                Targets::Classes { labels: sums.iter().map(&mut label).collect(), count }
            }
        }
    }
}

/// A vector in this direction with this length.
fn of_length(vector: Vec<f64>, wanted: f64) -> Vec<f64> {
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    vector.into_iter().map(|value| wanted * value / length.max(f64::MIN_POSITIVE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(kind: u64, difference: f64) -> Generated {
        Generated { samples: 500, features: 6, kind, difference, own: 0.0, noise: 0.0 }
    }

    #[test]
    fn kinds_share_a_task_as_far_as_they_should() {
        let alike = |a: &Generated, b: &Generated| -> f64 {
            let (a, b) = (a.task(1, 0, 0), b.task(1, 0, 1));
            a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() / (SIGNAL * SIGNAL)
        };
        assert!((alike(&generated(1, 0.7), &generated(1, 0.7)) - 1.0).abs() < 1e-12);
        assert!((alike(&generated(1, 0.0), &generated(2, 0.0)) - 1.0).abs() < 1e-12);
        assert!(alike(&generated(1, 0.3), &generated(2, 0.3)) < 0.999);
    }

    #[test]
    fn own_parts_differ_within_a_kind() {
        let one = Generated { own: 0.5, ..generated(1, 0.7) };
        let of_kind = generated(1, 0.7).task(1, 0, 0);
        let distance = |participant| -> f64 {
            let task = one.task(1, 0, participant);
            let squares = task.iter().zip(&of_kind).map(|(a, b)| (a - b) * (a - b));
            squares.sum::<f64>().sqrt()
        };
        assert!((distance(0) - 1.0).abs() < 1e-12 && (distance(1) - 1.0).abs() < 1e-12);
        assert_ne!(one.task(1, 0, 0), one.task(1, 0, 1));
    }

    #[test]
    fn every_outcome_follows_the_features() {
        for (outcome, seed) in
            [(Outcome::Number, 1), (Outcome::Classes(2), 2), (Outcome::Classes(4), 3)]
        {
            let samples = generated(0, 0.5).draw(outcome, seed, 3).expect("samples");
            assert_eq!((samples.len(), samples.columns()), (500, 6));
            let other = generated(0, 0.5).draw(outcome, seed, 4).expect("samples");
            assert_ne!(samples, other, "participants have samples of their own");
            assert_eq!(samples, generated(0, 0.5).draw(outcome, seed, 3).expect("samples"));
            if let Targets::Classes { labels, count } = samples.targets() {
                for class in 0..*count {
                    let share = labels.iter().filter(|&&label| label == class).count();
                    assert!(share > 30, "class {class} of {count}: {share}");
                }
            }
        }
    }
}
