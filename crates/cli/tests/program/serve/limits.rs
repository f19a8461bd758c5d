//! What is answered and what is not, at the limits; and that answers are those of the command line.

use std::thread;

use super::{client::Server, report::run_many, sandbox_with_run};
use crate::*;

#[test]
fn more_than_can_be_answered_is_refused() {
    let sandbox = Sandbox::new();
    run_many(&sandbox, 500);
    let server = Server::start(&sandbox, &["run"]);
    let ask = |query: &str| server.get(&format!("/run/run/what-if{query}"));
    assert_eq!(ask("").status, 200, "five hundred are not too many");
    let more = ask("?new=One+more");
    assert_eq!(more.status, 400);
    assert!(more.body.contains("limited to 500 participants"), "{}", more.body);
    let changes = |count: usize| {
        (2..count + 2).map(|other| format!("&compete=1-{other}")).collect::<Vec<_>>().concat()
    };
    assert_eq!(ask(&format!("?policy=none{}", changes(100))).status, 200);
    assert_eq!(ask(&format!("?policy=none{}", changes(101))).status, 400);
    // The best plan for so many is not found in the time that there is, so these overlap.
    let answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(|| ask("?policy=optimal"))).collect();
        asked.into_iter().map(|one| one.join().expect("answered")).collect()
    });
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    let answered = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(answered >= 4, "{answered} at a time");
    assert!(!refused.is_empty() && refused.len() + answered == 12, "{answered} answered");
    assert_eq!(refused[0].header("retry-after"), Some("1"));
    assert!(refused[0].body.contains("try again in a moment"));
    assert_eq!(ask("").status, 200, "and it goes on");
}

/// The figures of a page: what each gets, and would get.
fn effects(page: &str) -> Vec<(f64, f64)> {
    let table = page.split("id=\"effects\"").nth(1).expect("a table");
    let table = table.split("</section>").next().expect("its end");
    let cells = |row: &str| -> Vec<f64> {
        let cells = row.split("<td>").skip(1);
        cells
            .map(|cell| cell.split('<').next().and_then(|cell| cell.parse().ok()).unwrap_or(0.0))
            .collect()
    };
    let rows = table.split("<th scope=\"row\">").skip(1).map(cells);
    rows.map(|cells| (cells[0], cells[1])).collect()
}

/// What each gets by a plan of `select`, and all together.
fn selected(sandbox: &Sandbox, competing: &str, policy: &str) -> (Vec<f64>, f64) {
    sandbox.write("competing.csv", competing);
    let arguments = ["select", "--competing", "competing.csv", "--benefit", "benefit.csv"];
    let more = ["--participants", "names.txt", "--policy", policy, "--format", "json"];
    let output = sandbox.run(&[&arguments[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("a plan");
    let gets = |name: &Value| -> f64 {
        let edges = plan["usage"].as_array().expect("edges").iter();
        edges.filter(|edge| edge["to"] == *name).filter_map(|edge| edge["benefit"].as_f64()).sum()
    };
    let names = plan["participants"].as_array().expect("names").iter();
    (names.map(gets).collect(), plan["welfare"].as_f64().expect("a number"))
}

#[test]
fn answers_are_those_of_the_command_line() {
    let sandbox = sandbox_with_run();
    assert_eq!(sandbox.run(&["export", "run", "--to", "out"]).status.code(), Some(0));
    let exported = |name: &str| fs::read_to_string(sandbox.path("out").join(name)).expect("a file");
    sandbox.write("benefit.csv", &exported("benefits.csv"));
    sandbox.write("names.txt", "A\nB\nC/\u{2603} \"quoted\"\nD\n");
    let competing = exported("proof/competing.csv");
    let server = Server::start(&sandbox, &["run"]);
    for policy in ["greedy", "optimal", "coalitions"] {
        let page = server.get(&format!("/run/run/what-if?policy={policy}&compete=1-4")).body;
        let (now, before) = selected(&sandbox, &competing, policy);
        let (then, after) = selected(&sandbox, &format!("{competing}A,D\n"), policy);
        assert_ne!(now, then, "{policy}");
        let figures = effects(&page);
        assert_eq!(figures.len(), 4);
        // Figures on a page have three places.
        let is_same = |shown: f64, exact: f64| (shown - exact).abs() < 0.000_501;
        for (at, (gets, would_get)) in figures.into_iter().enumerate() {
            assert!(is_same(gets, now[at]), "{policy}, {at}: {gets} and {}", now[at]);
            assert!(is_same(would_get, then[at]), "{policy}, {at}: {would_get} and {}", then[at]);
        }
        let welfare = page.split("Welfare ").nth(1).expect("a sentence");
        let shown: Vec<f64> =
            welfare.split(' ').step_by(2).take(2).filter_map(|word| word.parse().ok()).collect();
        assert!(is_same(shown[0], before) && is_same(shown[1], after), "{shown:?}");
    }
}
