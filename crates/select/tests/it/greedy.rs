//! The paper's selection: against golden answers, the paper's own text, exhaustive
//! search, and the properties it must have.

use crate::common::{Case, Lists, instances};
use fedcompetitors_graphs::{
    BenefitGraph, Certificate, CompetingGraph, Flows, Reasons, UsageGraph, find_leak, refusals,
};
use fedcompetitors_select::{
    Setting,
    generate::{Shape, instance},
    greedy, paper,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn golden_cases_have_the_answers_of_an_independent_implementation() {
    let cases = Case::all();
    assert!(cases.len() >= 14);
    for case in cases {
        let (competing, benefit) = case.graphs();
        let plan = greedy(Setting::new(&competing, &benefit));
        assert_eq!(plan.usage, case.greedy_usage(), "{}", case.title);
        assert!(close(plan.welfare, case.greedy.welfare), "{}: {}", case.title, plan.welfare);
        assert!(plan.upper_bound >= case.optimal_welfare - 1e-9, "{}", case.title);
    }
}

/// The paper's three competing graphs, each under two benefit graphs: everybody helps
/// everybody alike (all ties), and the first half helps more.
#[test]
fn the_papers_own_instances_keep_the_rule() {
    let weak = (8, vec![(1, 5), (1, 6), (2, 5), (2, 6), (1, 7), (2, 8), (3, 5), (4, 6)]);
    let strong = (8, vec![(1, 3), (1, 4), (2, 3), (2, 4), (5, 7), (5, 8), (6, 7), (6, 8)]);
    let hospitals = (10, vec![(2, 5), (3, 4), (3, 5)]);
    for (count, pairs) in [weak, strong, hospitals] {
        for small in [64, 32] {
            let lists = Lists {
                count,
                competing: pairs.iter().map(|&(a, b)| (a - 1, b - 1)).collect(),
                benefit: (0..count)
                    .flat_map(|from| (0..count).map(move |to| (from, to)))
                    .filter(|(from, to)| from != to)
                    .map(|(from, to)| (from, to, if from < count / 2 { 64 } else { small }))
                    .collect(),
            };
            let (competing, benefit) = lists.graphs();
            let plan = greedy(Setting::new(&competing, &benefit));
            assert_eq!(plan.usage, paper::literal(&competing, &benefit));
            assert!(Certificate::prove(&competing, &plan.usage).is_ok());
            assert!(!plan.usage.is_empty());
        }
    }
}

/// Several batches of turns, groups that form early, late and never.
#[test]
fn large_instances_equal_the_paper_word_for_word() {
    for (participants, competing_density, benefit_density) in [
        (200, 0.01, 0.2),
        (200, 0.05, 0.1),
        (200, 0.001, 0.02),
        (150, 0.2, 0.5),
        (150, 0.0, 0.05),
        (140, 0.002, 0.9),
        (64, 0.05, 0.3),
        (65, 0.05, 0.3),
        (129, 0.003, 0.05),
    ] {
        for seed in 0..3 {
            let shape = Shape { participants, competing_density, benefit_density };
            let (competing, benefit) = instance(shape, seed);
            let plan = greedy(Setting::new(&competing, &benefit));
            assert_eq!(plan.usage, paper::literal(&competing, &benefit), "{shape:?} seed {seed}");
        }
    }
}

#[test]
fn one_thread_and_two_give_the_same_plan() {
    // Large enough for the parallel passes.
    let shape = Shape { participants: 1500, competing_density: 0.002, benefit_density: 0.05 };
    let (competing, benefit) = instance(shape, 9);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| greedy(Setting::new(&competing, &benefit)))
    };
    let plan = with(1);
    assert_eq!(plan, with(2));
    assert_eq!(plan.usage, by_searching(&competing, &benefit));
    assert!(Certificate::prove(&competing, &plan.usage).is_ok());
    assert_maximal(&competing, &benefit, &plan.usage);
}

/// The paper's selection by plain searches over lists: slower than bit sets, far faster
/// than the paper's text, and like neither of them.
fn by_searching(competing: &CompetingGraph, benefit: &BenefitGraph) -> UsageGraph {
    let count = benefit.participants().len();
    let rivals: Vec<Vec<usize>> =
        (0..count).map(|a| (0..count).filter(|&b| competing.competes(a, b)).collect()).collect();
    let mut learners: Vec<Vec<usize>> = vec![Vec::new(); count];
    let search = |learners: &[Vec<usize>], starts: &[usize]| {
        let (mut seen, mut stack) = (vec![false; count], starts.to_vec());
        for &start in starts {
            seen[start] = true;
        }
        while let Some(node) = stack.pop() {
            for &next in &learners[node] {
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push(next);
                }
            }
        }
        seen
    };
    let levels = benefit.level_of_potential();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| levels[b].total_cmp(&levels[a]));
    let mut usage = UsageGraph::builder(benefit.participants());
    for i in order {
        let reached = search(&learners, &[i]);
        let hostile: Vec<usize> =
            (0..count).filter(|&a| rivals[a].iter().any(|&rival| reached[rival])).collect();
        let refused = search(&learners, &hostile);
        for (j, _) in benefit.helpers(i).filter(|&(j, _)| !refused[j]) {
            learners[j].push(i);
            usage.add(j, i).expect("each edge once");
        }
    }
    usage.build()
}

fn assert_maximal(competing: &CompetingGraph, benefit: &BenefitGraph, usage: &UsageGraph) {
    for refusal in refusals(competing, benefit, usage, None) {
        assert!(refusal.because.is_some(), "{} → {} could be added", refusal.from, refusal.to);
    }
}

/// Is there a path? Plain depth-first search over an edge list.
fn path(edges: &[(usize, usize)], from: usize, to: usize, seen: &mut Vec<usize>) -> bool {
    seen.push(from);
    edges
        .iter()
        .any(|&(a, b)| a == from && (b == to || (!seen.contains(&b) && path(edges, b, to, seen))))
}

fn keeps_the_rule(competing: &CompetingGraph, edges: &[(usize, usize)]) -> bool {
    competing
        .pairs()
        .all(|(a, b)| !path(edges, a, b, &mut Vec::new()) && !path(edges, b, a, &mut Vec::new()))
}

/// Algorithm 1 with each step's integer program solved by trying every subset.
fn by_exhaustive_steps(competing: &CompetingGraph, benefit: &BenefitGraph) -> Vec<(usize, usize)> {
    let levels = benefit.level_of_potential();
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|&a, &b| levels[b].total_cmp(&levels[a]));
    let mut used = Vec::new();
    for i in order {
        let helpers: Vec<_> = benefit.helpers(i).collect();
        let best = (0..1_u32 << helpers.len())
            .map(|subset| {
                let chosen = (0..helpers.len()).filter(|at| subset >> at & 1 == 1);
                chosen.map(|at| helpers[at]).collect::<Vec<_>>()
            })
            .filter(|chosen| {
                let mut edges = used.clone();
                edges.extend(chosen.iter().map(|&(j, _)| (j, i)));
                keeps_the_rule(competing, &edges)
            })
            .max_by(|a, b| {
                let total =
                    |chosen: &[(usize, f64)]| chosen.iter().map(|(_, value)| value).sum::<f64>();
                total(a).total_cmp(&total(b))
            })
            .expect("the empty set keeps the rule");
        used.extend(best.into_iter().map(|(j, _)| (j, i)));
    }
    used
}

proptest! {
    #![proptest_config(cases(200))]

    /// Several batches of turns, with groups that form early, late and never.
    #[test]
    fn many_batches_equal_plain_searches(
        participants in 60_usize..330,
        rivalry in 0.0..1.0_f64,
        help in 0.0..1.0_f64,
        seed in any::<u64>(),
    ) {
        // Low densities, where groups are in the making, are the interesting ones.
        let shape = Shape {
            participants,
            competing_density: 0.1 * rivalry.powi(4),
            benefit_density: 0.4 * help.powi(3),
        };
        let (competing, benefit) = instance(shape, seed);
        prop_assert_eq!(greedy(Setting::new(&competing, &benefit)).usage, by_searching(&competing, &benefit));
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn each_step_is_the_best_one_there_is(lists in instances(6)) {
        let (competing, benefit) = lists.graphs();
        let plan = greedy(Setting::new(&competing, &benefit));
        let mut expected = by_exhaustive_steps(&competing, &benefit);
        expected.sort_by_key(|&(from, to)| (to, from));
        prop_assert_eq!(plan.usage.edges().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_fast_code_equals_the_paper(lists in instances(24)) {
        let (competing, benefit) = lists.graphs();
        prop_assert_eq!(greedy(Setting::new(&competing, &benefit)).usage, paper::literal(&competing, &benefit));
    }

    #[test]
    fn the_rule_holds_and_nothing_can_be_added(lists in instances(40)) {
        let (competing, benefit) = lists.graphs();
        let plan = greedy(Setting::new(&competing, &benefit));
        prop_assert!(keeps_the_rule(&competing, &plan.usage.edges().collect::<Vec<_>>()));
        let certificate = Certificate::prove(&competing, &plan.usage).expect("the rule holds");
        prop_assert_eq!(certificate.check(&competing, &plan.usage), Ok(()));
        for (from, to) in plan.usage.edges() {
            prop_assert!(benefit.benefit(from, to) > 0.0);
        }
        for to in 0..lists.count {
            for (from, _) in benefit.helpers(to).filter(|&(from, _)| !plan.usage.uses(from, to)) {
                let mut edges: Vec<_> = plan.usage.edges().collect();
                edges.push((from, to));
                prop_assert!(!keeps_the_rule(&competing, &edges), "{} → {} could be added", from, to);
            }
        }
        prop_assert!(plan.welfare <= plan.upper_bound);
    }

    #[test]
    fn each_refusal_names_a_real_path_between_competitors(lists in instances(30)) {
        let (competing, benefit) = lists.graphs();
        let plan = greedy(Setting::new(&competing, &benefit));
        let mut named = 0;
        for refusal in refusals(&competing, &benefit, &plan.usage, None) {
            let reason = refusal.because.expect("greedy leaves out nothing without a reason");
            let (p, q) = reason.pair();
            prop_assert!(competing.competes(p, q));
            prop_assert_eq!((reason.path[reason.helper], reason.path[reason.helper + 1]), (refusal.from, refusal.to));
            for (at, edge) in reason.path.windows(2).enumerate() {
                prop_assert!(at == reason.helper || plan.usage.uses(edge[0], edge[1]));
            }
            let mut nodes = reason.path.clone();
            nodes.sort_unstable();
            nodes.dedup();
            prop_assert_eq!(nodes.len(), reason.path.len(), "no detours");
            named += 1;
        }
        prop_assert_eq!(named + plan.usage.len(), benefit.len());
    }

    /// With the refused edge added, the named path is as short as any leak over it.
    #[test]
    fn reasons_are_shortest(lists in instances(12)) {
        let (competing, benefit) = lists.graphs();
        let plan = greedy(Setting::new(&competing, &benefit));
        let flows = Flows::new(&plan.usage, None);
        for to in 0..lists.count {
            let reasons = Reasons::against(&competing, &flows, to);
            for from in (0..lists.count).filter(|&from| from != to && !plan.usage.uses(from, to)) {
                let mut with = UsageGraph::builder(plan.usage.participants());
                for (a, b) in plan.usage.edges().chain([(from, to)]) {
                    with.add(a, b).expect("a new edge");
                }
                let leak = find_leak(&competing, &with.build()).map(|leak| leak.path.len());
                prop_assert_eq!(reasons.reason(from).map(|reason| reason.path.len()), leak);
            }
        }
    }

    #[test]
    fn relabelling_participants_relabels_the_plan(
        (lists, places) in instances(20).prop_flat_map(|lists| {
            let places: Vec<usize> = (0..lists.count).collect();
            (Just(lists), Just(places).prop_shuffle())
        }),
    ) {
        let (competing, benefit) = lists.graphs();
        let mut levels = benefit.level_of_potential().to_vec();
        levels.sort_by(f64::total_cmp);
        // Ties are broken by the listed order, which relabelling changes.
        prop_assume!(levels.windows(2).all(|pair| pair[0] < pair[1]));
        let plan = greedy(Setting::new(&competing, &benefit));
        let (competing, benefit) = lists.graphs_renamed(|index| places[index]);
        let renamed = greedy(Setting::new(&competing, &benefit));
        let mut expected: Vec<_> = plan.usage.edges().map(|(a, b)| (places[a], places[b])).collect();
        expected.sort_by_key(|&(from, to)| (to, from));
        prop_assert_eq!(renamed.usage.edges().collect::<Vec<_>>(), expected);
    }
}
