//! How the program behaves towards terminals, files and signals.

use super::*;

#[test]
fn how_a_call_fails_is_told_and_coded() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    sandbox.write("benefit.csv", "from,to,benefit\nCity,North,-1\n");
    sandbox.write("competing.csv", "a,b\nCity,Nort\n");
    sandbox.write("good.csv", "from,to,benefit\nCity,North,1\n");
    let select =
        |benefit| sandbox.run(&["select", "--competing", "competing.csv", "--benefit", benefit]);
    // A misspelt rival is allowed, but pointed out.
    insta::assert_snapshot!(seen(&select("good.csv")));
    insta::assert_snapshot!(seen(&select("benefit.csv")));
    insta::assert_snapshot!(seen(&select("absent.csv")));
    let output = sandbox.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "good.csv",
        "--out",
        "no/such/plan.json",
    ]);
    insta::assert_snapshot!(seen(&output));
    let output = sandbox.run(&[
        "generate",
        "--participants",
        "4",
        "--competing-density",
        "1.5",
        "--out",
        "x",
    ]);
    insta::assert_snapshot!(seen(&output));
    assert_eq!(sandbox.run(&["selekt"]).status.code(), Some(2));
    // The plan is older than the competing file: somebody in it is unknown to the plan.
    insta::assert_snapshot!(seen(&sandbox.run(&[
        "verify",
        "--competing",
        "competing.csv",
        "--plan",
        "plan.json"
    ])));
}

#[test]
fn hostile_names_cannot_touch_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "benefit.csv",
        "from,to,benefit\n\"\u{1b}]0;pwned\u{7}\",\"<script>\nalert(1)</script>\",1\n",
    );
    sandbox.write("competing.csv", "a,b\n\"\u{1b}]0;pwned\u{7}\",\"\u{202e}evil\"\n");
    let output = sandbox.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "benefit.csv",
        "--refusals",
    ]);
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0));
    assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{printed:?}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    sandbox.run(&["generate", "--participants", "300", "--out", "."]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(sandbox.0.path())
        .args([
            "select",
            "--competing",
            "competing.csv",
            "--benefit",
            "benefit.csv",
            "--format",
            "json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

/// The verdict is the exit status, whatever becomes of the words.
#[cfg(unix)]
#[test]
fn a_finding_is_told_even_if_nobody_listens() {
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    sandbox.plan();
    sandbox.plan_with_a_leak("edited.json", LEAK_WITHOUT_BENEFIT);
    let verify = || {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"));
        let competing = hospitals("competing.csv");
        command.current_dir(sandbox.0.path());
        command.args(["verify", "--competing", &competing, "--plan", "edited.json"]);
        command
    };
    let mut child =
        verify().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let full = || fs::File::options().write(true).open("/dev/full");
    if let Ok(full) = full() {
        let status = verify().stdout(Stdio::null()).stderr(full).status().expect("it ends");
        assert_eq!(status.code(), Some(1));
    }
    if let Ok(full) = full() {
        let status = verify().stdout(full).stderr(Stdio::null()).status().expect("it ends");
        assert_eq!(status.code(), Some(4));
    }
}

#[test]
fn what_was_read_is_not_written_over() {
    let sandbox = Sandbox::new();
    sandbox.plan();
    sandbox.write("competing.csv", "a,b\n");
    sandbox.write("benefit.csv", "from,to,benefit\nCity,North,1\n");
    let output = sandbox.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "benefit.csv",
        "--out",
        "./benefit.csv",
    ]);
    insta::assert_snapshot!(seen(&output));
    assert_eq!(sandbox.verify("plan.json", &["--certificate", "plan.json"]).status.code(), Some(2));
    assert!(
        fs::read_to_string(sandbox.path("benefit.csv")).expect("still there").starts_with("from")
    );
}

#[cfg(unix)]
#[test]
fn links_stay_and_permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.write("real.json", "old");
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(sandbox.path("real.json"), mode(0o600)).expect("ours");
    std::os::unix::fs::symlink("real.json", sandbox.path("plan.json")).expect("a link");
    sandbox.plan();
    assert!(sandbox.path("plan.json").is_symlink());
    let real = fs::metadata(sandbox.path("real.json")).expect("there");
    assert_eq!(real.permissions().mode() & 0o777, 0o600);
    assert!(real.len() > 3, "the target was written");
}

/// Told to end while it writes, the program leaves nothing behind.
#[cfg(unix)]
#[test]
fn an_interrupted_write_leaves_no_traces() {
    use std::{
        io::Read,
        process::{Command, Stdio},
        time::Duration,
    };
    let sandbox = Sandbox::new();
    sandbox.run(&["generate", "--participants", "700", "--out", "in"]);
    fs::create_dir(sandbox.path("out")).expect("a folder");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(sandbox.0.path())
        .args(["select", "--competing", "in/competing.csv", "--benefit", "in/benefit.csv"])
        .args(["--out", "out/plan.json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    // The reasons of so many refusals take a while; the file is begun before.
    let begun = || fs::read_dir(sandbox.path("out")).expect("a folder").count() > 0;
    while !begun() && child.try_wait().expect("ours").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success() || child.try_wait().expect("ours").is_some());
    let mut output = Vec::new();
    child.stdout.take().expect("piped").read_to_end(&mut output).expect("read");
    let code = child.wait().expect("it ends").code();
    let left: Vec<_> = fs::read_dir(sandbox.path("out"))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    // On a very fast machine it may have been done.
    if code == Some(0) {
        assert_eq!(left, ["plan.json"]);
    } else {
        assert_eq!((code, left.len()), (Some(130), 0), "{left:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = sandbox.run(&["completions", shell]);
        assert!(text(&output.stdout).contains("explain"), "{shell}");
    }
    let page = text(&sandbox.run(&["manual"]).stdout);
    assert!(page.contains(".TH fedcompetitors 1") && page.contains("Exit status"), "{page}");
    assert_eq!(sandbox.run(&["manual", "--out", "man"]).status.code(), Some(0));
    let select = fs::read_to_string(sandbox.path("man/fedcompetitors-select.1")).expect("written");
    assert!(select.contains("\\-\\-competing"));
    assert!(sandbox.path("man/fedcompetitors-data-fetch.1").exists());
}

#[test]
fn help_is_as_written() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(text(&sandbox.run(&["--help"]).stdout));
    insta::assert_snapshot!(text(&sandbox.run(&["select", "--help"]).stdout));
}
