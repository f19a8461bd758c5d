//! The paper's settings and the figures of its Table 1.

use fedcompetitors_graphs::{CompetingGraph, Participants};
use fedcompetitors_learn::synthetic::Synthetic;

use super::Method;

/// One of the paper's synthetic settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Nearly one task, four participants with many samples and four with few.
    Weak,
    /// Two tasks of opposite sign, all with many samples.
    Strong,
}

impl Setting {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weak => "synthetic-weak",
            Self::Strong => "synthetic-strong",
        }
    }

    /// How its samples are drawn.
    pub fn synthetic(self) -> Synthetic {
        match self {
            Self::Weak => Synthetic::weak(),
            Self::Strong => Synthetic::strong(),
        }
    }

    /// Who competes with whom.
    ///
    /// # Panics
    /// Never: the pairs are of different participants.
    pub fn competing(self) -> CompetingGraph {
        let pairs: [(usize, usize); 8] = match self {
            Self::Weak => [(1, 5), (1, 6), (2, 5), (2, 6), (1, 7), (2, 8), (3, 5), (4, 6)],
            Self::Strong => [(1, 3), (1, 4), (2, 3), (2, 4), (5, 7), (5, 8), (6, 7), (6, 8)],
        };
        let mut competing = CompetingGraph::builder(&Participants::numbered(8));
        for (a, b) in pairs {
            competing.report(a - 1, b - 1).expect("two different participants");
        }
        competing.build()
    }

    /// The paper's figures for a method that it has, mean and deviation of each participant.
    pub fn paper(self, method: Method) -> Option<[(f64, f64); 8]> {
        let figures = match self {
            Self::Weak => &WEAK,
            Self::Strong => &STRONG,
        };
        Some(match method {
            Method::Local => figures[0],
            Method::FedAvg => figures[1],
            Method::FedProx => figures[2],
            Method::Scaffold => figures[3],
            Method::Ce => figures[4],
            Method::Hypernetworks | Method::BestHypernetworks | Method::Mixing => figures[5],
            Method::LocalEnsemble | Method::Trunks => return None,
        })
    }
}

/// One row for each method of the paper, in the order of its table.
type Figures = [[(f64, f64); 8]; 6];

#[rustfmt::skip]
const WEAK: Figures = [
    [(0.23, 0.08), (0.23, 0.09), (0.87, 0.41), (0.82, 0.26), (0.23, 0.10), (0.23, 0.07), (0.82, 0.24), (0.78, 0.30)],
    [(0.20, 0.06), (0.20, 0.06), (0.20, 0.10), (0.19, 0.07), (0.19, 0.06), (0.19, 0.06), (0.19, 0.08), (0.19, 0.10)],
    [(0.16, 0.06), (0.17, 0.07), (0.15, 0.09), (0.17, 0.08), (0.17, 0.06), (0.17, 0.06), (0.16, 0.09), (0.18, 0.07)],
    [(0.17, 0.07), (0.17, 0.07), (0.16, 0.09), (0.16, 0.07), (0.18, 0.06), (0.18, 0.07), (0.18, 0.08), (0.18, 0.08)],
    [(0.14, 0.10), (0.14, 0.11), (1.14, 0.67), (1.20, 0.88), (0.15, 0.08), (0.16, 0.09), (1.23, 0.37), (1.22, 0.81)],
    [(0.14, 0.12), (0.14, 0.07), (0.13, 0.06), (0.15, 0.06), (0.15, 0.08), (0.14, 0.06), (0.14, 0.07), (0.14, 0.07)],
];

#[rustfmt::skip]
const STRONG: Figures = [
    [(0.23, 0.08), (0.23, 0.08), (0.22, 0.07), (0.23, 0.08), (0.23, 0.06), (0.22, 0.06), (0.22, 0.08), (0.23, 0.07)],
    [(24.47, 4.98), (24.85, 4.82), (24.85, 5.03), (24.73, 5.67), (24.15, 3.00), (24.47, 2.78), (24.17, 4.40), (24.97, 3.81)],
    [(17.80, 7.54), (17.82, 6.42), (17.88, 7.68), (17.86, 7.64), (17.69, 7.14), (17.76, 6.23), (17.68, 5.94), (17.73, 7.04)],
    [(17.22, 2.85), (17.44, 2.17), (17.39, 4.02), (17.20, 3.58), (16.87, 2.75), (17.13, 2.79), (17.00, 2.41), (17.33, 2.59)],
    [(0.15, 0.12), (0.14, 0.11), (0.14, 0.07), (0.14, 0.07), (0.14, 0.06), (0.14, 0.06), (0.12, 0.05), (0.12, 0.05)],
    [(0.14, 0.07), (0.13, 0.06), (0.13, 0.06), (0.14, 0.09), (0.13, 0.07), (0.14, 0.06), (0.11, 0.04), (0.13, 0.07)],
];
