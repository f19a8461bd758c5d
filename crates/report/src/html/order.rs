//! The order of participants in a matrix, so that groups show as blocks.
//!
//! Those who share neighbours belong together: average linkage over the Jaccard likeness of
//! neighbourhoods (each with itself in it, whichever way edges point), and of two groups that
//! are joined, the one with the first-listed participant comes first. Groups without an edge
//! between them have no likeness and are joined last, so connected parts are blocks too.
//! Unlike a spectral or a barycentre order this needs no iteration to settle, knows no sign or
//! start to choose, and leaves a graph without groups in its listed order.

/// More than these stay in their listed order: the likenesses of all pairs would take too long.
const MOST: usize = 2_000;

/// The participants in the order in which they are shown.
pub fn order(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<usize> {
    let neighbours = neighbourhoods(count, edges);
    if count > MOST || neighbours.iter().all(|set| set.len() < 2) {
        return (0..count).collect();
    }
    let mut alike = likenesses(&neighbours);
    let mut groups: Vec<Option<Vec<usize>>> = (0..count).map(|one| Some(vec![one])).collect();
    // The chain of nearest neighbours: two that are nearest to each other are joined, which for
    // this linkage gives the same groups as joining the nearest of all, in the square of time.
    let mut chain: Vec<usize> = Vec::new();
    for _ in 1..count {
        if chain.is_empty() {
            chain.extend(groups.iter().position(Option::is_some));
        }
        let (a, b) = loop {
            let top = chain[chain.len() - 1];
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            let mut best = before.unwrap_or(top);
            for other in (0..count).filter(|&other| other != top && groups[other].is_some()) {
                // The one before wins a tie, or the chain would go round.
                if best == top || alike[top * count + other] > alike[top * count + best] {
                    best = other;
                }
            }
            if Some(best) == before {
                chain.truncate(chain.len() - 2);
                break (top, best);
            }
            chain.push(best);
        };
        let (Some(one), Some(two)) = (groups[a].take(), groups[b].take()) else {
            break;
        };
        let (one_size, two_size) = (one.len() as f32, two.len() as f32);
        for other in 0..count {
            let mean = (one_size * alike[a * count + other] + two_size * alike[b * count + other])
                / (one_size + two_size);
            alike[a * count + other] = mean;
            alike[other * count + a] = mean;
        }
        let first = |group: &[usize]| group.iter().copied().min();
        let (mut joined, rest) = if first(&one) < first(&two) { (one, two) } else { (two, one) };
        joined.extend(rest);
        groups[a] = Some(joined);
    }
    groups.into_iter().flatten().flatten().collect()
}

/// Everybody's neighbours and itself, sorted.
fn neighbourhoods(
    count: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = (0..count).map(|one| vec![one]).collect();
    for (a, b) in edges {
        all[a].push(b);
        all[b].push(a);
    }
    for set in &mut all {
        set.sort_unstable();
        set.dedup();
    }
    all
}

/// How alike each two neighbourhoods are: what they share, of all that they have.
fn likenesses(neighbours: &[Vec<usize>]) -> Vec<f32> {
    let count = neighbours.len();
    let mut alike = vec![0.0; count * count];
    let mut shared = vec![0_u32; count];
    for (a, set) in neighbours.iter().enumerate() {
        shared.fill(0);
        for &middle in set {
            neighbours[middle].iter().for_each(|&b| shared[b] += 1);
        }
        for (b, &both) in shared.iter().enumerate() {
            let either = set.len() + neighbours[b].len() - both as usize;
            alike[a * count + b] = both as f32 / either as f32;
        }
    }
    alike
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve groups of five, dealt out like cards, and some edges between groups.
    fn shuffled() -> (usize, Vec<(usize, usize)>) {
        let (groups, size) = (12, 5);
        let count = groups * size;
        let group = |one: usize| (one * 7) % groups;
        let mut edges = Vec::new();
        for a in 0..count {
            for b in 0..count {
                let is_noise = (a * 31 + b * 17) % 41 == 0;
                if a != b && (group(a) == group(b) || is_noise) {
                    edges.push((a, b));
                }
            }
        }
        (count, edges)
    }

    #[test]
    fn groups_become_blocks_though_some_edges_join_them() {
        let (count, edges) = shuffled();
        let order = order(count, edges.iter().copied());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        let groups: Vec<usize> = order.iter().map(|one| (one * 7) % 12).collect();
        let changes = groups.windows(2).filter(|two| two[0] != two[1]).count();
        assert_eq!(changes, 11, "{groups:?}");
    }

    #[test]
    fn the_order_of_edges_and_their_direction_change_nothing() {
        let (count, mut edges) = shuffled();
        let before = order(count, edges.iter().copied());
        edges.reverse();
        assert_eq!(before, order(count, edges.iter().map(|&(a, b)| (b, a))));
    }

    #[test]
    fn without_groups_the_listed_order_stays() {
        assert_eq!(order(5, []), [0, 1, 2, 3, 4]);
        assert_eq!(order(0, []), [0; 0]);
        let all = (0..4).flat_map(|a| (0..4).filter(move |&b| b != a).map(move |b| (a, b)));
        assert_eq!(order(4, all), [0, 1, 2, 3]);
    }
}
