//! Random instances, for tests, benchmarks and trying things out.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants, random::Stream};

/// What a random instance looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// How many participants.
    pub participants: usize,
    /// With which probability two of them compete.
    pub competing_density: f64,
    /// With which probability one helps another.
    pub benefit_density: f64,
}

/// The random instance of a shape and a seed: participants `v1`, `v2`, …, benefits
/// that are multiples of 0.0001 up to 1.
///
/// Each participant draws from a stream of its own, so the same seed gives the same
/// edges among the first participants, however many follow.
///
/// # Panics
/// Never: every pair and every edge comes once.
pub fn instance(shape: Shape, seed: u64) -> (CompetingGraph, BenefitGraph) {
    let participants = Participants::numbered(shape.participants);
    let mut competing = CompetingGraph::builder(&participants);
    let mut benefit = BenefitGraph::builder(&participants);
    for i in 0..shape.participants {
        let mut stream = Stream::new(seed, "generate competing", i as u64);
        for j in 0..i {
            if stream.unit() < shape.competing_density {
                competing.report(j, i).expect("two participants");
            }
        }
        // Edges between i and those listed before it, both ways, so that a larger
        // instance extends a smaller one.
        let mut stream = Stream::new(seed, "generate benefit", i as u64);
        for j in 0..i {
            for (from, to) in [(i, j), (j, i)] {
                if stream.unit() < shape.benefit_density {
                    let value = (stream.bits() % 10_000 + 1) as f64 / 10_000.0;
                    benefit.add(from, to, value).expect("a new edge with a valid value");
                }
            }
        }
    }
    (competing.build(), benefit.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_are_about_as_asked_and_seeds_differ() {
        let shape = Shape { participants: 200, competing_density: 0.1, benefit_density: 0.5 };
        let (competing, benefit) = instance(shape, 1);
        let pairs = competing.pairs().count() as f64 / (200.0 * 199.0 / 2.0);
        let edges = benefit.len() as f64 / (200.0 * 199.0);
        assert!((pairs - 0.1).abs() < 0.01 && (edges - 0.5).abs() < 0.01, "{pairs} {edges}");
        assert_eq!((competing, benefit), instance(shape, 1));
        assert_ne!(instance(shape, 1), instance(shape, 2));
    }

    #[test]
    fn a_larger_instance_extends_a_smaller_one() {
        let shape =
            |participants| Shape { participants, competing_density: 0.3, benefit_density: 0.5 };
        let (small, large) = (instance(shape(10), 5), instance(shape(20), 5));
        for a in 0..10 {
            for b in 0..10 {
                assert_eq!(small.0.competes(a, b), large.0.competes(a, b));
                assert_eq!(small.1.benefit(a, b).to_bits(), large.1.benefit(a, b).to_bits());
            }
        }
    }
}
