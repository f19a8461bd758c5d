//! How good models are on rows that they were not trained on.

use serde::{Deserialize, Serialize};

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A figure with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Figure {
    /// It is undefined, as AUC where there is one class, or not known yet.
    #[default]
    Undefined,
    /// A value without an interval: the participant has a single unit, or the figure is undefined in more
    /// than half of the draws.
    Value(f64),
    /// A value with its 95 % interval.
    Interval(Interval),
}

impl Figure {
    /// The value, if it is defined.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Undefined => None,
            Self::Value(value) | Self::Interval(Interval { value, .. }) => Some(value),
        }
    }

    /// The value with its interval, if there is one.
    pub fn interval(self) -> Option<Interval> {
        match self {
            Self::Undefined | Self::Value(_) => None,
            Self::Interval(interval) => Some(interval),
        }
    }
}

/// A figure of a method, and its gain over the method that trains everybody alone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// The figure.
    pub value: Figure,
    /// How much better it is; above 0 is better, also where less of the metric is.
    pub gain: Figure,
}

/// A method's figures by a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// The title of the metric.
    pub metric: String,
    /// The mean over the participants.
    pub mean: Score,
    /// For each participant.
    pub participants: Vec<Score>,
}
