//! The paper's selection (policy `greedy`), made fast.
//!
//! Participants take their turn by level of potential, highest first, ties in listed
//! order. At its turn `i` accepts every helper `j` with `benefit[j→i] > 0` unless the
//! edge `j → i` would connect a competing pair: unless some ancestor-or-self of `j`
//! competes with some descendant-or-self of `i`.
//!
//! ```text
//!     p ─► … ─► j ──?──► i ─► … ─► q        refused if p and q compete
//! ```
//!
//! Four observations make this cheap. Numbers below are turns: participant 5 is the
//! sixth to take its turn.
//!
//! 1. *Edges enter `i` at its turn only.* So who has not had its turn has no ancestors,
//!    and the sets of ancestors of those who had are all that is kept. With H the
//!    competitors of `i`'s descendants-or-self, `j` is refused if its ancestors meet H;
//!    for most `j` already because `j` itself is in H.
//! 2. *A turn changes little:* the descendants of `i` gain `i`'s new ancestors, these
//!    gain `i`'s descendants, and that is all.
//! 3. *Turns go in batches of 64, one word of every row.* At the start of a batch one
//!    pass over the rows' words in this column tells the descendants of all 64 at once,
//!    and each H is the union of their rows of competitors. During the batch only
//!    this word is kept up to date in the older rows; the rest of what they gain is
//!    added in one pass at the end. Both passes are parallel and read each row once.
//! 4. *Members of a strongly connected group have the same ancestors,* so a group is
//!    kept as one row.
//!
//! O(n³/64) word operations at worst; where groups form or H soon covers the
//! candidates, far fewer. Memory: three bits for each ordered pair (competitors in the
//! order of turns, ancestors, the result) and O(n) words.

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, UsageGraph,
    bits::{
        BitMatrix, contains, difference, insert, intersects, ones, ones_of_word, union, words_for,
    },
    entry,
};
use rayon::prelude::*;

use super::{Effort, Objective, Policy};
use crate::{Plan, Setting, closure::Closure, parallel::PARALLEL_FROM};

/// The paper's selection: [`greedy`].
#[derive(Debug, Clone, Copy)]
pub struct Greedy;

entry!(
    Greedy,
    "greedy",
    "The paper's selection: in order of level of potential, each participant takes all helpers that it may."
);

impl Policy for Greedy {
    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        greedy(*setting)
    }
}

/// The paper's plan.
///
/// The result is inclusion-maximal: reachability only grows, so an edge refused once
/// stays refused. The same graphs give the same plan, whatever the number of threads.
///
/// # Example
/// A chain between two rivals: `a` has more to give than `b`, so `a`'s turn comes first,
/// then `b` may learn from `a`, and the rival `c` may not learn from `b`.
///
/// ```text
///   a ──0.3──► b ──0.2──► c      a and c compete
/// ```
/// ```
/// use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants};
/// use fedcompetitors_select::Setting;
///
/// let participants = Participants::new(["a", "b", "c"])?;
/// let mut competing = CompetingGraph::builder(&participants);
/// competing.report(0, 2)?;
/// let mut benefit = BenefitGraph::builder(&participants);
/// benefit.add(0, 1, 0.3)?;
/// benefit.add(1, 2, 0.2)?;
/// let (competing, benefit) = (competing.build(), benefit.build());
/// let plan = fedcompetitors_select::greedy(Setting::new(&competing, &benefit));
/// assert_eq!(plan.usage.edges().collect::<Vec<_>>(), [(0, 1)]);
/// # Ok::<(), fedcompetitors_graphs::GraphError>(())
/// ```
pub fn greedy(setting: Setting<'_>) -> Plan {
    Plan::new("greedy", &setting, greedy_usage(setting))
}

/// The paper's usage graph alone, without its welfare and the bound.
pub fn greedy_usage(setting: Setting<'_>) -> UsageGraph {
    match setting.history {
        None if setting.everybody_is_there() => {
            Turns::new(setting.competing, setting.benefit).run()
        }
        _ => with_history(&setting),
    }
}

/// The same selection where models carry data from before: turn by turn, edge by edge.
/// The observations above don't hold, as those who wait for their turn have a past.
fn with_history(setting: &Setting<'_>) -> UsageGraph {
    let mut closure = Closure::new(setting);
    for i in order_of_turns(setting.benefit) {
        for (j, _) in setting.benefit.helpers(i as usize) {
            if setting.admits_alone(j, i as usize) && closure.admits(j, i as usize) {
                closure.add(j, i as usize);
            }
        }
    }
    closure.usage()
}

/// By level of potential, highest first; ties stay in listed order.
fn order_of_turns(benefit: &BenefitGraph) -> Vec<u32> {
    let levels = benefit.level_of_potential();
    let mut order: Vec<u32> = (0..levels.len() as u32).collect();
    order.sort_by(|&a, &b| levels[b as usize].total_cmp(&levels[a as usize]));
    order
}

/// Turns in a batch: the bits of a word.
const BATCH: usize = 64;

/// Rows of a batch that one thread takes together.
const CHUNK: usize = 16;

struct Turns<'a> {
    benefit: &'a BenefitGraph,
    /// The participant whose turn it is.
    order: Vec<u32>,
    /// The turn of a participant.
    turn: Vec<u32>,
    row_words: usize,
    /// Row `i`: the competitors of `i`, or of its whole group if `i` stands for one.
    rivals: BitMatrix,
    /// Row `i`: the ancestors of `i` and itself. Kept for those who had their turn and
    /// stand for a group.
    ancestors: BitMatrix,
    /// Who stands for the group of a participant that had its turn.
    stands_for: Vec<u32>,
    /// The members of a group of two or more, by who stands for it.
    members: Vec<Vec<u32>>,
    /// Those who stand for the groups of earlier batches.
    standing: Vec<u32>,
    /// For each of them the current batch's word of its ancestors, always up to date;
    /// 0 for everybody else.
    column: Vec<u64>,
    /// Row `i`: the collaborators of `i`, by participant.
    result: BitMatrix,
    batch: Batch,
}

/// What is kept for the 64 turns of a batch.
struct Batch {
    first: usize,
    len: usize,
    /// For each turn, the competitors of its descendants-or-self.
    hostile: Vec<u64>,
    /// For each turn, the helpers that are not ruled out yet.
    candidates: Vec<u64>,
    /// The turns that are over.
    done: u64,
    /// The turns whose ancestors are more than the participant itself.
    grown: u64,
    /// The turns whose hostile set has grown since the start of the batch.
    unsettled: u64,
    /// For each chunk and each group the last turn that asked, and the answer.
    verdicts: Vec<(u32, bool)>,
}

impl<'a> Turns<'a> {
    fn new(competing: &CompetingGraph, benefit: &'a BenefitGraph) -> Self {
        let count = benefit.participants().len();
        let order = order_of_turns(benefit);
        let mut turn = vec![0; count];
        for (at, &participant) in order.iter().enumerate() {
            turn[participant as usize] = at as u32;
        }
        let mut rivals = BitMatrix::new(count);
        for (at, &participant) in order.iter().enumerate() {
            let row = rivals.row_mut(at);
            for rival in ones(competing.competitors(participant as usize)) {
                insert(row, turn[rival] as usize);
            }
        }
        let row_words = words_for(count);
        Self {
            benefit,
            order,
            turn,
            row_words,
            rivals,
            ancestors: BitMatrix::new(count),
            stands_for: (0..count as u32).collect(),
            members: vec![Vec::new(); count],
            standing: Vec::new(),
            column: vec![0; count],
            result: BitMatrix::new(count),
            batch: Batch {
                first: 0,
                len: 0,
                hostile: vec![0; BATCH * row_words],
                candidates: vec![0; BATCH * row_words],
                done: 0,
                grown: 0,
                unsettled: 0,
                verdicts: vec![(u32::MAX, false); BATCH / CHUNK * count],
            },
        }
    }

    fn run(mut self) -> UsageGraph {
        let count = self.order.len();
        for first in (0..count).step_by(BATCH) {
            self.open_batch(first, BATCH.min(count - first));
            for at in 0..self.batch.len {
                self.take_turn(at);
            }
            self.close_batch();
        }
        UsageGraph::from_collaborators(self.benefit.participants(), self.result)
    }

    /// Finds the hostile sets and the candidates of all turns of the batch, as things
    /// stand at its start.
    fn open_batch(&mut self, first: usize, len: usize) {
        let word = first / 64;
        for &group in &self.standing {
            self.column[group as usize] = self.ancestors.row(group as usize)[word];
        }
        let batch = &mut self.batch;
        (batch.first, batch.len) = (first, len);
        (batch.done, batch.grown, batch.unsettled) = (0, 0, 0);
        let (width, count) = (self.row_words, self.order.len());
        let (standing, column, rivals) = (&self.standing, &self.column, &self.rivals);
        let (ancestors, stands_for) = (&self.ancestors, &self.stands_for);
        let (benefit, order, turn) = (self.benefit, &self.order, &self.turn);
        let fill =
            |chunk: usize, hostile: &mut [u64], candidates: &mut [u64], verdicts: &mut [_]| {
                let turns = first + chunk * CHUNK..first + len.min((chunk + 1) * CHUNK);
                for (i, hostile) in turns.clone().zip(hostile.chunks_exact_mut(width)) {
                    hostile.copy_from_slice(rivals.row(i));
                }
                for &group in standing {
                    let descends_from =
                        column[group as usize] >> (chunk * CHUNK) & ((1 << CHUNK) - 1);
                    for at in ones_of_word(descends_from) {
                        union(&mut hostile[at * width..][..width], rivals.row(group as usize));
                    }
                }
                let rows = hostile.chunks_exact(width).zip(candidates.chunks_exact_mut(width));
                for (i, (hostile, candidates)) in turns.zip(rows) {
                    candidates.fill(0);
                    for (helper, _) in benefit.helpers(order[i] as usize) {
                        insert(candidates, turn[helper] as usize);
                    }
                    difference(candidates, hostile);
                    keep_admitted(&mut candidates[..word], stands_for, |group| {
                        once(&mut verdicts[group], i, || !intersects(ancestors.row(group), hostile))
                    });
                }
            };
        let size = CHUNK * width;
        let (hostile, candidates) = (&mut batch.hostile, &mut batch.candidates);
        let verdicts = &mut batch.verdicts;
        if count < PARALLEL_FROM {
            let rows = hostile.chunks_mut(size).zip(candidates.chunks_mut(size));
            for (chunk, ((h, c), v)) in rows.zip(verdicts.chunks_mut(count)).enumerate() {
                fill(chunk, h, c, v);
            }
        } else {
            let rows = hostile.par_chunks_mut(size).zip(candidates.par_chunks_mut(size));
            let rows = rows.zip(verdicts.par_chunks_mut(count)).enumerate();
            rows.for_each(|(chunk, ((h, c), v))| fill(chunk, h, c, v));
        }
    }

    fn take_turn(&mut self, at: usize) {
        let width = self.row_words;
        let batch = &mut self.batch;
        let (i, word) = (batch.first + at, batch.first / 64);
        let hostile = &batch.hostile[at * width..][..width];
        let candidates = &mut batch.candidates[at * width..][..width];
        // Earlier turns of the batch may have given i more descendants.
        difference(candidates, hostile);

        let (earlier, own) = self.ancestors.words_mut().split_at_mut(i * width);
        let own = &mut own[..width];
        let row = |of: usize| &earlier[of * width..][..width];

        // The older rows don't know yet what this batch added to them, and where the
        // hostile set has grown, not even what they do know has been asked.
        let unsettled = batch.unsettled >> at & 1 == 1;
        let (mut asked, mut tainted) = (0_u64, 0_u64);
        let mut taints = |recent: u64| {
            for done in ones_of_word(recent & !asked) {
                tainted |= u64::from(intersects(row(batch.first + done), hostile)) << done;
            }
            asked |= recent;
            recent & tainted
        };
        let verdicts = &mut batch.verdicts[at / CHUNK * self.order.len()..];
        let mut helping = candidates[word] & batch.done;
        helping &= !taints(helping);
        candidates[word] &= !batch.done | helping;
        // Who has not had its turn has no ancestors: not being hostile is enough.
        own[word] = candidates[word] & !batch.done;
        own[word + 1..].copy_from_slice(&candidates[word + 1..]);
        keep_admitted(&mut candidates[..word], &self.stands_for, |group| {
            once(&mut verdicts[group], self.order.len() + i, || {
                let recent = self.column[group] & batch.done;
                let admitted =
                    !(unsettled && intersects(row(group), hostile)) && taints(recent) == 0;
                if admitted {
                    union(own, row(group));
                    helping |= recent;
                }
                admitted
            })
        });
        for done in ones_of_word(helping) {
            union(own, row(batch.first + done));
        }
        insert(own, i);

        if candidates.iter().any(|&word| word != 0) {
            let collaborators = self.result.row_mut(self.order[i] as usize);
            for helper in ones(candidates) {
                insert(collaborators, self.order[helper] as usize);
            }
            self.spread(at);
        }
        self.batch.done |= 1 << at;
    }

    /// The descendants of `i` gain its new ancestors, and these gain its descendants.
    fn spread(&mut self, at: usize) {
        let width = self.row_words;
        let batch = &mut self.batch;
        let (i, word) = (batch.first + at, batch.first / 64);
        let (earlier, own) = self.ancestors.words_mut().split_at_mut(i * width);
        let own = &own[..width];
        for column in &mut self.column[..batch.first] {
            // No branch: all of `own` where `i` is an ancestor, nothing elsewhere.
            *column |= own[word] & (*column >> at & 1).wrapping_neg();
        }
        for done in ones_of_word(batch.done) {
            let row = &mut earlier[(batch.first + done) * width..][..width];
            if row[word] >> at & 1 == 1 {
                union(row, own);
                batch.grown |= 1 << done;
            }
        }
        let (before, after) = batch.hostile.split_at_mut((at + 1) * width);
        let hostile = &before[at * width..];
        let waiting = own[word] & !batch.done & !(1 << at);
        for later in ones_of_word(waiting) {
            union(&mut after[(later - at - 1) * width..][..width], hostile);
        }
        batch.unsettled |= waiting;
        batch.grown |= 1 << at;
    }

    /// Gives the older rows what the batch added, and joins the groups that it made.
    fn close_batch(&mut self) {
        let width = self.row_words;
        let (first, grown) = (self.batch.first, self.batch.grown);
        let (older, recent) = self.ancestors.words_mut().split_at_mut(first * width);
        let add = |(row, &column): (&mut [u64], &u64)| {
            for done in ones_of_word(column & grown) {
                union(row, &recent[done * width..][..width]);
            }
        };
        if self.order.len() < PARALLEL_FROM {
            older.chunks_exact_mut(width).zip(&self.column).for_each(add);
        } else {
            older.par_chunks_exact_mut(width).zip(&self.column).for_each(add);
        }
        for at in ones_of_word(grown) {
            self.join_group(first + at);
        }
        for i in first..first + self.batch.len {
            if self.stands_for[i] as usize == i {
                self.standing.push(i as u32);
            }
        }
        let (column, stands_for) = (&mut self.column, &self.stands_for);
        self.standing.retain(|&group| {
            let standing = stands_for[group as usize] == group;
            if !standing {
                // Its row is not kept up any more.
                column[group as usize] = 0;
            }
            standing
        });
    }

    /// Makes one group of `i` and everybody who is both its ancestor and descendant.
    fn join_group(&mut self, i: usize) {
        if self.stands_for[i] as usize != i {
            return;
        }
        let own = self.ancestors.row(i);
        let at = i - self.batch.first;
        let older = self
            .standing
            .iter()
            .copied()
            .filter(|&group| self.column[group as usize] >> at & 1 == 1);
        let recent =
            (self.batch.first..self.batch.first + self.batch.len).map(|other| other as u32);
        let recent = recent.filter(|&other| contains(self.ancestors.row(other as usize), i));
        let joining: Vec<u32> = older
            .chain(recent)
            .filter(|&other| {
                let standing = self.stands_for[other as usize] == other;
                other as usize != i && standing && contains(own, other as usize)
            })
            .collect();
        for other in joining {
            let (target, source) = self.rivals.row_mut_and_row(i, other as usize);
            union(target, source);
            let mut members = std::mem::take(&mut self.members[other as usize]);
            members.push(other);
            for &member in &members {
                self.stands_for[member as usize] = i as u32;
            }
            self.members[i].append(&mut members);
        }
    }
}

/// Keeps the candidates whose group is admitted.
fn keep_admitted(
    candidates: &mut [u64],
    stands_for: &[u32],
    mut admitted: impl FnMut(usize) -> bool,
) {
    for (word, groups) in candidates.iter_mut().zip(stands_for.chunks(64)) {
        for bit in ones_of_word(*word) {
            if !admitted(groups[bit] as usize) {
                *word &= !(1 << bit);
            }
        }
    }
}

/// The answer to a question that is asked once a group: `token` tells the askers apart.
fn once((asked, answer): &mut (u32, bool), token: usize, question: impl FnOnce() -> bool) -> bool {
    if *asked != token as u32 {
        (*asked, *answer) = (token as u32, question());
    }
    *answer
}
