//! The paper's selection as printed: Algorithms 1 and 2, set by set.
//!
//! Deliberately plain: every set is built anew from its definition, nothing is shared
//! or cut short beyond what the text says. It is the naive twin of [`crate::greedy`]
//! in the tests and the peer in the benchmarks, O(n⁴) as the paper counts.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};

/// The paper's usage graph.
///
/// # Panics
/// If the graphs are over different participants.
pub fn literal(competing: &CompetingGraph, benefit: &BenefitGraph) -> UsageGraph {
    assert_eq!(competing.participants(), benefit.participants(), "one list of participants");
    let n = benefit.participants().len();
    let w = matrix(n, |j, i| benefit.benefit(j, i));
    let s = matrix(n, |a, b| competing.competes(a, b));
    let x = collaborator_selection(&s, &w);
    let mut usage = UsageGraph::builder(benefit.participants());
    for (j, row) in x.iter().enumerate() {
        for (i, &used) in row.iter().enumerate() {
            if used && i != j {
                usage.add(j, i).expect("each edge once");
            }
        }
    }
    usage.build()
}

fn matrix<T>(n: usize, entry: impl Fn(usize, usize) -> T) -> Vec<Vec<T>> {
    (0..n).map(|row| (0..n).map(|column| entry(row, column)).collect()).collect()
}

/// Algorithm 1, "Collaborator Selection".
fn collaborator_selection(s: &[Vec<bool>], w: &[Vec<f64>]) -> Vec<Vec<bool>> {
    let n = w.len();
    // Line 1: X and C are identity matrices.
    let mut x = matrix(n, |j, i| i == j);
    let mut c = matrix(n, |j, i| i == j);
    // Line 2: by level of potential (Eq. 1), in non-increasing order; ties as listed.
    let level = |i: usize| -> f64 { (0..n).filter(|&j| j != i).map(|j| w[i][j]).sum() };
    let levels: Vec<f64> = (0..n).map(level).collect();
    let mut sequence: Vec<usize> = (0..n).collect();
    sequence.sort_by(|&a, &b| levels[b].total_cmp(&levels[a]));
    // Lines 3 and 4.
    for i in sequence {
        ilp_solver(i, w, s, &mut x, &mut c);
    }
    x
}

/// Algorithm 2, "ILP Solver", for participant `i`.
fn ilp_solver(i: usize, w: &[Vec<f64>], s: &[Vec<bool>], x: &mut [Vec<bool>], c: &mut [Vec<bool>]) {
    let n = w.len();
    // Line 1: the candidates B_i, best first.
    let mut candidates: Vec<usize> =
        (0..n).filter(|&j| j != i && w[j][i] > 0.0 && !s[j][i]).collect();
    candidates.sort_by(|&a, &b| w[b][i].total_cmp(&w[a][i]));
    for j in candidates {
        // Line 3.
        if reachable_competitors_before(i, j, s, c).is_empty()
            && reachable_competitors_behind(i, j, s, c).is_empty()
        {
            // Line 4.
            x[j][i] = true;
            c[j][i] = true;
            // Lines 5 to 7.
            for p in 0..n {
                for q in 0..n {
                    if p != q && (p, q) != (j, i) && !c[p][q] && c[p][j] && c[i][q] {
                        c[p][q] = true;
                    }
                }
            }
        }
    }
}

/// `S⁻_{i,j}`: the competitors of those who reach `j` (Eq. for `V⁻_j`, `S⁻_j`) that `i` reaches.
fn reachable_competitors_before(
    i: usize,
    j: usize,
    s: &[Vec<bool>],
    c: &[Vec<bool>],
) -> Vec<usize> {
    let n = c.len();
    let reaching: Vec<usize> = (0..n).filter(|&k| c[k][j]).collect();
    let competitors = (0..n).filter(|&k| reaching.iter().any(|&p| s[k][p]));
    competitors.filter(|&k| c[i][k]).collect()
}

/// `S⁺_{i,j}`: the competitors of those whom `i` reaches (`V⁺_i`, `S⁺_i`) that reach `j`.
fn reachable_competitors_behind(
    i: usize,
    j: usize,
    s: &[Vec<bool>],
    c: &[Vec<bool>],
) -> Vec<usize> {
    let n = c.len();
    let reached: Vec<usize> = (0..n).filter(|&k| c[i][k]).collect();
    let competitors = (0..n).filter(|&k| reached.iter().any(|&p| s[p][k]));
    competitors.filter(|&k| c[k][j]).collect()
}
