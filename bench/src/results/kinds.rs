//! The paper's experiments: under which names they are stored, what their figures are, and
//! what the paper leaves open about each.

use fedcompetitors_record::Spread;

/// One of the paper's experiments. The page has a section for each.
#[derive(Debug)]
pub struct Kind {
    /// The section's title.
    pub title: &'static str,
    /// What `results.json` calls it.
    pub experiment: &'static str,
    /// The folders that may hold it, in the order of the page.
    pub folders: &'static [&'static str],
    /// What it is about, in a sentence or two.
    pub about: &'static str,
    /// What the figures are.
    pub metric: &'static str,
    /// Which figures are good.
    pub better: Better,
    /// Stored figures times this are in the paper's unit.
    pub factor: f64,
    /// Digits behind the point, of our figures and of the paper's.
    pub digits: (usize, usize),
    /// When a difference counts.
    pub sure: Sure,
    /// What the figures do not show about differences from the paper.
    pub caution: &'static str,
    /// The decision that goes deeper.
    pub decision: &'static str,
}

impl Kind {
    /// The metric, with the direction in which it is better.
    pub fn metric_with_direction(&self) -> String {
        let arrow = match self.better {
            Better::Lower => '↓',
            Better::Higher => '↑',
        };
        format!("{} {arrow}", self.metric)
    }
}

/// Which figures are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Errors.
    Lower,
    /// Accuracy, AUC.
    Higher,
}

impl Better {
    /// What the best figure is called.
    pub fn best(self) -> &'static str {
        match self {
            Self::Lower => "lowest",
            Self::Higher => "highest",
        }
    }

    /// Whether the first figure is the worse one.
    pub fn is_worse(self, a: f64, b: f64) -> bool {
        match self {
            Self::Lower => a > b,
            Self::Higher => a < b,
        }
    }
}

/// How far from 0 a difference must be to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sure {
    /// Repeats are drawn anew.
    Error,
    /// Repeats share their data, and one standard error would promise too much.
    Interval,
}

impl Sure {
    /// That far.
    pub fn reach(self, difference: &Spread) -> f64 {
        match self {
            Self::Error => difference.error,
            Self::Interval => difference.interval,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Error => "one standard error",
            Self::Interval => "the 95 % interval",
        }
    }
}

const SYNTHETIC: &str = "The paper leaves open how samples are split, how long methods train and how rates are chosen. \
    Here every method has the same gradient budget, and each participant keeps the model that is \
    best on its own validation data. After an earlier draw of seeds, in which mixing was behind \
    SCAFFOLD in the weak setting, an option was added to mixing.";

/// All of them, in the order of the page.
pub const KINDS: [Kind; 4] = [
    Kind {
        title: "Synthetic data, weak competition",
        experiment: "synthetic-weak",
        folders: &["synthetic-weak"],
        about: "Eight participants with nearly one task; v1, v2, v5 and v6 have 2,000 samples each, the others 100.",
        metric: "test MSE",
        better: Better::Lower,
        factor: 1.0,
        digits: (3, 2),
        sure: Sure::Error,
        caution: SYNTHETIC,
        decision: "docs/decisions/0007-honest-tables.md",
    },
    Kind {
        title: "Synthetic data, strong competition",
        experiment: "synthetic-strong",
        folders: &["synthetic-strong"],
        about: "Eight participants with 2,000 samples each and two tasks of opposite sign.",
        metric: "test MSE",
        better: Better::Lower,
        factor: 1.0,
        digits: (3, 2),
        sure: Sure::Error,
        caution: SYNTHETIC,
        decision: "docs/decisions/0007-honest-tables.md",
    },
    Kind {
        title: "CIFAR-10",
        experiment: "cifar10",
        folders: &[
            "cifar10-full",
            "cifar10-60-images",
            "cifar10-150-images",
            "cifar10-375-images",
            "cifar10-700-images",
            "cifar10-all-images",
            "cifar10-short",
            "cifar10",
        ],
        about: "Ten participants with two classes of images each; each seed draws new splits and competitions.",
        metric: "test accuracy in percent",
        better: Better::Higher,
        factor: 100.0,
        digits: (2, 2),
        sure: Sure::Error,
        caution: "The paper reports only means over the participants. These draws are the fourth \
                  set: rates, the weight of the own model in mixtures, the width of hypernetworks \
                  and the budget (1,125 gradients before) were changed after results of earlier \
                  draws were known, including the test accuracy of two graphs in which mixing was \
                  not ahead of Local.",
        decision: "docs/decisions/0011-images.md",
    },
    Kind {
        title: "Hospitals",
        experiment: "eicu",
        folders: &["eicu", "eicu-demo"],
        about: "Deaths in hospital, predicted from the data of the first day; each seed draws new folds for cross-validation.",
        metric: "test AUC",
        better: Better::Higher,
        factor: 1.0,
        digits: (3, 3),
        sure: Sure::Interval,
        caution: "All repeats have the same patients: the intervals show the variation from splits and \
            training, not from other patients, which is larger.",
        decision: "docs/decisions/0010-hospitals.md",
    },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn decisions_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for kind in &KINDS {
            assert!(root.join(kind.decision).is_file(), "{}", kind.decision);
        }
    }
}
