//! What a run directory remembers, and whom it lets go on.

use fedcompetitors_federate::run::summary;

use super::{Case, FEDERATION};

/// A checkpoint says nothing of its form: only the version that wrote it may read it.
#[test]
fn another_version_does_not_go_on() {
    let case = Case::new(FEDERATION);
    case.tamper("UPDATE run SET value = 'version 0.0.9 with checkpoints 0' WHERE key = 'program'");
    case.tamper("UPDATE run SET value = 'running' WHERE key = 'status'");
    let error = case.resume(FEDERATION).expect_err("it is another version");
    let told = error.to_string();
    assert!(told.contains("was begun by version 0.0.9 with checkpoints 0, and this is"), "{told}");
    assert!(error.hint().contains("the version that began it"));
}

/// How good each plan is stands in the record; where there is no plan, nothing does.
#[test]
fn plans_are_kept_with_their_bound() {
    let case = Case::new(&format!("compare = [\"fedavg\", \"pooled\"]\n{FEDERATION}"));
    let found = summary(&case.path()).expect("it can be read");
    for method in &found.methods {
        let plans: Vec<_> = method.plans.iter().map(|(seed, plan)| (*seed, plan)).collect();
        if method.name == "pooled" {
            assert_eq!(plans, []);
            continue;
        }
        let [(1, plan)] = plans[..] else {
            panic!("{}: {plans:?}", method.name);
        };
        assert!(plan.upper_bound >= plan.welfare, "{}: {plan:?}", method.name);
        if method.policy == "optimal" {
            assert!(plan.welfare > 0.0 && plan.upper_bound <= plan.welfare * (1.0 + 1e-6));
        }
    }
}
