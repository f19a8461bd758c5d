//! The certificate against every way of being wrong, and the leak finder against
//! plain search.

use fedcompetitors_graphs::{
    Certificate, CompetingGraph, Flaw, Participants, Provenance, Rule, UsageGraph,
    bits::{BitMatrix, contains, insert, remove},
    find_leak,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Graphs {
    competing: CompetingGraph,
    usage: UsageGraph,
}

fn graphs(most: usize) -> impl Strategy<Value = Graphs> {
    (2..=most)
        .prop_flat_map(|count| {
            let pair = (0..count, 0..count);
            (
                Just(count),
                prop::collection::vec(pair.clone(), 0..count),
                prop::collection::vec(pair, 0..2 * count),
            )
        })
        .prop_map(|(count, competing, usage)| build(count, &competing, &usage))
}

fn build(count: usize, competing: &[(usize, usize)], usage: &[(usize, usize)]) -> Graphs {
    let participants = Participants::numbered(count);
    let mut competing_graph = CompetingGraph::builder(&participants);
    for &(a, b) in competing.iter().filter(|(a, b)| a != b) {
        competing_graph.report(a, b).expect("two participants");
    }
    let mut usage_graph = UsageGraph::builder(&participants);
    for &(from, to) in usage {
        // Loops and doubled edges are refused; the rest stays.
        let _ = usage_graph.add(from, to);
    }
    Graphs { competing: competing_graph.build(), usage: usage_graph.build() }
}

/// The shortest leaking path's number of nodes and the number of leaking pairs, by
/// distances from three plain loops.
fn naive_leak(graphs: &Graphs) -> Option<(usize, usize)> {
    let count = graphs.usage.participants().len();
    let far = 1000;
    let mut distance = vec![vec![far; count]; count];
    for (from, to) in graphs.usage.edges() {
        distance[from][to] = 1;
    }
    for through in 0..count {
        for a in 0..count {
            for b in 0..count {
                distance[a][b] = distance[a][b].min(distance[a][through] + distance[through][b]);
            }
        }
    }
    let both_ways = graphs.competing.pairs().flat_map(|(a, b)| [(a, b), (b, a)]);
    let leaks: Vec<usize> = both_ways.map(|(a, b)| distance[a][b]).filter(|&d| d < far).collect();
    leaks.iter().min().map(|shortest| (shortest + 1, leaks.len()))
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_leak_is_found_if_and_only_if_there_is_one(graphs in graphs(12)) {
        let leak = find_leak(&graphs.competing, &graphs.usage);
        prop_assert_eq!(leak.as_ref().map(|leak| (leak.path.len(), leak.pairs)), naive_leak(&graphs));
        if let Some(leak) = &leak {
            prop_assert!(graphs.competing.competes(leak.path[0], leak.path[leak.path.len() - 1]));
            prop_assert!(leak.path.windows(2).all(|edge| graphs.usage.uses(edge[0], edge[1])));
        }
        match Certificate::prove(&graphs.competing, &graphs.usage) {
            Ok(certificate) => {
                prop_assert!(leak.is_none());
                prop_assert_eq!(certificate.check(&graphs.competing, &graphs.usage), Ok(()));
            }
            Err(found) => prop_assert_eq!(Some(found), leak),
        }
    }

    #[test]
    fn each_tampered_certificate_is_refused(graphs in graphs(10)) {
        let Ok(certificate) = Certificate::prove(&graphs.competing, &graphs.usage) else {
            return Ok(());
        };
        let count = graphs.usage.participants().len();
        for owner in 0..count {
            for other in 0..count {
                let mut sets = BitMatrix::new(count);
                for row in 0..count {
                    sets.row_mut(row).copy_from_slice(certificate.set(row));
                }
                if sets.get(owner, other) {
                    remove(sets.row_mut(owner), other);
                } else {
                    insert(sets.row_mut(owner), other);
                }
                let tampered = Certificate::claimed(Rule::Paths, graphs.usage.participants(), sets);
                prop_assert!(tampered.check(&graphs.competing, &graphs.usage).is_err());
            }
        }
    }

    /// What was carried before counts as if it were flowing again.
    #[test]
    fn a_past_is_proven_and_tampering_with_it_refused(
        graphs in graphs(8),
        past in prop::collection::vec((0_usize..8, 0_usize..8), 0..6),
    ) {
        let participants = graphs.usage.participants();
        let count = participants.len();
        let mut history = Provenance::own(participants);
        let mut flows: Vec<(usize, usize)> = graphs.usage.edges().collect();
        for (carrier, owner) in past {
            history.add(carrier % count, owner % count);
        }
        // Every owner a source of its own, from which its data flows to the carriers.
        for owner in 0..count {
            flows.extend((0..count).filter(|&c| history.carries(c, owner)).map(|c| (count + owner, c)));
        }
        let mut reached = BitMatrix::new(count);
        for owner in 0..count {
            let mut seen = vec![count + owner];
            let mut at = 0;
            while at < seen.len() {
                let next: Vec<usize> =
                    flows.iter().filter(|edge| edge.0 == seen[at]).map(|edge| edge.1).collect();
                next.into_iter().for_each(|to| if !seen.contains(&to) { seen.push(to) });
                at += 1;
            }
            seen.into_iter().filter(|&to| to < count).for_each(|to| reached.set(owner, to));
        }
        let leaks = graphs.competing.pairs().any(|(a, b)| reached.get(a, b) || reached.get(b, a));
        match Certificate::prove_after(&graphs.competing, &graphs.usage, &history) {
            Err(leak) => {
                prop_assert!(leaks);
                let edges = leak.path.windows(2).skip(usize::from(leak.from_before));
                prop_assert!(edges.into_iter().all(|edge| graphs.usage.uses(edge[0], edge[1])));
            }
            Ok(certificate) => {
                prop_assert!(!leaks);
                let check = |certificate: &Certificate| {
                    certificate.check_after(&graphs.competing, &graphs.usage, &history)
                };
                prop_assert_eq!(check(&certificate), Ok(()));
                for (owner, other) in (0..count * count).map(|at| (at / count, at % count)) {
                    prop_assert_eq!(contains(certificate.set(owner), other), reached.get(owner, other));
                    let mut sets = reached.clone();
                    if sets.get(owner, other) {
                        remove(sets.row_mut(owner), other);
                    } else {
                        sets.set(owner, other);
                    }
                    prop_assert!(check(&Certificate::claimed(Rule::Paths, participants, sets)).is_err());
                }
            }
        }
    }

    /// Under the rule of messages a plan is proven just where no edge connects competitors, the sets
    /// are those of a direct count, and every other set is refused.
    #[test]
    fn messages_go_one_edge_far(graphs in graphs(6)) {
        let count = graphs.usage.participants().len();
        let leaks = graphs.usage.edges().any(|(a, b)| graphs.competing.competes(a, b));
        match Certificate::prove_messages(&graphs.competing, &graphs.usage) {
            Err(leak) => {
                prop_assert!(leaks);
                let [from, to] = leak.path[..] else { panic!("an edge") };
                prop_assert!(graphs.usage.uses(from, to) && graphs.competing.competes(from, to));
            }
            Ok(certificate) => {
                prop_assert!(!leaks);
                prop_assert_eq!(certificate.rule(), Rule::Messages);
                prop_assert_eq!(certificate.check(&graphs.competing, &graphs.usage), Ok(()));
                let mut sets = BitMatrix::new(count);
                for (owner, other) in (0..count * count).map(|at| (at / count, at % count)) {
                    let reached = owner == other || graphs.usage.uses(owner, other);
                    prop_assert_eq!(contains(certificate.set(owner), other), reached);
                    if reached {
                        sets.set(owner, other);
                    }
                }
                for (owner, other) in (0..count * count).map(|at| (at / count, at % count)) {
                    let mut sets = sets.clone();
                    if sets.get(owner, other) {
                        remove(sets.row_mut(owner), other);
                    } else {
                        sets.set(owner, other);
                    }
                    let participants = graphs.usage.participants();
                    let claimed = Certificate::claimed(Rule::Messages, participants, sets);
                    prop_assert!(claimed.check(&graphs.competing, &graphs.usage).is_err());
                }
            }
        }
    }

    /// A plan that keeps the rule of paths keeps that of messages.
    #[test]
    fn paths_are_the_stronger_rule(graphs in graphs(8)) {
        if find_leak(&graphs.competing, &graphs.usage).is_none() {
            prop_assert!(Certificate::prove_messages(&graphs.competing, &graphs.usage).is_ok());
        }
    }

    /// Soundness: whatever sets are claimed, no graph that breaks the rule passes.
    #[test]
    fn no_claim_at_all_passes_for_a_leaking_graph(
        graphs in graphs(6),
        claims in prop::collection::vec(any::<u8>(), 6),
    ) {
        if find_leak(&graphs.competing, &graphs.usage).is_none() {
            return Ok(());
        }
        let count = graphs.usage.participants().len();
        let mut sets = BitMatrix::new(count);
        for (owner, claim) in claims.iter().enumerate().take(count) {
            for other in (0..count).filter(|other| other == &owner || claim >> other & 1 == 1) {
                sets.set(owner, other);
            }
        }
        let claimed = Certificate::claimed(Rule::Paths, graphs.usage.participants(), sets);
        prop_assert!(claimed.check(&graphs.competing, &graphs.usage).is_err());
    }
}

#[test]
fn each_flaw_is_told_by_name() {
    // v1 → v2 → v3, and v1 competes with v4.
    let graphs = build(4, &[(0, 3)], &[(0, 1), (1, 2)]);
    let check = |sets: [&[usize]; 4]| {
        let mut matrix = BitMatrix::new(4);
        for (owner, set) in sets.iter().enumerate() {
            set.iter().for_each(|&other| matrix.set(owner, other));
        }
        Certificate::claimed(Rule::Paths, graphs.usage.participants(), matrix)
            .check(&graphs.competing, &graphs.usage)
    };
    assert_eq!(check([&[0, 1, 2], &[1, 2], &[2], &[3]]), Ok(()));
    let cases: [([&[usize]; 4], Flaw, &str); 4] = [
        (
            [&[0, 1, 2], &[2], &[2], &[3]],
            Flaw::OwnerMissing { owner: 1 },
            "the set of \"v2\" does not contain \"v2\" itself",
        ),
        (
            [&[0, 1, 2, 3], &[1, 2], &[2], &[3]],
            Flaw::CompetitorInside { owner: 0, competitor: 3 },
            "the set of \"v1\" contains its competitor \"v4\"",
        ),
        (
            [&[0, 1], &[1, 2], &[2], &[3]],
            Flaw::NotClosed { owner: 0, from: 1, to: 2 },
            "the set of \"v1\" contains \"v2\" but not \"v3\", though \"v3\" learns from \"v2\"",
        ),
        (
            [&[0, 1, 2], &[1, 2], &[2, 3], &[3]],
            Flaw::NotReached { owner: 2, claimed: 3 },
            "the set of \"v3\" contains \"v4\", but \"v3\" does not reach \"v4\"",
        ),
    ];
    for (sets, flaw, words) in cases {
        assert_eq!(check(sets), Err(flaw));
        assert_eq!(flaw.describe(graphs.usage.participants()), words);
    }
}
