//! Which method of an experiment is the best, and which ones cannot be told from it.

use fedcompetitors_record::Spread;

/// How an experiment compares its methods.
pub struct Comparing {
    /// Whether a lower figure is better.
    pub lower_is_better: bool,
    /// What there is once only, such as "in one seed".
    pub once: &'static str,
    /// What is compared pair by pair, such as "seed by seed".
    pub each: &'static str,
    /// Whether a tie is an interval that contains 0; otherwise it is a difference within one standard error.
    pub by_interval: bool,
    /// Digits of a difference after the point.
    pub digits: usize,
}

impl Comparing {
    /// The best method and those that tie with it, of methods with their figures, repetition by
    /// repetition.
    pub fn standings(&self, methods: &[(&str, Vec<f64>)]) -> String {
        let mean = |figures: &[f64]| Spread::of(figures).mean;
        let by_mean =
            |a: &&(&str, Vec<f64>), b: &&(&str, Vec<f64>)| mean(&a.1).total_cmp(&mean(&b.1));
        let best = if self.lower_is_better {
            methods.iter().min_by(by_mean)
        } else {
            methods.iter().max_by(by_mean)
        };
        let Some((best, figures)) = best else { return String::new() };
        let which = if self.lower_is_better { "Lowest" } else { "Highest" };
        if figures.len() < 2 {
            return format!("{which} mean: {best}, {}.", self.once);
        }
        let others = methods.iter().filter(|other| other.0 != *best);
        let ties: Vec<String> =
            others.filter_map(|(other, theirs)| self.tie(other, theirs, figures)).collect();
        format!("{which} mean: {best}; {}.", self.ties_text(&ties))
    }

    /// A method with its distance from the best, if it ties with it.
    fn tie(&self, name: &str, figures: &[f64], best: &[f64]) -> Option<String> {
        let (behind, sign) = if self.lower_is_better {
            (Spread::of_differences(figures, best), '+')
        } else {
            (Spread::of_differences(best, figures), '−')
        };
        let width = if self.by_interval { behind.interval } else { behind.error };
        let digits = self.digits;
        (behind.mean <= width)
            .then(|| format!("{name} ({sign}{:.digits$} ± {width:.digits$})", behind.mean))
    }

    fn ties_text(&self, ties: &[String]) -> String {
        let (each, names) = (self.each, ties.join(", "));
        match (self.by_interval, ties.is_empty()) {
            (false, true) => {
                format!("no other within one standard error of the difference, {each}")
            }
            (false, false) => {
                format!("a tie, within one standard error of the difference, with {names}")
            }
            (true, true) => format!("the interval of its lead over any other, {each}, is above 0"),
            (true, false) => format!("a tie, as the interval of the lead contains 0, with {names}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lower_is_better: bool, by_interval: bool, figures: [&[f64]; 3]) -> String {
        let comparing = Comparing {
            lower_is_better,
            once: "in one seed",
            each: "seed by seed",
            by_interval,
            digits: 2,
        };
        let named: Vec<_> = ["A", "B", "C"].into_iter().zip(figures.map(<[f64]>::to_vec)).collect();
        comparing.standings(&named)
    }

    #[test]
    fn the_best_and_those_that_tie_with_it() {
        // B is 0.1 ± 0.1 above A, C always 1.
        let figures: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 2.2], &[2.0, 3.0]];
        assert_eq!(
            text(true, false, figures),
            "Lowest mean: A; a tie, within one standard error of the difference, with B (+0.10 ± 0.10)."
        );
        assert_eq!(
            text(false, false, figures),
            "Highest mean: C; no other within one standard error of the difference, seed by seed."
        );
        assert_eq!(
            text(false, true, figures),
            "Highest mean: C; a tie, as the interval of the lead contains 0, with B (−0.90 ± 1.27)."
        );
        let apart: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 2.0], &[2.0, 3.0]];
        assert_eq!(
            text(false, true, apart),
            "Highest mean: C; the interval of its lead over any other, seed by seed, is above 0."
        );
    }

    #[test]
    fn one_seed_shows_no_ties() {
        assert_eq!(text(true, false, [&[2.0], &[1.0], &[1.5]]), "Lowest mean: B, in one seed.");
        assert_eq!(
            Comparing { lower_is_better: true, once: "", each: "", by_interval: true, digits: 2 }
                .standings(&[]),
            ""
        );
    }
}
