//! The documents say what the program does: their commands are run, their output is compared.
//!
//! A `console` block holds commands, each behind `$ `, and their output. In the output `…` stands for
//! anything within a line, and a line of its own `…` for any number of lines. Figures may differ by one
//! in the last digit, as other processors round otherwise. Every command must succeed. A comment
//! `<!-- $ COMMAND -->` is run too: it does what the text tells readers to do by hand. All commands of a
//! document run in one folder of its own, which holds a link to `examples`.
//!
//! `INSTA_UPDATE=always` writes the output into the documents, as it does with snapshots, but for
//! outputs with `…`, which are to be corrected by hand.

use std::{collections::BTreeSet, env, fmt::Write as _, process::Command};

use super::*;

/// Commands in `sh` blocks, which no test runs, and why.
const NOT_RUN: [(&str, &str); 6] = [
    ("./check", "runs this test"),
    ("cargo install --path crates/cli", "builds the program once more"),
    ("pip install ./python", "builds the package once more"),
    ("pip install './python[flower]'", "builds the package once more"),
    (
        "python -m fedcompetitors.flower up examples/flower-hospitals",
        "python/tests/test_flower_local.py deploys the same application",
    ),
    ("fedcompetitors audit flower-hospitals-try/run", "needs the deployment"),
];

/// Documents with blocks that `python/tests/test_documentation.py` runs or compares.
const PYTHON: [&str; 3] = ["README.md", "docs/python.md", "docs/flower.md"];

/// A fenced block, or a hidden command.
#[derive(Debug)]
struct Block {
    /// `console`, `sh`, `toml`, …; `hidden` for a comment with a command.
    kind: String,
    /// Counted from 0; the first line behind the fence.
    first: usize,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    fs::read_to_string(root().join(document)).expect("the document")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_owned()),
            (None, Some(kind)) => {
                open = Some(Block { kind: kind.into(), first: at + 1, lines: Vec::new() });
            }
            (None, None) => {
                let hidden =
                    line.strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->"));
                blocks.extend(hidden.map(|command| Block {
                    kind: "hidden".into(),
                    first: at,
                    lines: vec![format!("$ {command}")],
                }));
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// A command with its expected output, as the lines `first..last` of the document.
#[derive(Debug)]
struct Step {
    command: String,
    output: Vec<String>,
    first: usize,
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, line) in block.lines.iter().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let command = command.replace("cargo run --release -- ", "fedcompetitors ");
            steps.push(Step { command, output: Vec::new(), first: block.first + at + 1 });
        } else {
            let step = steps.last_mut().expect("a console block begins with a command");
            step.output.push(line.clone());
        }
    }
    steps
}

/// Does `line` look as `pattern` says, with `…` for anything?
fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|begin| line.strip_prefix(begin)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Are two texts the same but for one in the last digit of figures?
fn same_but_for_rounding(a: &str, b: &str) -> bool {
    let bare = |word: &str| word.trim_matches([',', ';', '(', ')']).to_owned();
    let figure = |word: &str| word.contains('.').then(|| word.parse::<f64>().ok()).flatten();
    let digits = |word: &str| word.split('.').nth(1).map_or(0.0, |digits| digits.len() as f64);
    let is_close = |(a, b): (&&str, &&str)| {
        let (bare_a, bare_b) = (bare(a), bare(b));
        match (figure(&bare_a), figure(&bare_b)) {
            (Some(x), Some(y)) => (x - y).abs() < 1.5 * 0.1_f64.powf(digits(&bare_a)),
            _ => a == b,
        }
    };
    let (a, b): (Vec<&str>, Vec<&str>) =
        (a.split_whitespace().collect(), b.split_whitespace().collect());
    a.len() == b.len() && a.iter().zip(&b).all(is_close)
}

/// Do `lines` look as `patterns` say?
fn matches(patterns: &[String], lines: &[&str]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, lines)| {
            let is_as_said = line_matches(first, line) || same_but_for_rounding(first, line);
            is_as_said && matches(rest, lines)
        }),
    }
}

/// Runs every command of a document and compares what it prints.
fn check(document: &str) {
    let text = read(document);
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink(root().join("examples"), sandbox.path("examples")).expect("a link");
    let program = Path::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"));
    let folders = env::var("PATH").unwrap_or_default();
    let path = format!("{}:{folders}", program.parent().expect("a folder").display());
    let mut wrong = String::new();
    // From the end of a document to its beginning, as line numbers change behind a correction.
    let mut corrections: Vec<(usize, usize, Vec<String>)> = Vec::new();
    let mut ran = 0;
    for step in blocks(&text)
        .iter()
        .filter(|block| matches!(&*block.kind, "console" | "hidden"))
        .flat_map(steps)
    {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{}", step.command)])
            .current_dir(sandbox.0.path())
            .env("PATH", &path)
            .output()
            .expect("a shell");
        let printed = super::text(&output.stdout);
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        ran += 1;
        let place = format!("{document}:{}: $ {}", step.first, step.command);
        assert!(output.status.success(), "{place}\n{printed}");
        if step.output.is_empty() || matches(&step.output, &lines) {
            continue;
        }
        let _ = writeln!(wrong, "{place}\n{printed}");
        if !step.output.iter().any(|line| line.contains('…')) {
            let lines = lines.iter().map(|&line| line.to_owned()).collect();
            corrections.push((step.first, step.first + step.output.len(), lines));
        }
    }
    assert!(ran > 0, "{document} has no commands");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let mut corrected: Vec<String> = text.lines().map(str::to_owned).collect();
        for (first, last, lines) in corrections.into_iter().rev() {
            corrected.splice(first..last, lines);
        }
        fs::write(root().join(document), corrected.join("\n") + "\n").expect("written");
    } else {
        assert!(wrong.is_empty(), "another output than in the document:\n{wrong}");
    }
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    check("README.md");
}

#[test]
fn the_commands_of_the_guide_do_what_it_says() {
    check("docs/guide.md");
}

#[test]
fn the_commands_of_how_it_works_do_what_it_says() {
    check("docs/how-it-works.md");
}

#[test]
fn the_commands_of_formats_do_what_it_says() {
    check("docs/formats.md");
}

/// A block that no test knows could say anything.
#[test]
fn every_block_of_the_documents_is_run_or_compared() {
    let mut documents = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).expect("the documents").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            documents.push(format!("docs/{name}"));
        }
    }
    assert!(documents.len() > 8, "{documents:?}");
    let checked = ["README.md", "docs/guide.md", "docs/how-it-works.md", "docs/formats.md"];
    let mut listed = BTreeSet::new();
    for document in &documents {
        for block in blocks(&read(document)) {
            let place = format!("{document}:{}", block.first);
            match &*block.kind {
                "console" | "hidden" => assert!(checked.contains(&&**document), "{place}"),
                "sh" => {
                    for line in &block.lines {
                        let is_known = NOT_RUN.iter().any(|(command, _)| command == line);
                        assert!(is_known, "{place}: nothing runs `{line}`: use a console block");
                        listed.insert(line.clone());
                    }
                }
                "python" | "text" if PYTHON.contains(&&**document) => {}
                // Parsed by `crates/files/tests/it/federation.rs` and `python/tests/test_documentation.py`.
                "toml" => assert!(
                    ["docs/federation-file.md", "docs/flower.md"].contains(&&**document),
                    "{place}"
                ),
                "text" if document == "docs/cli.md" => {}
                kind => panic!("{place}: no test knows blocks of the kind `{kind}`"),
            }
        }
    }
    assert!(NOT_RUN.iter().all(|(command, _)| listed.contains(*command)), "{listed:?}");
}

/// `docs/cli.md` is made from the program's own help.
#[test]
fn the_command_line_is_documented_as_it_is() {
    let sandbox = Sandbox::new();
    let help = |command: &[&str]| {
        let output = sandbox.run(&[command, &["--help"]].concat());
        assert!(output.status.success(), "{command:?}");
        let lines = text(&output.stdout);
        lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let mut page = "# The command line\n\n\
        Made from the help of the program by a test (`crates/cli/tests/program/documents.rs`).\n"
        .to_owned();
    let mut section = |depth: &str, command: &[&str]| {
        let name = [&["fedcompetitors"], command].concat().join(" ");
        let help = help(command);
        let _ = write!(page, "\n{depth} {name}\n\n```text\n{}\n```\n", help.trim());
        subcommands(&help)
    };
    for command in section("##", &[]) {
        for inner in section("##", &[&command]) {
            section("###", &[&command, &inner]);
        }
    }
    check_document("docs/cli.md", &page);
}

/// `docs/methods.md` is made from the registries.
#[test]
fn everything_that_can_be_named_is_documented() {
    let listed = Sandbox::new().run(&["list", "--format", "markdown"]);
    let page = format!(
        "# Methods, models and metrics\n\n\
        What a [federation file](federation-file.md) can name. Made by `fedcompetitors list --format markdown`;\n\
        a test compares it.\n\n{}",
        text(&listed.stdout).trim_end()
    ) + "\n";
    check_document("docs/methods.md", &page);
}

/// A document that is made by the program.
fn check_document(document: &str, page: &str) {
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(root().join(document), page).expect("written");
    }
    assert!(read(document) == page, "{document} is old; INSTA_UPDATE=always writes it");
}

/// The names under `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn outputs_are_compared_with_what_may_be_anything() {
    assert!(line_matches("a … c", "a b c") && line_matches("…", "") && line_matches("a", "a"));
    assert!(!line_matches("a …c", "a b d") && !line_matches("a", "ab") && !line_matches("b", "ab"));
    assert!(line_matches("… s; … is", "1.5 s; all is") && !line_matches("…s; …x", "1 s; y"));
    assert!(same_but_for_rounding("0.852 ± 0.006, 3", "0.851  ± 0.006 3"));
    assert!(!same_but_for_rounding("0.852 3", "0.852 4") && !same_but_for_rounding("0.8", "1.0"));
    assert!(!same_but_for_rounding("0.852", "0.854"));
    assert!(!same_but_for_rounding("connected, directly", "connected directly"));
    assert!(
        !same_but_for_rounding("gain 0.1", "loss 0.1") && !same_but_for_rounding("1.0", "1.0 2")
    );
    let patterns = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    assert!(matches(&patterns(&["a", "…", "d"]), &["a", "b", "c", "d"]));
    assert!(matches(&patterns(&["a", "…"]), &["a"]));
    assert!(!matches(&patterns(&["a", "…", "d"]), &["a", "b"]) && !matches(&[], &["a"]));
}
