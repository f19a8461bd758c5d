//! Who reaches whom along usage edges.

use crate::{
    UsageGraph,
    bits::{BitMatrix, contains, insert, ones_of_word, union, visit_new, words_for},
};

/// For each participant the set it reaches, itself included.
///
/// Strongly connected components by Tarjan's algorithm; the components come out sinks
/// first, so one sweep joins the sets, and the members of a component share one.
/// Takes O(m + n²/64) to walk and at most one row union an edge, O(m·n/64), to join.
#[derive(Debug)]
pub struct Reachability {
    component: Vec<u32>,
    row_words: usize,
    /// One row a component.
    rows: Vec<u64>,
}

impl Reachability {
    /// The reachability of a usage graph.
    pub fn of(usage: &UsageGraph) -> Self {
        Self::along(&usage.learners())
    }

    /// The reachability along the edges from each row to its set bits.
    pub fn along(edges: &BitMatrix) -> Self {
        Walk::new(edges).run()
    }

    /// The set that `a` reaches, itself included.
    pub fn set(&self, a: usize) -> &[u64] {
        &self.rows[self.component[a] as usize * self.row_words..][..self.row_words]
    }

    /// Is there a path from `a` to `b`? Everybody reaches itself.
    pub fn reaches(&self, a: usize, b: usize) -> bool {
        contains(self.set(a), b)
    }
}

/// Over how many edges information travels at most: the longest of all shortest ways
/// from a participant to one that it reaches. 0 where nobody uses anybody's updates.
pub fn longest_chain(usage: &UsageGraph) -> usize {
    let learners = usage.learners();
    let steps_from = |start: usize| {
        let mut seen = vec![0; learners.row_words()];
        insert(&mut seen, start);
        let (mut level, mut steps) = (vec![start], 0);
        loop {
            let mut next_level = Vec::new();
            for &node in &level {
                visit_new(learners.row(node), &mut seen, |next| next_level.push(next));
            }
            if next_level.is_empty() {
                return steps;
            }
            (level, steps) = (next_level, steps + 1);
        }
    };
    (0..learners.size()).map(steps_from).max().unwrap_or(0)
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's algorithm with its own stack: paths may be as long as there are participants.
struct Walk<'a> {
    edges: &'a BitMatrix,
    /// When a node was first met; `UNSEEN` before.
    met: Vec<u32>,
    /// The earliest node still open that this one is known to reach.
    low: Vec<u32>,
    open: Vec<u32>,
    result: Reachability,
    clock: u32,
}

/// A node being walked: the edges not yet followed are those of `rest`, a part of
/// word `at`, and all later words.
struct Frame {
    node: usize,
    at: usize,
    rest: u64,
}

impl<'a> Walk<'a> {
    fn new(edges: &'a BitMatrix) -> Self {
        let count = edges.size();
        Self {
            edges,
            met: vec![UNSEEN; count],
            low: vec![0; count],
            open: Vec::new(),
            result: Reachability {
                component: vec![UNSEEN; count],
                row_words: words_for(count),
                rows: Vec::new(),
            },
            clock: 0,
        }
    }

    fn run(mut self) -> Reachability {
        for root in 0..self.edges.size() {
            if self.met[root] == UNSEEN {
                self.walk_from(root);
            }
        }
        self.result
    }

    fn walk_from(&mut self, root: usize) {
        let mut frames = vec![self.enter(root)];
        while let Some(frame) = frames.last_mut() {
            let node = frame.node;
            match self.next_edge(frame) {
                Some(next) if self.met[next] == UNSEEN => frames.push(self.enter(next)),
                Some(next) => {
                    if self.result.component[next] == UNSEEN {
                        self.low[node] = self.low[node].min(self.met[next]);
                    }
                }
                None => {
                    frames.pop();
                    if let Some(parent) = frames.last() {
                        self.low[parent.node] = self.low[parent.node].min(self.low[node]);
                    }
                    if self.low[node] == self.met[node] {
                        self.close_component(node);
                    }
                }
            }
        }
    }

    fn enter(&mut self, node: usize) -> Frame {
        self.met[node] = self.clock;
        self.low[node] = self.clock;
        self.clock += 1;
        self.open.push(node as u32);
        Frame { node, at: 0, rest: self.edges.row(node)[0] }
    }

    fn next_edge(&self, frame: &mut Frame) -> Option<usize> {
        let row = self.edges.row(frame.node);
        while frame.rest == 0 {
            frame.at += 1;
            frame.rest = *row.get(frame.at)?;
        }
        let bit = frame.rest.trailing_zeros() as usize;
        frame.rest &= frame.rest - 1;
        Some(frame.at * 64 + bit)
    }

    /// Everything met since `root` and still open is one component; whatever it
    /// reaches outside is closed already.
    fn close_component(&mut self, root: usize) {
        let start = self.open.iter().rposition(|&node| node as usize == root).unwrap_or(0);
        let width = self.result.row_words;
        let number = self.result.rows.len() / width;
        let mut set = vec![0; width];
        for &member in &self.open[start..] {
            self.result.component[member as usize] = number as u32;
            insert(&mut set, member as usize);
        }
        for &member in &self.open[start..] {
            for (at, &word) in self.edges.row(member as usize).iter().enumerate() {
                for bit in ones_of_word(word) {
                    let next = at * 64 + bit;
                    if !contains(&set, next) {
                        union(&mut set, self.result.set(next));
                    }
                }
            }
        }
        self.open.truncate(start);
        self.result.rows.extend_from_slice(&set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Participants;
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    /// Warshall's closure, three plain loops: the naive twin.
    fn closure(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<bool>> {
        let mut reaches = vec![vec![false; count]; count];
        for (a, row) in reaches.iter_mut().enumerate() {
            row[a] = true;
        }
        for &(from, to) in edges {
            reaches[from][to] = true;
        }
        for through in 0..count {
            for a in 0..count {
                for b in 0..count {
                    if reaches[a][through] && reaches[through][b] {
                        reaches[a][b] = true;
                    }
                }
            }
        }
        reaches
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn reachability_is_the_transitive_closure(
            count in 1_usize..80,
            edges in prop::collection::vec((0_usize..80, 0_usize..80), 0..160),
        ) {
            let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a % count, b % count)).collect();
            let mut matrix = BitMatrix::new(count);
            for &(from, to) in &edges {
                matrix.set(from, to);
            }
            let reach = Reachability::along(&matrix);
            let expected = closure(count, &edges);
            for (a, row) in expected.iter().enumerate() {
                for (b, &expected) in row.iter().enumerate() {
                    prop_assert_eq!(reach.reaches(a, b), expected, "{} to {}", a, b);
                }
            }
        }
    }

    #[test]
    fn the_longest_chain_is_the_longest_shortest_way() {
        let participants = Participants::numbered(5);
        let mut usage = UsageGraph::builder(&participants);
        assert_eq!(longest_chain(&usage.build()), 0);
        usage = UsageGraph::builder(&participants);
        // v1 → v2 → v3 → v4, and a short cut v1 → v3: v4 is two steps from v1 and v2.
        for (from, to) in [(0, 1), (1, 2), (2, 3), (0, 2)] {
            usage.add(from, to).expect("new");
        }
        assert_eq!(longest_chain(&usage.build()), 2);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let count = 20_000;
        let mut matrix = BitMatrix::new(count);
        for a in 1..count {
            matrix.set(a - 1, a);
        }
        let reach = Reachability::along(&matrix);
        assert!(reach.reaches(0, count - 1) && !reach.reaches(count - 1, 0));
    }
}
