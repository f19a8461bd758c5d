//! Every policy keeps the rule; and each is what it says it is.

use crate::common::{Case, Lists, instances, plan};
use fedcompetitors_graphs::{BenefitGraph, Certificate, Choice, CompetingGraph, Provenance, Rule};
use fedcompetitors_select::{
    Cliques, Coalitions, Egoists, Friends, Optimal, Policy, Setting, cliques, coalitions, egoists,
};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

/// The paper's three competing graphs, everybody helping everybody, by the paper's numbers.
fn papers(count: usize, pairs: &[(usize, usize)]) -> (CompetingGraph, BenefitGraph) {
    let lists = Lists {
        count,
        competing: pairs.iter().map(|&(a, b)| (a - 1, b - 1)).collect(),
        benefit: (0..count)
            .flat_map(|from| (0..count).map(move |to| (from, to, 1)))
            .filter(|(from, to, _)| from != to)
            .collect(),
    };
    lists.graphs()
}

fn weak() -> (CompetingGraph, BenefitGraph) {
    papers(8, &[(1, 5), (1, 6), (2, 5), (2, 6), (1, 7), (2, 8), (3, 5), (4, 6)])
}

fn strong() -> (CompetingGraph, BenefitGraph) {
    papers(8, &[(1, 3), (1, 4), (2, 3), (2, 4), (5, 7), (5, 8), (6, 7), (6, 8)])
}

fn hospitals() -> (CompetingGraph, BenefitGraph) {
    papers(10, &[(2, 5), (3, 4), (3, 5)])
}

/// Groups by the paper's numbers.
fn numbered(groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    groups.iter().map(|group| group.iter().map(|index| index + 1).collect()).collect()
}

#[test]
fn the_papers_clique_covers() {
    let cover = |(competing, _): (CompetingGraph, BenefitGraph)| {
        let cover = cliques(&competing);
        assert!(cover.exact);
        numbered(&cover.cliques)
    };
    assert_eq!(cover(weak()), [[1, 2, 3, 4], [5, 6, 7, 8]]);
    assert_eq!(cover(strong()), [[1, 2, 5, 6], [3, 4, 7, 8]]);
    assert_eq!(cover(hospitals()), [vec![1, 2, 3, 6, 7, 8, 9, 10], vec![4, 5]]);
}

/// X and B have learned from each other, and X competes with A: B passes X's data on, so
/// A and B cannot be in one group, however much they would help each other.
#[test]
fn groups_share_what_their_members_carry_from_before() {
    let (x, a, b) = (0, 1, 2);
    let lists = Lists { count: 3, competing: vec![(x, a)], benefit: vec![(a, b, 8), (b, a, 8)] };
    let (competing, benefit) = lists.graphs();
    let mut before = Provenance::own(competing.participants());
    before.add(b, x);
    before.add(x, b);
    let setting = Setting::with_history(&competing, &benefit, &before);
    for policy in [&Cliques as &dyn Policy, &Coalitions, &Egoists] {
        let usage = plan(policy, &setting).usage;
        assert!(!usage.uses(a, b) && !usage.uses(b, a), "{}", policy.name());
        // Had X left before A came, nothing would have flowed and all would be well.
        let gone = [x];
        let without = Setting::new(&competing, &benefit).without(&gone);
        assert_eq!(plan(policy, &without).usage.len(), 2, "{}", policy.name());
    }
}

/// In the weak setting only the large help: they are a coalition, the small are alone.
#[test]
fn who_depends_on_others_without_giving_back_is_alone_in_equilibrium() {
    let large = [0, 1, 4, 5];
    let lists = Lists {
        count: 8,
        competing: vec![],
        benefit: large
            .iter()
            .flat_map(|&from| (0..8).map(move |to| (from, to, 1)))
            .filter(|(from, to, _)| from != to)
            .collect(),
    };
    let (_, benefit) = lists.graphs();
    let mut found = numbered(&coalitions(&benefit, &[0, 1, 2, 3]));
    found.sort();
    assert_eq!(found, [vec![1, 2], vec![3], vec![4]]);
}

#[test]
fn a_closed_way_of_help_is_a_coalition_of_egoists() {
    // 1 → 2 → 3 → 1; 4 only takes, 5 only gives; 6 ⇄ 7, helped by 3 and helping nobody else.
    let edges = [(1, 2), (2, 3), (3, 1), (1, 4), (5, 1), (6, 7), (7, 6), (3, 6)];
    let benefit: Vec<_> = edges.iter().map(|&(from, to)| (from - 1, to - 1, 8)).collect();
    let found = |competing: Vec<(usize, usize)>| {
        let (competing, benefit) = Lists { count: 7, competing, benefit: benefit.clone() }.graphs();
        numbered(&egoists(&competing, &benefit))
    };
    assert_eq!(found(vec![]), [vec![1, 2, 3, 6, 7], vec![4], vec![5]]);
    assert_eq!(found(vec![(0, 6)]), [vec![1, 2, 3], vec![4], vec![5], vec![6, 7]]);
    assert_eq!(found(vec![(0, 1)]), [vec![1], vec![2], vec![3], vec![4], vec![5], vec![6, 7]]);
}

#[test]
fn beyond_sixty_participants_the_cover_says_that_it_may_not_be_the_smallest() {
    let ring: Vec<_> = (0..61).map(|a| (a, (a + 1) % 61)).collect();
    let (competing, _) = Lists { count: 61, competing: ring, benefit: vec![] }.graphs();
    let cover = cliques(&competing);
    assert!(!cover.exact && cover.cliques.len() == 3);
}

#[test]
fn every_policy_keeps_the_rule_on_the_golden_cases() {
    for case in Case::all() {
        let (competing, benefit) = case.graphs();
        for policy in Choice::<dyn Policy>::all() {
            let plan = plan(&*policy, &Setting::new(&competing, &benefit));
            assert_eq!((plan.policy, plan.rule), (policy.name(), policy.rule()));
            let proof = Certificate::prove_by(plan.rule, &competing, &plan.usage);
            assert!(proof.is_ok(), "{} on {}", policy.name(), case.title);
            let is_best = plan.welfare <= case.optimal_welfare + 1e-9;
            assert!(is_best || plan.rule == Rule::Messages, "{}", policy.name());
        }
    }
}

/// The fewest colours, by trying them all.
fn fewest_colours(competing: &CompetingGraph) -> usize {
    fn colourable(competing: &CompetingGraph, colours: &mut Vec<usize>, most: usize) -> bool {
        let next = colours.len();
        if next == competing.participants().len() {
            return true;
        }
        (0..most).any(|colour| {
            let fits = (0..next).all(|a| colours[a] != colour || !competing.competes(a, next));
            if !fits {
                return false;
            }
            colours.push(colour);
            let done = colourable(competing, colours, most);
            colours.pop();
            done
        })
    }
    (0..=competing.participants().len())
        .find(|&most| colourable(competing, &mut Vec::new(), most))
        .expect("n colours are enough")
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn every_policy_keeps_the_rule(lists in instances(12)) {
        let (competing, benefit) = lists.graphs();
        let best = plan(&Optimal, &Setting::new(&competing, &benefit)).welfare;
        for policy in Choice::<dyn Policy>::all() {
            let plan = plan(&*policy, &Setting::new(&competing, &benefit));
            let proof = Certificate::prove_by(plan.rule, &competing, &plan.usage);
            prop_assert!(proof.is_ok(), "{}", policy.name());
            let is_best = plan.welfare <= best + 1e-9;
            prop_assert!(is_best || plan.rule == Rule::Messages, "{}", policy.name());
            prop_assert!(plan.welfare <= plan.upper_bound + 1e-9, "{}", policy.name());
        }
    }

    /// Everything that helps and does not connect competitors, and nothing else: no plan under the rule
    /// has more.
    #[test]
    fn friends_share_whatever_the_rule_of_messages_allows(lists in instances(9)) {
        let (competing, benefit) = lists.graphs();
        let plan = plan(&Friends, &Setting::new(&competing, &benefit));
        let mut welfare = 0.0;
        for (from, to) in (0..lists.count * lists.count).map(|at| (at / lists.count, at % lists.count)) {
            let value = benefit.benefit(from, to);
            let is_used = value > 0.0 && !competing.competes(from, to);
            prop_assert_eq!(plan.usage.uses(from, to), is_used);
            welfare += if is_used { value } else { 0.0 };
        }
        prop_assert!((plan.welfare - welfare).abs() < 1e-9 && plan.upper_bound >= plan.welfare - 1e-9);
    }

    #[test]
    fn the_cover_has_no_competitors_inside_and_no_clique_too_many(lists in instances(9)) {
        let (competing, _) = lists.graphs();
        let cover = cliques(&competing);
        prop_assert!(cover.exact);
        prop_assert_eq!(cover.cliques.len(), fewest_colours(&competing));
        let mut members: Vec<usize> = cover.cliques.concat();
        members.sort_unstable();
        prop_assert_eq!(members, (0..lists.count).collect::<Vec<_>>());
        for clique in &cover.cliques {
            for &a in clique {
                prop_assert!(clique.iter().all(|&b| !competing.competes(a, b)));
            }
        }
    }

    /// Each coalition is strongly connected, and whoever of the rest helps one of its
    /// members is a member: the definition, asked of every coalition when its turn comes.
    #[test]
    fn coalitions_are_connected_and_need_nobody_of_the_rest(lists in instances(9)) {
        let (_, benefit) = lists.graphs();
        let everybody: Vec<usize> = (0..lists.count).collect();
        let mut rest = everybody.clone();
        for coalition in coalitions(&benefit, &everybody) {
            for &member in &coalition {
                for (helper, _) in benefit.helpers(member) {
                    prop_assert!(!rest.contains(&helper) || coalition.contains(&helper));
                }
                let mut reached = vec![member];
                let mut at = 0;
                while at < reached.len() {
                    for &other in &coalition {
                        if benefit.benefit(reached[at], other) > 0.0 && !reached.contains(&other) {
                            reached.push(other);
                        }
                    }
                    at += 1;
                }
                prop_assert_eq!(reached.len(), coalition.len());
            }
            rest.retain(|a| !coalition.contains(a));
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn egoists_give_and_get_and_do_not_compete(lists in instances(14)) {
        let (competing, benefit) = lists.graphs();
        for coalition in egoists(&competing, &benefit) {
            for &member in &coalition {
                prop_assert!(coalition.iter().all(|&other| !competing.competes(member, other)));
                let gets = coalition.iter().any(|&other| benefit.benefit(other, member) > 0.0);
                let gives = coalition.iter().any(|&other| benefit.benefit(member, other) > 0.0);
                prop_assert!(coalition.len() == 1 || (gets && gives));
            }
        }
    }
}
