//! The page as a whole: what it says, that nothing breaks out of it, that it is well formed.

use fedcompetitors_record::{
    Curve, Direction, Disclosure, Figure, Flaw, Forecast, IncidentKind, Interval, LedgerLine,
    Method, Metric, Model, Moved, Participant, PlanFigures, PlanStep, Role, Rule, Score, Scores,
    Session, StandardError, Status, Summary, TestedRows,
};

use super::*;
use crate::status::{disclosure_lines, plan_lines};

const HOSTILE: [&str; 4] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "a\u{202e}b\u{7}",
    "O'Hara & Söhne",
];

/// A small run: the first two compete, the third learns from the first.
fn small(names: &[&str]) -> Page {
    Page {
        record: record(names),
        audit: Audited::Done(Audit {
            status: Status::Complete,
            rule: Rule::Paths,
            trainings: 4,
            estimates: 2,
            transfers: 4,
            models: names.len(),
            findings: Vec::new(),
            uncovered: Vec::new(),
            references: Vec::new(),
        }),
        is_at_work: false,
        folder: "small-run".into(),
    }
}

fn record(names: &[&str]) -> Record {
    let participants = names.iter().enumerate().map(|(at, name)| Participant {
        name: (*name).into(),
        source: String::new(),
        samples: 1_000 + at,
        has_few_of_a_class: false,
        competitors: match at {
            0 => vec![names[1].into()],
            1 => vec![names[0].into()],
            _ => Vec::new(),
        },
    });
    let curve = |method: &str, last: f64| Curve {
        method: method.into(),
        participant: 2,
        points: vec![(1, 0.6), (2, last)],
    };
    let mut own = method("optimal+mixing", Role::Own, 0.05, names.len());
    own.refused = vec![Refused {
        helper: 2,
        helped: 1,
        reason: "B may not learn from C (0.2): A and B compete (A says so), and data would flow A → C → (refused) → B".into(),
    }];
    Record {
        summary: Summary {
            name: "small".into(),
            status: Status::Complete,
            metric: Metric { name: "AUC".into(), direction: Direction::Higher },
            federation: "name = \"small\"\n".into(),
            participants: participants.collect(),
            methods: vec![own, method("local", Role::Baseline, 0.0, names.len())],
            sessions: vec![Session::Final, Session::Fold { repeat: 2, fold: 5 }],
            ..Summary::default()
        },
        program: "version 0.1.0".into(),
        competing: vec![(0, 1, 0)],
        reports: vec![(0, 1)],
        benefit: vec![(0, 2, 0.4), (2, 1, 0.2)],
        usage: vec![(0, 2)],
        certificate: "{\n  \"format\": \"fedcompetitors-certificate/1\"\n}\n".into(),
        curves: vec![curve("optimal+mixing", 0.75), curve("local", 0.7)],
        ledger: vec![LedgerLine {
            of: "optimal+mixing".into(),
            is_estimate: false,
            sent: (12_345, 600),
            delivered: (2, 600),
        }],
        incidents: vec![(IncidentKind::Missing, 3, 1)],
        ..Record::default()
    }
}

/// A method by which the third participant is better by `add` and learns from the first.
fn method(name: &str, role: Role, add: f64, count: usize) -> Method {
    let figure =
        |value: f64| Figure::Interval(Interval { value, low: value - 0.02, high: value + 0.03 });
    let score = |at: usize| {
        let more = if at == 2 { add } else { 0.0 };
        Score { value: figure(0.7 + more), gain: figure(more) }
    };
    let mean = Score { value: figure(0.7 + add / count as f64), gain: figure(add / count as f64) };
    let participants = (0..count).map(score).collect();
    let model = |at: usize| Model {
        provenance: if at == 2 { vec![0, 2] } else { vec![at] },
        parts: if at == 2 { vec![(0, 0.25), (2, 0.75)] } else { Vec::new() },
        file: Some(format!("models/{at}")),
        hash: "00ff".into(),
    };
    Method {
        name: name.into(),
        role,
        rule: Rule::Paths,
        is_local: name == "local",
        searches: false,
        policy: String::new(),
        trainer: String::new(),
        estimator: None,
        done: vec![Session::Final, Session::Fold { repeat: 1, fold: 1 }],
        scores: vec![Scores { metric: "AUC".into(), mean, participants }],
        models: (0..count).map(model).collect(),
        disclosures: Vec::new(),
        gradients: 10,
        plans: Vec::new(),
        edges: 1,
        refused: Vec::new(),
        moved: Moved { transfers: 4, bytes: 1_200 },
        flows: Vec::new(),
        incidents: Vec::new(),
        seconds: 0.0,
    }
}

fn add_finding(run: &mut Page, finding: Finding) {
    let Audited::Done(audit) = &mut run.audit else { panic!("it is audited") };
    audit.findings.push(finding);
}

/// The tags of a page, each with all that stands in it.
fn tags(page: &str) -> Vec<&str> {
    let pieces = page.split('<').skip(1);
    pieces.map(|piece| piece.split_once('>').unwrap_or((piece, "")).0).collect()
}

/// Does every element end where it should? The builder nests elements by construction; what is
/// looked for here is text that has become a tag.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let mut open = Vec::new();
    for tag in tags(page) {
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !VOID.contains(&name) {
            open.push(name);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}

/// What somebody reads, without the style.
fn read(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").expect("a style");
    let (_, after) = rest.split_once("</style>").expect("its end");
    let mut text = String::new();
    for piece in format!("{before}{after}").split('<') {
        let (tag, content) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        let is_inside = ["bdi", "span", "code", "small", "strong", "a", "text", "td", "th"];
        if !is_inside.contains(&name) {
            text.push('\n');
        } else if ["td", "th"].contains(&name) {
            text.push(' ');
        }
        text.push_str(content);
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_small_page_reads_well() {
    let page = page(&small(&["A", "B", "C", "D"]));
    assert_well_formed(&page);
    insta::assert_snapshot!(read(&page));
}

/// The small run under the rule `messages`, with methods under `paths` and a reference beside it.
fn under_messages() -> Page {
    let mut run = small(&["A", "B", "C", "D"]);
    let methods = &mut run.record.summary.methods;
    methods[0].rule = Rule::Messages;
    methods[0].name = "friends+evidence".into();
    methods.push(method("optimal+average", Role::Baseline, 0.1, 4));
    methods.push(method("pooled", Role::Reference, 0.2, 4));
    run
}

#[test]
fn methods_that_keep_paths_are_compared_under_messages() {
    let notes = |run: &Page| crate::run::notes(run.summary()).join("\n");
    let mut run = under_messages();
    insta::assert_snapshot!(notes(&run));
    let names = |run: &Page| -> Vec<String> {
        let rows = figures::comparison(run.summary());
        rows.into_iter().map(|row| row[0].clone()).collect()
    };
    assert_eq!(names(&run)[3], "pooled (reference)");
    // In a run under `paths`, a method under `messages` is not among those that keep the rule.
    let methods = &mut run.record.summary.methods;
    methods[0].rule = Rule::Paths;
    (methods[2].rule, methods[2].role) = (Rule::Messages, Role::Reference);
    assert_eq!(names(&run)[2], "optimal+average (rule messages)");
    insta::assert_snapshot!(notes(&run));
}

#[test]
fn a_participants_page_under_messages_lists_only_competitors_that_it_has_named() {
    let mut run = under_messages();
    let refused = |helper, helped| Refused { helper, helped, reason: String::new() };
    run.record.summary.methods[0].refused = vec![refused(1, 0), refused(0, 1)];
    let refusals = |run: &Page, who| {
        let page = own_part(run, who).into_string();
        let (_, section) = page.split_once("<section id=\"refusals\"").expect("a section");
        read(&format!("<style></style><section{section}"))
    };
    // A has named B; B has named nobody.
    insta::assert_snapshot!(refusals(&run, 0));
    insta::assert_snapshot!(refusals(&run, 1));
    run.record.summary.methods[0].rule = Rule::Paths;
    insta::assert_snapshot!(refusals(&run, 1));
}

#[test]
fn what_summaries_reveal_is_said() {
    let mut run = under_messages();
    let summary = &mut run.record.summary;
    summary.features = vec!["age".into(), "ward = \u{202e}west".into()];
    summary.methods[0].disclosures = vec![
        Disclosure::LeftOut { participant: 0, features: vec![1] },
        Disclosure::LeftOut { participant: 1, features: vec![0, 1, 7] },
        Disclosure::Withheld { participant: 2, source: 0 },
        Disclosure::SourcesLeftOut { participant: 2, sources: vec![1, 3], is_empty: true },
        Disclosure::SourcesLeftOut { participant: 0, sources: vec![3], is_empty: false },
        Disclosure::SingleSource { participant: 3, source: 2 },
    ];
    // Those of other methods are not of this run's plan.
    summary.methods[2].disclosures = vec![Disclosure::SingleSource { participant: 0, source: 1 }];
    insta::assert_snapshot!(disclosure_lines(summary).join("\n"));
}

#[test]
fn the_estimate_says_what_the_other_rule_would_give() {
    let lines = |rule, are_rows| {
        let mut run = under_messages();
        let own = &mut run.record.summary.methods[0];
        let forecast = Some(Forecast { received: 41.6, by_other_rule: 97.2, are_rows });
        let (welfare, upper_bound, note) = (1.0, 1.0, None);
        own.rule = rule;
        own.plans = vec![(Session::Final, PlanFigures { welfare, upper_bound, note, forecast })];
        plan_lines(&run.record.summary).join("\n")
    };
    let all = [Rule::Paths, Rule::Messages].map(|rule| [lines(rule, true), lines(rule, false)]);
    insta::assert_snapshot!(all.concat().join("\n"));
}

#[test]
fn a_curve_has_the_colour_of_its_methods_role() {
    let mut run = small(&["A", "B", "C"]);
    let other = &mut run.record.summary.methods[1];
    (other.name, other.is_local) = ("optimal+other".into(), false);
    run.record.curves[1].method = "optimal+other".into();
    let page = page(&run);
    for (class, name) in [("own", "optimal+mixing"), ("other", "optimal+other")] {
        let key = format!("<path class=\"course {class}\" d=\"M1 5H27\"></path></svg> {name}");
        assert!(page.contains(&key), "{key}");
        assert_eq!(page.matches(&format!("course {class}\"")).count(), 2, "the key and one curve");
    }
}

#[test]
fn an_edge_over_which_nothing_was_delivered_looks_different() {
    let mut run = small(&["A", "B", "C"]);
    let model = &mut run.record.summary.methods[0].models[2];
    (model.provenance, model.parts) = (vec![2], Vec::new());
    run.record.related.insert((0, 2), 0.97);
    run.record.benefit[0].2 = 120.4;
    let page = page(&run);
    for words in [
        "0 edges, in the direction of the data",
        "1 in the plan, but nothing was delivered",
        "<g class=\"edge usage refused\" role=\"img\" aria-label=\"in the plan, but nothing of A was delivered to C\">",
        "edges in the plan; over 1 of them nothing was delivered",
        "<td>nobody; in the plan, but nothing was delivered: A</td>",
        "A would help C (worth about 120 rows of its own, related with 97 %), not used",
        "A (worth about 120 rows of its own, related with 97 %)",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("C learns from A"));
}

#[test]
fn the_markdown_page_says_what_data_is_worth() {
    let mut record = record(&["A", "B", "C"]);
    record.benefit = vec![(0, 2, 120.4), (1, 2, 300.0), (2, 1, 0.2)];
    record.related = [((0, 2), 0.97), ((1, 2), 0.8)].into();
    let page = crate::run_markdown(&record);
    let (_, section) = page.split_once("## Who would help whom").expect("a section");
    insta::assert_snapshot!(section.split("\n\n").nth(1).expect("lines"));
}

/// Methods with these means, and a constant prediction.
fn with_means(direction: Direction, means: [f64; 3], constant: f64) -> Summary {
    let scores = |value: f64| {
        let score = |value| Score { value: Figure::Value(value), gain: Figure::Undefined };
        let undefined = Score::default();
        let participants = vec![score(value), score(value), undefined];
        vec![Scores { metric: "AUC".into(), mean: score(value), participants }]
    };
    let names = ["optimal+mixing", "local", "optimal+other"];
    let methods = names.iter().zip(means).map(|(name, value)| {
        let role = if name == &names[0] { Role::Own } else { Role::Baseline };
        Method { scores: scores(value), ..method(name, role, 0.0, 3) }
    });
    let mut summary = small(&["A", "B", "C"]).record.summary;
    let pairs = [("local", "optimal+mixing"), ("optimal+other", "optimal+mixing")];
    let pairs = pairs.into_iter().chain([("optimal+mixing", "constant")]);
    let error = |(a, b): (&str, &str)| StandardError { methods: [a.into(), b.into()], error: 0.01 };
    summary.standard_errors = pairs.map(error).collect();
    summary.metric.direction = direction;
    summary.methods = methods.collect();
    summary.constant = scores(constant);
    summary
}

#[test]
fn ties_and_a_better_constant_prediction_are_named() {
    use Direction::{Higher, Lower};
    let cases = [
        with_means(Higher, [0.8, 0.7, 0.6], 0.5),
        with_means(Higher, [0.7, 0.7, 0.6], 0.5),
        with_means(Higher, [0.7, 0.695, 0.7], 0.692),
        with_means(Lower, [0.7, 0.8, 0.6], 0.5),
        with_means(Lower, [0.7, 0.705, 0.8], 0.7),
    ];
    insta::assert_snapshot!(
        cases.each_ref().map(|summary| crate::run::notes(summary).join("\n")).join("\n\n")
    );
}

#[test]
fn an_evaluation_has_its_true_name() {
    let fold = |repeat, fold| vec![Session::Final, Session::Fold { repeat, fold }];
    let [group, time] = ["patient_id", "year"].map(str::to_owned);
    let text = |rows: &TestedRows, sessions: Vec<Session>| {
        let mut summary = small(&["A", "B", "C"]).record.summary;
        (summary.tested_rows, summary.sessions) = (rows.clone(), sessions);
        figures::legend(&summary)
    };
    let rows = [TestedRows::Single, TestedRows::Groups(group), TestedRows::Later(time)];
    let texts = rows.each_ref().map(|rows| {
        [fold(1, 1), fold(2, 1), fold(1, 5), fold(2, 5)]
            .map(|sessions| text(rows, sessions))
            .join("\n")
    });
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn further_figures_have_a_constant_prediction_and_say_over_whom_means_are() {
    let mut summary = with_means(Direction::Higher, [0.8, 0.7, 0.6], 0.5);
    summary.metric.name = "accuracy".into();
    let rows = [vec!["mean".into()], figures::further_columns(&summary)].concat();
    let rows = [rows, figures::further(&summary).concat()].map(|row| row.join(" | "));
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let run = small(&["A", "B", "C", "D"]);
    assert_eq!(page(&run), page(&run.clone()));
}

#[test]
fn no_name_breaks_out() {
    let mut run = small(&HOSTILE);
    let record = &mut run.record;
    let own = &mut record.summary.methods[0];
    for text in [
        &mut record.summary.name,
        &mut own.refused[0].reason,
        &mut own.name,
        &mut record.summary.metric.name,
        &mut record.summary.federation,
        &mut record.certificate,
        &mut record.program,
        &mut run.folder,
    ] {
        *text = HOSTILE.concat();
    }
    record.problems = vec![HOSTILE.concat()];
    add_finding(
        &mut run,
        Finding::Flaw { training: HOSTILE.concat(), flaw: Flaw::OnlyInFile(HOSTILE.concat()) },
    );
    let page = page(&run);
    assert_well_formed(&page);
    let known = [
        "!DOCTYPE",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "p",
        "h1",
        "h2",
        "h3",
        "span",
        "div",
        "nav",
        "ul",
        "ol",
        "li",
        "main",
        "section",
        "figure",
        "figcaption",
        "svg",
        "g",
        "path",
        "circle",
        "rect",
        "text",
        "details",
        "summary",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "dl",
        "dt",
        "dd",
        "code",
        "pre",
        "br",
        "small",
        "strong",
        "footer",
    ];
    for tag in tags(&page) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        assert!(known.contains(&name), "{tag}");
        // An attribute that acts, or a style that the policy would refuse.
        assert!(
            !tag.split('"').step_by(2).any(|part| part.contains(" on") || part.contains(" style=")),
            "{tag}"
        );
    }
    assert!(!page.contains(['\u{202e}', '\u{7}']));
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn nothing_is_loaded_and_the_policy_knows_the_style() {
    let page = page(&small(&["A", "B", "C", "D"]));
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{page}");
    for word in ["http://", "https://", "url(", "@import", "<script", "<link", "<img", " src="] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn sections_are_there_one_by_one() {
    let run = small(&["A", "B", "C", "D"]);
    let whole = page(&run);
    for section in sections(&run) {
        assert!(section.markup.0.starts_with(&format!("<section id=\"{}\"", section.id)));
        assert!(whole.contains(&section.markup.0), "{}", section.id);
        assert!(whole.contains(&format!("<a href=\"#{}\">", section.id)));
    }
}

#[test]
fn without_local_there_is_no_gain_and_the_page_says_why() {
    let mut run = small(&["A", "B", "C", "D"]);
    run.record.summary.methods.truncate(1);
    let scores = &mut run.record.summary.methods[0].scores[0].participants;
    scores.iter_mut().for_each(|score| score.gain = Figure::Undefined);
    let page = page(&run);
    assert!(page.contains("No gain is shown: the run did not include Local"), "{page}");
    assert!(!page.contains("class=\"gain") && !page.contains("mean gain over Local"), "{page}");
}

#[test]
fn damage_and_findings_come_first() {
    let mut run = small(&["A", "B", "C", "D"]);
    run.record.problems = vec!["page 7 is gone".into()];
    let path = vec!["A".into(), "B".into()];
    add_finding(&mut run, Finding::Breach { training: "one".into(), round: 1, entry: 1, path });
    let text = read(&page(&run));
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("page 7 is gone") < at("BREACH") && at("BREACH") < at("Three graphs"));
    assert!(!text.contains("No participant's data reached a competitor."), "{text}");
}

#[test]
fn a_page_about_nothing_is_a_page() {
    let mut run = small(&["A", "B", "C", "D"]);
    let summary = Summary { name: "small".into(), ..Summary::default() };
    run.record = Record { summary, ..Record::default() };
    run.audit = Audited::Failed;
    assert_well_formed(&page(&run));
}

#[test]
fn without_validation_figures_there_are_no_curves() {
    let mut run = small(&["A", "B", "C"]);
    assert!(page(&run).contains("own validation data"));
    run.record.curves.clear();
    let fitted = page(&run);
    assert!(fitted.contains("There are no curves: models were fitted to all rows"));
    assert!(!fitted.contains("own validation data"));
    run.record.summary.methods[0].done.clear();
    assert!(page(&run).contains("There are no figures yet."));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut run = small(&["A", "B", "C", "D"]);
    run.record.benefit[0].2 = f64::INFINITY;
    run.record.curves[0].points[1].1 = f64::INFINITY;
    run.record.summary.methods[0].scores[0].participants[2].gain = Figure::Value(f64::NEG_INFINITY);
    let page = page(&run);
    assert_well_formed(&page);
    let drawn = page.split(" d=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    drawn.for_each(|path| assert!(!path.contains("inf") && !path.contains("NaN"), "{path}"));
}

/// Names with their coordinates, in each drawing with nodes.
fn places_of_nodes(page: &str) -> Vec<Vec<(&str, &str)>> {
    let drawings = page.split("<svg class=\"nodes\"").skip(1);
    let drawings = drawings.map(|rest| rest.split("</svg>").next().expect("its end"));
    drawings
        .map(|drawing| {
            let nodes = drawing.split("<g class=\"node\"").skip(1);
            nodes
                .map(|node| {
                    let (_, rest) = node.split_once("<title>").expect("a name");
                    let (name, rest) = rest.split_once("</title>").expect("its end");
                    (name, rest.split_once(" r=").expect("a circle").0)
                })
                .collect()
        })
        .collect()
}

#[test]
fn everybody_stands_at_one_place_in_all_drawings_whatever_the_edges() {
    let names = ["A", "B", "C", "D", "E"];
    let mut run = small(&names);
    let before = page(&run);
    run.record.usage = vec![(3, 4), (4, 2), (1, 2)];
    run.record.benefit.push((4, 0, 3.0));
    run.record.competing = vec![(3, 0, 0), (1, 2, 0)];
    let after = page(&run);
    let drawings = [places_of_nodes(&before), places_of_nodes(&after)].concat();
    assert_eq!(drawings.len(), 6);
    assert!(drawings.iter().all(|places| *places == drawings[0]), "{drawings:?}");
    assert!(drawings[0].iter().map(|(name, _)| *name).eq(names));
    let places: std::collections::BTreeSet<_> = drawings[0].iter().map(|(_, at)| at).collect();
    assert_eq!(places.len(), names.len(), "each at a place of its own");
}

#[test]
fn many_are_drawn_as_matrices_in_which_everybody_keeps_its_place() {
    let names: Vec<String> = (0..40).map(|at| format!("v{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = small(&names);
    run.record.benefit =
        (0..40).flat_map(|a| [(a, (a + 1) % 40, 0.1 + a as f64), (a, (a + 2) % 40, 9.0)]).collect();
    run.record.usage = (0..20).map(|a| (a, a + 20)).collect();
    let plan = |usage: &[(usize, usize)]| PlanStep {
        round: 1,
        why: "a reason".into(),
        usage: usage.to_vec(),
    };
    run.record.plans = vec![plan(&run.record.usage)];
    let before = page(&run);
    assert_well_formed(&before);
    assert_eq!(before.matches("viewBox=\"0 0 40 40\"").count(), 3);
    assert!(before.contains("v0 would help v1 (0.1)"));
    // Another plan, the same places.
    run.record.usage = (0..20).map(|a| (a, 39 - a)).collect();
    run.record.plans.push(plan(&run.record.usage));
    let competing = |page: &str| {
        let figure = page.split("id=\"graph-competing\"").nth(1).expect("a drawing");
        figure.split("</figure>").next().expect("its end").to_owned()
    };
    let after = page(&run);
    assert_ne!(before, after);
    assert_eq!(competing(&before), competing(&after));
    // Nobody has a place before there is a plan.
    run.record.certificate.clear();
    let early = page(&run);
    assert_well_formed(&early);
    assert!(!early.contains("viewBox=\"0 0 40 40\"") && early.contains("once there is a plan"));
}
