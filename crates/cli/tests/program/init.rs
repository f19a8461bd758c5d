//! `init` and `check`: federation files for the data of users.

use std::fmt::Write as _;

use super::*;

/// One mistyped number does not cost a column, and is pointed to.
#[test]
fn init_points_to_what_is_no_number() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("towns")).expect("a folder");
    let rows = |name: &str| {
        let row = |at: usize| match (name, at) {
            ("Davos", 5) => "sixty,1\n".to_owned(),
            _ => format!("{},{}\n", 30 + at, at % 2),
        };
        (0..40).fold("age,ill\n".to_owned(), |text, at| text + &row(at))
    };
    sandbox.write("towns/Chur.csv", &rows("Chur"));
    sandbox.write("towns/Davos.csv", &rows("Davos"));
    let output = sandbox.run(&["init", "towns"]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stderr);
    assert!(
        told.contains("Davos.csv, line 7: `sixty` in the column \"age\" is not a number"),
        "{told}"
    );
    let written = fs::read_to_string(sandbox.path("towns/federation.toml")).expect("written");
    assert!(!written.contains("ignore"), "{written}");
    assert!(written.contains("features = [\"age\"]"), "{written}");
    let check = sandbox.run(&["check", "towns/federation.toml"]);
    assert_eq!(check.status.code(), Some(3), "{}", text(&check.stdout));
    let file = sandbox.run(&["init", "towns/Chur.csv"]);
    assert!(text(&file.stderr).contains("is a file"), "{}", text(&file.stderr));
}

/// From a folder of files to a run, as a newcomer would.
#[test]
fn init_check_run() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for (name, shift) in [("east", 0), ("west", 1), ("north", 2)] {
        let mut table = String::from("age,ward,dose,ill\n");
        for row in 0..60_u32 {
            let (age, dose) = (20 + (row * 7 + shift) % 60, f64::from(row % 9) / 2.0);
            let ward = ["a", "b", "c"][(row % 3) as usize];
            let ill = if (age + row) % 3 == 0 { "yes" } else { "no" };
            let dose = if row % 10 == 0 { "?".to_owned() } else { dose.to_string() };
            let _ = writeln!(table, "{age},{ward},{dose},{ill}");
        }
        sandbox.write(&format!("city/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "city"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    insta::assert_snapshot!("init", written);
    assert_eq!(sandbox.run(&["init", "city"]).status.code(), Some(2), "it is not written over");
    let told = [seen(&output), seen(&sandbox.run(&["check", "city/federation.toml"]))];
    insta::assert_snapshot!("init_leaves_categories_to_people", told.join("\n\n"));
    let output = sandbox.run(&["init", "city", "--with-categories", "--force"]);
    let with = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    assert!(with.contains("ward = [\"a\", \"b\", \"c\"]"), "{with}");
    assert!(text(&output.stderr).contains("lists the categories of ward"));
    insta::assert_snapshot!("check", seen(&sandbox.run(&["check", "city/federation.toml"])));
    let run = sandbox.run(&["run", "city/federation.toml", "--repeats", "1", "--rounds", "2"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(sandbox.path("city-run/report.md").is_file());
    // What is wrong with data is told with file, line and participant.
    let good = fs::read_to_string(sandbox.path("city/west.csv")).expect("written");
    sandbox.write("city/west.csv", &good[..good.len() - 4]);
    let cut = sandbox.run(&["check", "city/federation.toml"]);
    sandbox.write("city/west.csv", &good.replace("age,ward", "age,Ward"));
    let renamed = sandbox.run(&["check", "city/federation.toml"]);
    sandbox.write("city/west.csv", &good.replace("22,", "twenty-two,"));
    let no_number = sandbox.run(&["check", "city/federation.toml"]);
    fs::remove_file(sandbox.path("city/west.csv")).expect("removed");
    let lost = sandbox.run(&["check", "city/federation.toml"]);
    let seen: Vec<String> = [cut, renamed, no_number, lost].iter().map(seen).collect();
    insta::assert_snapshot!("wrong_data", seen.join("\n\n"));
}

/// What is chosen by name is written, and refused where it does not go together.
#[test]
fn init_writes_what_is_chosen() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for name in ["east", "west"] {
        let rows = (0..40).map(|row| format!("{},{}\n", row * 7 % 30, row / 3 % 2));
        sandbox
            .write(&format!("city/{name}.csv"), &format!("age,ill\n{}", rows.collect::<String>()));
    }
    let init = |choices: &[&str]| {
        let output = sandbox.run(&[&["init", "city", "--force"], choices].concat());
        let written = fs::read_to_string(sandbox.path("city/federation.toml"));
        (output, written.unwrap_or_default())
    };
    let (estimator, policy) = (["--estimator", "mixture"], ["--policy", "greedy"]);
    let (trainer, metric) = (["--trainer", "mixing"], ["--metric", "brier"]);
    let (output, written) = init(&[estimator, policy, trainer, metric].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for lines in [
        "metric = \"brier\"\n",
        "[benefit]\nestimator = \"mixture\"\n",
        "[selection]\npolicy = \"greedy\"\n",
        "[training]\ntrainer = \"mixing\"\n",
    ] {
        assert!(written.contains(lines), "{lines}{written}");
    }
    let check = sandbox.run(&["check", "city/federation.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    let networks = init(&["--trainer", "trunks", "--estimator", "trunks"]).1;
    assert!(networks.contains("hidden = [32, 16]"), "{networks}");
    let refused = [
        &["--metric", "mse"][..],
        &["--policy", "friends"],
        &["--trainer", "evidence", "--estimator", "trunks"],
        &["--trainer", "mixin"],
    ];
    let told: Vec<String> = refused.iter().map(|choices| seen(&init(choices).0)).collect();
    insta::assert_snapshot!(told.join("\n\n"));
    assert_eq!(init(&["--metric", "mse"]).1, networks, "nothing was written");
}

/// A table as institutions have them: a number and a name for each row, dates, amounts, notes.
fn real_table(rows: u32, first: u32) -> String {
    let mut table = String::from("visit_id,who,seen,cost,note,age,grade,died\n");
    for row in first..first + rows {
        let cost = f64::from(row % 40) / 4.0;
        let _ = writeln!(
            table,
            "{},P{row},{}.{}.2024,{:.2},\"word {}, more\",{},{},{}",
            1_000_000_007_u64 * u64::from(row % 97 + 1),
            row % 28 + 1,
            row % 12 + 1,
            cost.exp(),
            row % 30,
            20 + row * 13 % 60,
            ["low", "high"][(row % 2) as usize],
            row % 3 / 2
        );
    }
    table
}

/// What cannot be learned from is left out, with the reason, and money comes as logarithms.
#[test]
fn init_looks_at_what_columns_hold() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("real")).expect("a folder");
    sandbox.write("real/a.csv", &real_table(60, 0));
    // The same columns in another order, and one that only this file has.
    let mut turned = String::new();
    for (at, line) in real_table(60, 60).lines().enumerate() {
        let (rest, died) = line.rsplit_once(',').expect("columns");
        let ward = if at == 0 { "ward" } else { "7" };
        let _ = writeln!(turned, "{died},{ward},{rest}");
    }
    sandbox.write("real/b.csv", &turned);
    let output = sandbox.run(&["init", "real", "--target", "died"]);
    let written = fs::read_to_string(sandbox.path("real/federation.toml")).expect("written");
    insta::assert_snapshot!("init_real", format!("{}\n\n{written}", seen(&output)));
    // `check` asks about what it would learn, listed or not.
    let by_hand = written.split("[data]").next().expect("a head").to_owned()
        + "[data]\nignore = [\"who\", \"seen\", \"note\", \"grade\"]\n"
        + &written[written.find("\n[[participants]]").expect("participants")..];
    sandbox.write("real/by-hand.toml", &by_hand);
    sandbox.write("real/b.csv", &real_table(60, 60));
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(
        check.contains(
            "  a: the column `visit_id` is learned and looks like an identifier: add it to"
        ),
        "{check}"
    );
    let pinned = by_hand.replace(
        "ignore = [\"who\", \"seen\", \"note\", \"grade\"]",
        "features = [\"visit_id\", \"age\"]",
    );
    sandbox.write("real/by-hand.toml", &pinned);
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(
        check.contains("  b: the column `visit_id` is learned and looks like an identifier"),
        "{check}"
    );
    sandbox.write("real/by-hand.toml", &pinned.replace("\"visit_id\", ", ""));
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(!check.contains("looks like"), "{check}");
}

/// Profits and losses have long tails on both sides: their ranks are proposed, and of amounts without losses the
/// logarithms. The federation runs as it is written.
#[test]
fn init_proposes_ranks_where_logarithms_do_not_help() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("firms")).expect("a folder");
    for (name, first) in [("a", 1), ("b", 2)] {
        let mut table = String::from("profit,cost,age,failed\n");
        for row in 0..80 {
            let place = f64::from((row * 37 + first) % 80);
            let far = (-2.0 * ((place % 40.0 + 0.5) / 40.0).ln()).exp();
            let profit = if place < 40.0 { far - 1.0 } else { 1.0 - far };
            let cost = f64::from((row * 13 + first) % 40) / 4.0;
            let _ = writeln!(table, "{profit:.3},{:.2},{},{}", cost.exp(), 20 + row % 50, row % 2);
        }
        sandbox.write(&format!("firms/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "firms"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = fs::read_to_string(sandbox.path("firms/federation.toml")).expect("written");
    let lines: Vec<&str> = written.lines().collect();
    assert!(
        lines.contains(&"log = [\"cost\"]") && lines.contains(&"rank = [\"profit\"]"),
        "{written}"
    );
    let run = sandbox.run(&["run", "firms/federation.toml", "--repeats", "1"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn init_keeps_the_rows_of_a_patient_together() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for (name, each) in [("a", 3), ("b", 4), ("c", 1)] {
        let mut table = String::from("pid,admit_ts,age,ill\n");
        for row in 0..60 {
            let (patient, age) = (9000 + row / each * 7, 40 + row * 7 % 40);
            let time = 1_658_900_760 + row * 7919 % 999_983;
            let _ = writeln!(table, "{patient},{time},{age}.5,{}", row % 2);
        }
        sandbox.write(&format!("city/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "city"]);
    let written = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    insta::assert_snapshot!(format!("{}\n\n{written}", seen(&output)));
    let learned = written.replace("features = [", "features = [\"pid\", ");
    let learned = learned.replace("    \"pid\",\n", "");
    sandbox.write("city/learned.toml", &learned.replace("groups = ", "# groups = "));
    let check = seen(&sandbox.run(&["check", "city/learned.toml"]));
    assert!(check.contains("With `groups = \"pid\"` in `[evaluation]`"), "{check}");
    assert_eq!(sandbox.run(&["check", "city/federation.toml"]).status.code(), Some(0));
}

/// Everybody reads the federation file: what one participant alone has changes nothing in it.
#[test]
fn init_copies_nothing_of_a_single_participant() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    let table = |rows: u32, wards: [&str; 2]| {
        (0..rows).fold("age,ward,ill\n".to_owned(), |text, row| {
            let ward = wards[(row % 2) as usize];
            text + &format!("{},{ward},{}\n", 20 + row * 7 % 50, row / 3 % 2)
        })
    };
    let mut written = Vec::new();
    for (rows, wards) in [(60, ["x", "y"]), (47, ["x", "rare disease"])] {
        sandbox.write("city/a.csv", &table(rows, wards));
        sandbox.write("city/b.csv", &table(50, ["x", "y"]));
        let output = sandbox.run(&["init", "city", "--force"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        written.push(fs::read_to_string(sandbox.path("city/federation.toml")).expect("written"));
    }
    assert_eq!(written[0], written[1]);
}

/// One file for all, and a column that says whose a row is.
#[test]
fn init_makes_participants_of_a_column() {
    let sandbox = Sandbox::new();
    let mut table = String::from("age,clinic,ward,ill\n");
    for row in 0..90 {
        let clinic = ["North", "St \"\"M\"\"", "10.0", ""][row % 10 % 4];
        let ward = ["a", "b"][row / 4 % 2];
        let _ = writeln!(table, "{},\"{clinic}\",{ward},{}", 20 + row * 7 % 50, row / 5 % 2);
    }
    sandbox.write("all.csv", &table);
    let output = sandbox.run(&["init", "all.csv", "--by", "clinic"]);
    let written = fs::read_to_string(sandbox.path("federation.toml")).expect("written");
    insta::assert_snapshot!("init_by", format!("{}\n\n{written}", seen(&output)));
    let check = sandbox.run(&["check", "federation.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    // Every row with a clinic is somebody's.
    let rows: u32 = text(&check.stdout)
        .lines()
        .filter_map(|line| {
            line.split("all.csv").nth(1)?.split_whitespace().next()?.parse::<u32>().ok()
        })
        .sum();
    assert_eq!(rows, 72, "{}", text(&check.stdout));
    let mistakes: [&[&str]; 6] = [
        &["init", "all.csv", "--by", "clinics", "--force"],
        &["init", ".", "--by", "clinic", "--force"],
        &["init", "all.csv", "--force"],
        &["init", "all.csv", "--by", "clinic", "--target", "clinic", "--force"],
        &["init", "none.csv", "--by", "clinic", "--force"],
        &["init", "empty.csv", "--by", "clinic", "--force"],
    ];
    sandbox.write("empty.csv", "age,clinic,ill\n1,,0\n");
    let told: Vec<String> =
        mistakes.iter().map(|arguments| seen(&sandbox.run(arguments))).collect();
    insta::assert_snapshot!("init_by_mistakes", told.join("\n\n"));
}
