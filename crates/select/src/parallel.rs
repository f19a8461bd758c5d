//! Work that is split over the participants, on several threads where it is worth it.
//!
//! Waking a thread costs more than a small federation's whole selection.

use rayon::prelude::*;

/// From this many participants on, a pass over all of them is worth several threads.
pub const PARALLEL_FROM: usize = 1024;

/// `work` of each participant, in order.
pub fn map_participants<T: Send>(count: usize, work: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    if count < PARALLEL_FROM {
        (0..count).map(work).collect()
    } else {
        (0..count).into_par_iter().map(work).collect()
    }
}
