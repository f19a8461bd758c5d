//! Plans, certificates and runs under the rule `messages`.

use super::*;

/// Five towns with one task, of which two pairs compete; A may help C, who competes with nobody.
const TOWNS: &str = r#"
name = "five towns"
rule = "messages"
compare = ["optimal+evidence", "friends+evidence"]

[task]
kind = "binary"

[benefit]
estimator = "evidence"

[training]
trainer = "evidence"

[[participants]]
name = "A"
generate = { samples = 120, features = 6, kind = 1, difference = 0.1 }
competes-with = ["B"]

[[participants]]
name = "B"
generate = { samples = 150, features = 6, kind = 1, difference = 0.1 }

[[participants]]
name = "C"
generate = { samples = 90, features = 6, kind = 1, difference = 0.1 }

[[participants]]
name = "D"
generate = { samples = 200, features = 6, kind = 1, difference = 0.1 }
competes-with = ["E"]

[[participants]]
name = "E"
generate = { samples = 80, features = 6, kind = 1, difference = 0.1 }
"#;

#[test]
fn a_plan_under_messages_is_proven_as_such() {
    let sandbox = Sandbox::new();
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let files = ["--competing", &competing, "--benefit", &benefit];
    let select = ["select", "--policy", "friends", "--out", "plan.json"];
    let output = sandbox.run(&[&select[..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan = fs::read_to_string(sandbox.path("plan.json")).expect("written");
    assert!(plan.contains("\"rule\": \"messages\""), "{plan}");
    let proof = sandbox.verify("plan.json", &["--certificate", "certificate.json"]);
    insta::assert_snapshot!(seen(&proof));
    insta::assert_snapshot!(seen(&sandbox.verify("plan.json", &["--against", "certificate.json"])));
    // The same edges do not keep the rule of paths.
    insta::assert_snapshot!(seen(&sandbox.verify("plan.json", &["--rule", "paths"])));
    let paths = plan.replace("\"rule\": \"messages\"", "\"rule\": \"paths\"");
    sandbox.write("paths.json", &paths);
    assert_eq!(sandbox.verify("paths.json", &[]).status.code(), Some(1));
    // A certificate for one rule proves nothing about the other.
    sandbox.plan();
    let other = sandbox.verify("plan.json", &["--against", "certificate.json"]);
    assert_eq!(other.status.code(), Some(1));
    insta::assert_snapshot!(seen(&other));
    // A plan with an edge between competitors keeps neither.
    let edge = "{\"from\": \"St Mary\", \"to\": \"General\", \"benefit\": 0.1},\n    ";
    let leaking = plan.replacen("{\"from\"", &format!("{edge}{{\"from\""), 1);
    sandbox.write("leak.json", &leaking);
    insta::assert_snapshot!(seen(&sandbox.verify("leak.json", &[])));
    // Nothing is remembered from plan to plan.
    sandbox.write("plan.json", &plan);
    let replan = ["replan", "--plan", "plan.json"];
    insta::assert_snapshot!(seen(&sandbox.run(&[&replan[..], &files].concat())));
}

#[test]
fn refusals_under_messages_are_of_competitors_alone() {
    let sandbox = Sandbox::new();
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let files = ["--competing", &competing, "--benefit", &benefit];
    let select = ["select", "--policy", "friends", "--refusals", "--out", "plan.json"];
    insta::assert_snapshot!(seen(&sandbox.run(&[&select[..], &files].concat())));
    let plan = fs::read_to_string(sandbox.path("plan.json")).expect("written");
    // Used, refused, and, once an edge is taken out by hand, left out.
    let explained = |from, to| text(&sandbox.explain(from, to, &[]).stdout);
    let mut all = vec![explained("University", "Lakeside"), explained("General", "St Mary")];
    let edge = "    {\"from\": \"University\", \"to\": \"Lakeside\"";
    let (before, rest) = plan.split_once(edge).expect("it is used");
    let (_, after) = rest.split_once('\n').expect("a line");
    sandbox.write("plan.json", &format!("{before}{after}"));
    all.push(explained("University", "Lakeside"));
    insta::assert_snapshot!(all.concat());
}

#[test]
fn select_keeps_the_rule_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let select = |more: &[&str]| {
        let files = ["--competing", &competing, "--benefit", &benefit, "--out", "plan.json"];
        sandbox.run(&[&["select"], &files[..], more].concat())
    };
    let first_line = |output: &Output| {
        let text = text(&output.stdout);
        text.lines().next().unwrap_or_default().to_owned()
    };
    let begins = |output: &Output, policy: &str, rule: &str| {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let start = format!("Plan by policy {policy} under the rule `{rule}`: ");
        assert!(first_line(output).starts_with(&start), "{}", first_line(output));
    };
    begins(&select(&[]), "greedy", "paths");
    begins(&select(&["--rule", "paths"]), "greedy", "paths");
    begins(&select(&["--policy", "friends"]), "friends", "messages");
    begins(&select(&["--rule", "messages"]), "friends", "messages");
    // Its plan keeps both rules, and names the one that it was made under.
    let stronger = select(&["--rule", "messages", "--policy", "optimal"]);
    begins(&stronger, "optimal", "paths");
    insta::assert_snapshot!(text(&stronger.stderr));
    for rule in ["paths", "messages"] {
        assert_eq!(sandbox.verify("plan.json", &["--rule", rule]).status.code(), Some(0), "{rule}");
    }
    insta::assert_snapshot!(seen(&select(&["--rule", "paths", "--policy", "friends"])));
}

#[test]
fn run_and_init_take_a_rule() {
    let sandbox = Sandbox::new();
    let run = |file: &str, out: &str, more: &[&str]| {
        sandbox.run(&[&["run", file, "--out", out], more].concat())
    };
    let model = |out: &str| fs::read(sandbox.path(&format!("{out}/models/002-b.safetensors")));
    sandbox.write("messages.toml", TOWNS);
    sandbox.write("paths.toml", &TOWNS.replacen("\nrule = \"messages\"", "", 1));
    for (rule, other) in [("messages", "paths"), ("paths", "messages")] {
        let as_written = run(&format!("{rule}.toml"), &format!("{rule}-1"), &[]);
        let asked = run(&format!("{other}.toml"), &format!("{rule}-2"), &["--rule", rule]);
        assert_eq!(as_written.status.code(), Some(0), "{}", text(&as_written.stderr));
        assert_eq!(text(&asked.stdout), text(&as_written.stdout));
        let [one, two] = [1, 2].map(|at| model(&format!("{rule}-{at}")).expect("a model"));
        assert!(one == two, "{rule}");
    }
    // A run keeps its rule.
    let other = run("paths.toml", "paths-1", &["--rule", "messages", "--resume"]);
    assert_eq!(other.status.code(), Some(3), "{}", text(&other.stderr));
    // What the file chooses for one rule may not go with the other.
    let named = TOWNS.replacen("[task]", "[selection]\npolicy = \"friends\"\n\n[task]", 1);
    sandbox.write("named.toml", &named);
    insta::assert_snapshot!(seen(&run("named.toml", "named", &["--rule", "paths"])));

    fs::create_dir(sandbox.path("towns")).expect("a folder");
    for name in ["Chur", "Davos"] {
        let rows = (0..40).map(|at| format!("{},{}\n", 30 + at % 7, at % 2));
        sandbox
            .write(&format!("towns/{name}.csv"), &format!("age,ill\n{}", rows.collect::<String>()));
    }
    let init = sandbox.run(&["init", "towns", "--rule", "messages"]);
    assert_eq!(init.status.code(), Some(0), "{}", text(&init.stderr));
    let written = fs::read_to_string(sandbox.path("towns/federation.toml")).expect("written");
    assert!(written.contains("\nrule = \"messages\"\n"), "{written}");
    let check = sandbox.run(&["check", "towns/federation.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
}

#[test]
fn a_federation_under_messages_learns_from_all_friends() {
    let sandbox = Sandbox::new();
    sandbox.write("federation.toml", TOWNS);
    let run = sandbox.run(&["run", "federation.toml"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let audit = sandbox.run(&["audit", "federation-run", "--federation", "federation.toml"]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit.stdout));
    let export = sandbox.run(&["export", "federation-run", "--to", "tables"]);
    assert_eq!(export.status.code(), Some(0), "{}", text(&export.stderr));
    let usage = fs::read_to_string(sandbox.path("tables/usage.csv")).expect("written");
    let edges = |method: &str| -> Vec<(String, String)> {
        let lines = usage.lines().filter(|line| line.split(',').nth(1) == Some(method));
        let cell = |line: &str, at| line.split(',').nth(at).unwrap_or_default().to_owned();
        lines.map(|line| (cell(line, 2), cell(line, 3))).collect()
    };
    let friends = edges("friends+evidence");
    let rivals = [["A", "B"], ["D", "E"]];
    let compete =
        |from: &str, to: &str| rivals.iter().any(|pair| pair.contains(&from) && pair.contains(&to));
    assert!(friends.iter().all(|(from, to)| !compete(from, to)));
    // Both rivals reach C, and C helps both: a chain that the rule of paths refuses.
    let has = |from: &str, to: &str| friends.contains(&(from.into(), to.into()));
    assert!(has("A", "C") && has("C", "B"), "{friends:?}");
    assert!(edges("optimal+evidence").len() < friends.len());
    let verify = ["verify", "--competing", "tables/proof/competing.csv"];
    let plan = ["--plan", "tables/proof/plan.json", "--against", "tables/proof/certificate.json"];
    let proof = sandbox.run(&[&verify[..], &plan].concat());
    assert_eq!(proof.status.code(), Some(0), "{}", text(&proof.stdout));
    assert!(text(&proof.stdout).contains("the rule `messages`"), "{}", text(&proof.stdout));
    // What the audit confirms is the rule that was kept.
    let kept = text(&audit.stdout);
    assert!(kept.contains("The rule `messages` was kept: no participant received"), "{kept}");
    let page = fs::read_to_string(sandbox.path("federation-run/report.html")).expect("written");
    assert!(page.contains("No participant received a message that carries"), "{page}");
    assert!(!page.contains("No participant's data reached a competitor."), "{page}");
    let report = fs::read_to_string(sandbox.path("federation-run/report.md")).expect("written");
    assert!(report.contains("2 competing pairs, rule messages; complete."), "{report}");
    assert!(report.contains("The rule `messages`: Nobody receives a message"), "{report}");
    assert!(report.contains("Best method that keeps the rule messages: "), "{report}");
    // The rule of a federation file counts, not that of the record.
    sandbox.write("paths.toml", &TOWNS.replacen("\nrule = \"messages\"", "", 1));
    let other = sandbox.run(&["audit", "federation-run", "--federation", "paths.toml"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stdout));
    let told = text(&other.stdout);
    let sentence = "flaw in the run: friends+evidence was made to keep the rule `messages`, but is audited by `paths`";
    assert_eq!(told.matches(sentence).count(), 1, "{told}");
    assert!(told.contains("connects") && !told.contains("was kept"), "{told}");
    // The record of a run that was made by hand under the other rule is not clean.
    let database = rusqlite::Connection::open(sandbox.path("federation-run/run.sqlite"));
    database
        .and_then(|all| all.execute("UPDATE trainings SET rule = 'paths'", []))
        .expect("changed");
    let audit = sandbox.run(&["audit", "federation-run"]);
    assert_eq!(audit.status.code(), Some(1), "{}", text(&audit.stdout));
    assert!(text(&audit.stdout).contains("connects"), "{}", text(&audit.stdout));
}

#[test]
fn what_a_rule_does_not_allow_is_refused() {
    let sandbox = Sandbox::new();
    let mut seen_all = Vec::new();
    for (old, new) in [
        ("rule = \"messages\"", "[selection]\npolicy = \"friends\""),
        ("trainer = \"evidence\"", "trainer = \"mixing\""),
        ("[task]", "[model]\nhidden = [4]\n\n[task]"),
        ("rule = \"messages\"", "rule = \"nothing\""),
    ] {
        // `rule` stands before any table.
        let changed = if new.starts_with("[selection]") {
            format!("{}\n{new}\n", TOWNS.replacen(old, "", 1))
        } else {
            TOWNS.replacen(old, new, 1)
        };
        sandbox.write("federation.toml", &changed);
        let output = sandbox.run(&["check", "federation.toml"]);
        assert_eq!(output.status.code(), Some(3), "{new}");
        seen_all.push(seen(&output));
    }
    insta::assert_snapshot!(seen_all.join("\n\n"));
}
