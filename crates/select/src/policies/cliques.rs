//! As few groups without competitors as can be: a minimum clique cover of the complement
//! of the competing graph, which is a minimum colouring of the competing graph.

use fedcompetitors_graphs::{
    CompetingGraph, Entry,
    bits::{common_ones, count, insert, ones, remove, words_for},
    entry,
};

use super::{Effort, Objective, Policy, inside};
use crate::{Plan, Setting};

/// All members of a group without competitors learn from each other: [`cliques`].
#[derive(Debug, Clone, Copy)]
pub struct Cliques;

entry!(
    Cliques,
    "cliques",
    "As few groups without competitors as possible; all members of a group learn from each other."
);

impl Policy for Cliques {
    fn needs_benefits(&self) -> bool {
        false
    }

    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        let cover = cliques(&setting.hostile());
        let usage = inside(setting, &cover.cliques, |_, _| true);
        Plan { note: Some(cover.note().into()), ..Plan::new(self.name(), setting, usage) }
    }
}

/// Participants up to which the cover is made as small as can be.
const EXACT_UP_TO: usize = 60;

/// Steps after which an exact search gives up; small graphs take far fewer.
const MOST_STEPS: u64 = 20_000_000;

/// Groups in which nobody competes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliqueCover {
    /// The groups, each in listed order, ordered by their first member.
    pub cliques: Vec<Vec<usize>>,
    /// Is it certain that no cover has fewer groups?
    pub exact: bool,
}

impl CliqueCover {
    /// How sure one can be that there are no fewer groups.
    pub fn note(&self) -> &'static str {
        if self.exact {
            "the number of groups is minimal"
        } else {
            "the groups were found by DSATUR; fewer may be possible"
        }
    }
}

/// A cover by as few cliques as can be: exact up to 60 participants, beyond that by
/// DSATUR (next whoever sees most colours, then has most competitors, then is listed
/// first; the first colour that fits).
pub fn cliques(competing: &CompetingGraph) -> CliqueCover {
    let size = competing.participants().len();
    let mut search = Search::new(competing);
    search.colour_rest(0, true);
    if size <= EXACT_UP_TO {
        search.lower = search.clique();
        search.steps = 0;
        if search.best_colours > search.lower {
            search.colour_rest(0, false);
        }
    }
    let exact =
        search.best_colours <= search.lower || (size <= EXACT_UP_TO && search.steps < MOST_STEPS);
    let mut groups = vec![Vec::new(); search.best_colours];
    for (participant, &colour) in search.best.iter().enumerate() {
        groups[colour].push(participant);
    }
    groups.sort_by_key(|group| group[0]);
    CliqueCover { cliques: groups, exact }
}

const NONE: usize = usize::MAX;

/// DSATUR, once for a first answer, then with branching.
struct Search<'a> {
    competing: &'a CompetingGraph,
    colour: Vec<usize>,
    /// For each participant and colour how many competitors have it.
    seen: Vec<Vec<u32>>,
    best: Vec<usize>,
    best_colours: usize,
    /// No cover has fewer colours.
    lower: usize,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(competing: &'a CompetingGraph) -> Self {
        let size = competing.participants().len();
        Self {
            competing,
            colour: vec![NONE; size],
            seen: vec![Vec::new(); size],
            best: (0..size).collect(),
            best_colours: size,
            lower: 1,
            steps: 0,
        }
    }

    /// The number of competitors of each other that one finds by taking whoever has most.
    fn clique(&self) -> usize {
        let size = self.colour.len();
        let degree = |a: usize| count(self.competing.competitors(a));
        let mut largest = 1;
        for start in 0..size {
            let mut open = self.competing.competitors(start).to_vec();
            let mut members = 1;
            while let Some(next) = ones(&open).max_by_key(|&a| (degree(a), size - a)) {
                members += 1;
                let mut rest = vec![0; words_for(size)];
                common_ones(&open, self.competing.competitors(next))
                    .for_each(|a| insert(&mut rest, a));
                remove(&mut rest, next);
                open = rest;
            }
            largest = largest.max(members);
        }
        largest
    }

    /// Colours everybody who has no colour yet; `used` colours are in use. The first time
    /// without branching.
    fn colour_rest(&mut self, used: usize, first_only: bool) {
        self.steps += 1;
        if (used >= self.best_colours && !first_only) || self.steps >= MOST_STEPS {
            return;
        }
        let Some(next) = self.next() else {
            if used < self.best_colours || first_only {
                self.best_colours = used;
                self.best = self.colour.clone();
            }
            return;
        };
        for colour in 0..=used {
            if self.seen[next].get(colour).is_some_and(|&times| times > 0) {
                continue;
            }
            if !first_only && colour + 1 >= self.best_colours {
                return;
            }
            self.paint(next, colour);
            self.colour_rest(used.max(colour + 1), first_only);
            self.wash(next, colour);
            if first_only || self.best_colours <= self.lower {
                return;
            }
        }
    }

    fn next(&self) -> Option<usize> {
        let saturation = |a: usize| self.seen[a].iter().filter(|&&times| times > 0).count();
        (0..self.colour.len()).filter(|&a| self.colour[a] == NONE).max_by_key(|&a| {
            (saturation(a), count(self.competing.competitors(a)), self.colour.len() - a)
        })
    }

    fn paint(&mut self, a: usize, colour: usize) {
        self.colour[a] = colour;
        for rival in ones(self.competing.competitors(a)) {
            if self.seen[rival].len() <= colour {
                self.seen[rival].resize(colour + 1, 0);
            }
            self.seen[rival][colour] += 1;
        }
    }

    fn wash(&mut self, a: usize, colour: usize) {
        self.colour[a] = NONE;
        for rival in ones(self.competing.competitors(a)) {
            self.seen[rival][colour] -= 1;
        }
    }
}
