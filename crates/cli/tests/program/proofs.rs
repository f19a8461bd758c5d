//! Plans proven, and refusals explained.

use super::*;

#[test]
fn a_plan_is_proven_and_its_certificate_checked() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    let output = sandbox.verify("plan.json", &["--certificate", "certificate.json"]);
    insta::assert_snapshot!(seen(&output));
    let printed = sandbox.verify("plan.json", &["--format", "json"]).stdout;
    assert_eq!(fs::read(sandbox.path("certificate.json")).expect("written"), printed);
    insta::assert_snapshot!(seen(&sandbox.verify("plan.json", &["--against", "certificate.json"])));

    let printed = text(&printed);
    let set_of_st_mary = "\"St Mary\", \"reaches\": [";
    let tampered = printed.replacen(set_of_st_mary, &format!("{set_of_st_mary}\"General\", "), 1);
    assert_ne!(tampered, printed);
    sandbox.write("tampered.json", &tampered);
    let output = sandbox.verify("plan.json", &["--against", "tampered.json"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(seen(&output));
    let output = sandbox.verify("plan.json", &["--against", "tampered.json", "--format", "json"]);
    let verdict: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(verdict["holds"], false);
}

#[test]
fn a_plan_changed_by_hand_is_refused_with_the_path() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    for (name, edge) in [("edited.json", LEAK), ("no-benefit.json", LEAK_WITHOUT_BENEFIT)] {
        sandbox.plan_with_a_leak(name, edge);
        assert_eq!(sandbox.verify(name, &[]).status.code(), Some(1));
    }
    insta::assert_snapshot!(seen(&sandbox.verify("edited.json", &[])));
    insta::assert_snapshot!(seen(&sandbox.verify("edited.json", &["--format", "json"])));
    assert!(!sandbox.path("certificate.json").exists());
}

#[test]
fn every_kind_of_answer_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    for (from, to) in [
        ("University", "Carrow Clinic"),
        ("University", "General"),
        ("University", "Lakeside"),
        ("General", "Harbour"),
        ("Carrow Clinic", "Borough Clinic"),
        ("General", "Aldin Clinic"),
        ("Borough Clinic", "Lakeside"),
        ("Carrow Clinic", "St Mary"),
        ("St Mary", "St Mary"),
    ] {
        let output = sandbox.explain(from, to, &[]);
        insta::assert_snapshot!(format!("explain_{from}_{to}").replace(' ', "_"), seen(&output));
    }
    insta::assert_snapshot!(seen(&sandbox.explain(
        "University",
        "Lakeside",
        &["--format", "json"]
    )));
    insta::assert_snapshot!(seen(&sandbox.explain("Universty", "Lakeside", &[])));
}

#[test]
fn an_edge_that_only_the_plan_leaves_out_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    let plan = fs::read_to_string(sandbox.path("plan.json")).expect("written");
    let edge = "    {\"from\": \"Harbour\", \"to\": \"Borough Clinic\", \"benefit\": 0.44},\n";
    assert!(plan.contains(edge));
    sandbox.write("plan.json", &plan.replace(edge, ""));
    insta::assert_snapshot!(seen(&sandbox.explain("Harbour", "Borough Clinic", &[])));
}

#[test]
fn a_plan_that_breaks_the_rule_explains_nothing() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    sandbox.plan_with_a_leak("plan.json", LEAK);
    let output = sandbox.explain("St Mary", "Harbour", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("breaks the rule"));
}
