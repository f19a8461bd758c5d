//! The pages in a real browser, as their readers meet them. Pictures of them are kept to look
//! at, under `target/screenshots`.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    chromium::{Browser, browse},
    client::Server,
    report::{run_hostile, run_many},
    runs::SMALL,
    sandbox_with_run,
};
use crate::*;

/// The address of something of the run in `run`.
pub fn address(server: &Server, path: &str) -> String {
    format!("http://127.0.0.1:{}/run/run/{path}", server.port())
}

pub fn sandbox_with_demo() -> Sandbox {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["demo", "--out", "run"]).status.code(), Some(0));
    sandbox
}

/// Where everybody stands in the drawings.
pub const PLACES: &str = "JSON.stringify([...document.querySelectorAll('svg.nodes')].map((drawing) =>
    [...drawing.querySelectorAll('.node')].map((node) => [node.getAttribute('aria-label'),
        node.querySelector('circle').getAttribute('cx'), node.querySelector('circle').getAttribute('cy')])))";

/// Opens the page of the run and waits until it follows.
fn follow(browser: &mut Browser, server: &Server) {
    browser.open(&address(server, ""));
    browser.wait_for("document.querySelector('#live.now')");
}

#[test]
fn a_finished_run() {
    let sandbox = sandbox_with_demo();
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        follow(browser, &server);
        browser.reads("✓ complete");
        browser.reads("No participant's data reached a competitor.");
        assert_eq!(browser.eval("document.querySelectorAll('svg.nodes').length"), 3);
        browser.has_names();
        browser.pictures("live");
    });
}

/// A run that is killed when it has something to show, and goes on while somebody looks at it.
struct Work<'a> {
    sandbox: &'a Sandbox,
    child: Child,
}

impl<'a> Work<'a> {
    fn begin(sandbox: &'a Sandbox, more: &[&str]) -> Self {
        let child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
            .args(["run", "long.toml", "--out", "run"])
            .args(more)
            .env("FEDCOMPETITORS_CHECKPOINT_SECONDS", "0.05")
            .current_dir(sandbox.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it begins");
        Self { sandbox, child }
    }

    /// Waits until it has kept so many figures.
    fn has_kept(&self, figures: i64) {
        let end = Instant::now() + Duration::from_secs(60);
        let kept = || {
            let database = rusqlite::Connection::open_with_flags(
                self.sandbox.path("run/run.sqlite"),
                rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
            )?;
            database.query_row("SELECT count(*) FROM metrics", [], |row| row.get::<_, i64>(0))
        };
        while kept().unwrap_or(0) < figures {
            assert!(Instant::now() < end, "it keeps nothing");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A federation whose record is small, with so many rounds that take a while each.
fn slow(rounds: usize) -> String {
    SMALL
        .replace("[evaluation]", "[evaluation]\nrepeats = 4")
        .replace("rounds = 12", &format!("rounds = {rounds}"))
        .replace("local-steps = 3", "local-steps = 400")
        .replace("\"scaffold\", \"ce\", \"pooled\"", "")
}

/// A run of so many rounds that was stopped after a few.
fn sandbox_with_interrupted(rounds: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("long.toml", &slow(rounds));
    let work = Work::begin(&sandbox, &[]);
    work.has_kept(8);
    drop(work);
    sandbox
}

#[test]
fn a_run_at_work() {
    // Longer than anybody looks.
    let sandbox = sandbox_with_interrupted(100_000);
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        follow(browser, &server);
        browser.reads("‖ interrupted");
        let (places, loads) = (browser.text(PLACES), browser.loads());
        let work = Work::begin(&sandbox, &["--resume"]);
        browser.wait_for("document.querySelector('.standing').textContent.includes('running')");
        for _ in 0..2 {
            browser.eval("window.curves = document.querySelector('#curves').innerHTML");
            browser.wait_for("document.querySelector('#curves').innerHTML !== curves");
            browser.reads("… running");
        }
        drop(work);
        browser.wait_for("document.querySelector('.standing').textContent.includes('interrupted')");
        assert_eq!(browser.text(PLACES), places, "nobody has moved");
        assert_eq!(browser.loads(), loads, "the page was never loaded anew");
    });
}

#[test]
fn a_run_that_goes_on_to_its_end() {
    let sandbox = sandbox_with_interrupted(60);
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        follow(browser, &server);
        browser.reads("‖ interrupted");
        let (places, loads) = (browser.text(PLACES), browser.loads());
        // Something is opened, something closed, and the reader stands on a third.
        browser.eval("document.querySelector('#graphs details').open = true");
        browser.eval("document.querySelector('#participants details').open = false");
        browser.eval("document.querySelector('#about summary').focus()");
        browser.eval("window.part = document.querySelector('#participants')");
        browser.eval("window.before = part.innerHTML");
        let mut work = Work::begin(&sandbox, &["--resume"]);
        browser.wait_for("document.querySelector('.standing').textContent.includes('complete')");
        browser.wait_for(
            "document.body.innerText.includes(\"No participant's data reached a competitor.\")",
        );
        assert!(work.child.wait().expect("it ends").success());
        assert_eq!(browser.text(PLACES), places, "nobody has moved");
        assert_eq!(browser.loads(), loads, "the page was never loaded anew");
        assert_eq!(browser.eval("document.querySelector('#participants') === part"), true);
        assert_eq!(browser.eval("part.innerHTML !== before"), true);
        assert_eq!(browser.eval("document.querySelector('#graphs details').open"), true);
        assert_eq!(browser.eval("document.querySelector('#participants details').open"), false);
        assert_eq!(browser.eval("document.activeElement.matches('#about summary')"), true);
    });
}

#[test]
fn a_broken_run() {
    let sandbox = sandbox_with_run();
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        follow(browser, &server);
        // While somebody looks at it.
        fs::write(sandbox.path("run/run.sqlite"), "nothing that could be read").expect("written");
        browser.wait_for("document.body.innerText.includes('This record is damaged')");
        follow(browser, &server);
        browser.reads("✕ damaged");
        browser.reads("The participants cannot be read.");
        browser.reads("Figures from\ncannot be read");
        browser.pictures("broken");
    });
}

#[test]
fn hostile_names() {
    let sandbox = Sandbox::new();
    run_hostile(&sandbox);
    fs::create_dir_all(sandbox.path("all/<img src=x onerror=alert(1)>")).expect("a folder");
    fs::copy(
        sandbox.path("run/run.sqlite"),
        sandbox.path("all/<img src=x onerror=alert(1)>/run.sqlite"),
    )
    .expect("copied");
    let image = "\"><img src=x onerror=alert(1)>";
    let server = Server::start(&sandbox, &["run", "--as", image]);
    let list = Server::start(&sandbox, &["all"]);
    let own = server.said.split("/own?token=").nth(1).and_then(|rest| rest.lines().next());
    let own = own.expect("a link").to_owned();
    let newcomer =
        "what-if?new=%3Cscript%3Ealert(3)%3C%2Fscript%3E&new=%3Cimg+src%3Dx+onerror%3Dalert(2)%3E";
    browse(|browser| {
        let port = server.port();
        browser.open(&format!("http://127.0.0.1:{port}/?token={}", server.token()));
        let names = ["<script>alert(1)</script>", image, "evil\\u{202e}exe.\\u{7}"];
        let pages = [
            (address(&server, ""), &names[..]),
            (address(&server, "what-if"), &names),
            (address(&server, "what-if?compete=1-3&why=1-3"), &names),
            (address(&server, newcomer), &["<img src=x onerror=alert(2)>"]),
            (format!("http://127.0.0.1:{port}/own?token={own}"), &names[1..2]),
            (format!("http://127.0.0.1:{}/", list.port()), &["</title><script>alert(1)</script>"]),
        ];
        for (page, names) in pages {
            browser.open(&page);
            names.iter().for_each(|name| browser.reads(name));
            let foreign = "document.querySelectorAll('img, script:not([src$=\"live.js\"])').length";
            assert_eq!(browser.eval(foreign), 0, "{page}");
            assert_eq!(browser.eval("/[\\u202e\\x07]/.test(document.body.innerText)"), false);
            browser.size(400, 1400);
            browser.fits(&page);
            browser.size(1000, 1400);
        }
    });
}

#[test]
fn a_participants_own_page() {
    let sandbox = sandbox_with_demo();
    let server = Server::start(&sandbox, &["run", "--as", "North Clinic"]);
    let link = server.said.split("North Clinic: ").nth(1).and_then(|rest| rest.lines().next());
    browse(|browser| {
        browser.open(link.expect("a link"));
        browser.wait_for("document.querySelector('#live.now')");
        browser.reads("This page is only for you.");
        assert_eq!(browser.text("location.search"), "", "the token has left the address");
        browser.has_names();
        browser.pictures("own");
    });
}

#[test]
fn three_hundred_participants() {
    let sandbox = Sandbox::new();
    run_many(&sandbox, 300);
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        follow(browser, &server);
        assert_eq!(browser.eval("document.querySelectorAll('svg.nodes').length"), 0);
        assert_eq!(browser.eval("document.querySelectorAll('svg.matrix').length"), 3);
        browser.has_names();
        browser.pictures("many");
        let rows =
            "JSON.stringify([...document.querySelectorAll('#graph-benefit .matrix g')].map((row) =>
            [row.querySelector('title').textContent.split(':')[0],
                row.querySelector('path').getAttribute('d').match(/ (\\d+).5h/)[1]]))";
        let places = browser.text(rows);
        browser.open(&address(&server, "what-if?compete=1-13"));
        assert_eq!(browser.text(rows), places, "nobody has moved");
        browser.reads("participants would get the same as now");
        let open = "[...document.querySelectorAll('#effects details, #refusals details')]
            .filter((one) => one.open).map((one) => one.id).join()";
        browser.eval("document.querySelector('#effects details').open = true");
        browser.eval("document.querySelector('#refused-7').open = true");
        browser.reads("There are too many edges for links");
        browser.reads("more: choose two participants above to ask why.");
        browser.eval("document.querySelector('#a').value = 1");
        browser.eval("document.querySelector('#b').value = 13");
        browser.click("#why");
        browser.wait_for("document.querySelector('#answer')");
        browser.reads("because they compete");
        assert_eq!(browser.text(open), ",refused-7", "what is opened stays open");
        browser.eval("history.back()");
        browser.wait_for("!document.querySelector('#answer')");
        assert_eq!(browser.text(open), ",refused-7");
        browser.eval("history.forward()");
        browser.wait_for("document.querySelector('#answer')");
        browser.pictures("many-what-if");
    });
}

#[test]
fn the_report_from_the_disk() {
    let sandbox = sandbox_with_demo();
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(0));
    let page = format!("file://{}", sandbox.path("run/report.html").display());
    browse(|browser| {
        browser.open(&page);
        browser.has_names();
        browser.pictures("report");
        browser.without_scripts();
        browser.open(&page);
        for words in [
            "✓ complete",
            "No participant's data reached a competitor.",
            "+0.087 (+0.038 to +0.141)",
            "may not learn",
        ] {
            browser.reads(words);
        }
        assert_eq!(browser.eval("document.querySelectorAll('svg.nodes .edge').length > 20"), true);
    });
}
