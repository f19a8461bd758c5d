//! The pages that `serve` shows, asked for over its socket as a browser would, and as one would
//! who means no good.

mod browser;
mod chromium;
mod client;
mod limits;
mod questions;

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use client::{Answer, Server};

use super::{
    report::{self, tamper},
    runs::{self, SMALL, run_small},
    *,
};

/// A sandbox with a small run that is complete.
pub fn sandbox_with_run() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    sandbox
}

/// Every file below a folder, with its bytes.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            all.extend(bytes_of(&entry.path()));
        } else {
            all.insert(entry.path(), fs::read(entry.path()).expect("a file"));
        }
    }
    all
}

fn assert_guarded(answer: &Answer) {
    let policy = answer.header("content-security-policy").expect("a policy");
    for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn a_finished_run_is_shown_and_not_touched() {
    let sandbox = sandbox_with_run();
    let before = bytes_of(&sandbox.path("run"));
    let server = Server::start(&sandbox, &["run"]);
    let first = server.get("/");
    assert_eq!((first.status, first.header("location")), (303, Some("/run/run/")));
    let page = server.get("/run/run/");
    assert_eq!(page.status, 200);
    assert_guarded(&page);
    for words in [
        "✓ complete",
        "No participant's data reached a competitor.",
        "id=\"proof\"",
        "data-version=",
    ] {
        assert!(page.body.contains(words), "{words}");
    }
    assert!(
        !page.body.contains("<style")
            && !page.body.contains(" style=")
            && !page.body.contains("onclick")
    );
    for (path, kind, begin) in [
        ("/style.css", "text/css; charset=utf-8", "/* Colours"),
        ("/live.js", "text/javascript; charset=utf-8", "// Keeps"),
        ("/icon.svg", "image/svg+xml", "<svg"),
        ("/run/run/plan.json", "application/json", "{"),
        ("/run/run/certificate.json", "application/json", "{"),
        ("/run/run/metrics.csv", "text/csv; charset=utf-8", "run,method,session,participant,"),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        assert!(answer.body.starts_with(begin), "{path}: {}", &answer.body[..20]);
        assert_guarded(&answer);
    }
    assert_eq!(sandbox.run(&["export", "run", "--to", "out"]).status.code(), Some(0));
    let exported = |name: &str| fs::read_to_string(sandbox.path("out").join(name)).expect("a file");
    assert_eq!(server.get("/run/run/plan.json").body, exported("proof/plan.json"));
    assert_eq!(server.get("/run/run/certificate.json").body, exported("proof/certificate.json"));
    assert_eq!(server.get("/run/run/metrics.csv").body, exported("metrics.csv"));
    assert!(bytes_of(&sandbox.path("run")) == before, "serving changes nothing");
}

#[test]
fn what_was_not_offered_is_not_answered() {
    let sandbox = sandbox_with_run();
    sandbox.write("secret.txt", "not for you");
    let server = Server::start(&sandbox, &["run"]);
    for path in [
        "/run/other/",
        "/run/..%2frun/",
        "/run/..%2f..%2fetc/",
        "/run/%2e%2e/",
        "/run/../secret.txt",
        "/run/run/..%2f..%2fsecret.txt",
        "/run/run/run.sqlite",
        "/run/run%00/",
        "/run/%ff/",
        "/secret.txt",
        "//secret.txt",
    ] {
        let answer = server.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("not for you"), "{path}");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1", ""] {
        let answer = server.ask("GET", "/run/run/", &[("Host", host)]);
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains("complete"));
    }
    let port = server.port();
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{host}:{port}");
        assert_eq!(server.ask("GET", "/run/run/", &[("Host", &host)]).status, 200, "{host}");
    }
    assert_eq!(server.ask("POST", "/run/run/", &[]).status, 405);
    assert_eq!(server.ask("DELETE", "/run/run/", &[]).status, 405);
    assert_eq!(server.ask("GET", "/run/run/", &[("Content-Length", "5000000")]).status, 413);
    let long = format!("/run/run/?{}", "a".repeat(9_000));
    assert_eq!(server.get(&long).status, 414);
    let longer = format!("/run/run/?{}", "a".repeat(100_000));
    assert!(matches!(server.get(&longer).status, 414 | 431), "even the head is too long");
    assert_eq!(server.get("/run/run/").status, 200, "and it goes on");
}

#[cfg(unix)]
#[test]
fn a_folder_of_runs_is_listed_and_links_out_of_it_are_not() {
    let sandbox = sandbox_with_run();
    fs::create_dir_all(sandbox.path("all/a <b>&c")).expect("a folder");
    fs::create_dir_all(sandbox.path("all/broken")).expect("a folder");
    fs::create_dir_all(sandbox.path("all/nothing")).expect("a folder");
    fs::create_dir_all(sandbox.path("all/linked")).expect("a folder");
    fs::copy(sandbox.path("run/run.sqlite"), sandbox.path("all/a <b>&c/run.sqlite"))
        .expect("copied");
    fs::write(sandbox.path("all/broken/run.sqlite"), "not a database at all").expect("written");
    std::os::unix::fs::symlink(sandbox.path("run"), sandbox.path("all/out")).expect("a link");
    std::os::unix::fs::symlink(
        sandbox.path("run/run.sqlite"),
        sandbox.path("all/linked/run.sqlite"),
    )
    .expect("a link");
    let server = Server::start(&sandbox, &["all"]);
    let list = server.get("/");
    assert_eq!(list.status, 200);
    assert!(
        list.body.contains("2 runs") && list.body.contains("a &lt;b&gt;&amp;c"),
        "{}",
        list.body
    );
    assert!(list.body.contains("href=\"run/a%20%3Cb%3E%26c/\"") && list.body.contains("damaged"));
    for gone in ["nothing", "out", "linked", ".."] {
        assert_eq!(server.get(&format!("/run/{gone}/")).status, 404, "{gone}");
    }
    assert_eq!(server.get("/run/a%20%3Cb%3E%26c/").status, 200);
    let broken = server.get("/run/broken/");
    assert_eq!(broken.status, 200);
    assert!(broken.body.contains("✕ damaged") && broken.body.contains("This record is damaged"));
    assert_eq!(server.get("/run/broken/plan.json").status, 500);
}

#[test]
fn beyond_this_machine_everything_needs_the_link() {
    let sandbox = sandbox_with_run();
    let server = Server::start(&sandbox, &["run", "--listen", "0.0.0.0:0"]);
    assert!(server.said.contains("nothing is encrypted"), "{}", server.said);
    let token = server.token();
    for path in
        ["/", "/run/run/", "/run/run/events", "/run/run/plan.json", "/style.css", "/nowhere"]
    {
        assert_eq!(server.get(path).status, 401, "{path}");
        let wrong = format!("{path}?token={}", "0".repeat(64));
        assert_eq!(server.get(&wrong).status, 403, "{path}");
        assert_eq!(server.get(&format!("{path}?token=")).status, 403, "{path}");
    }
    let entry = server.get(&format!("//evil.example/?a=b+c&token={token}"));
    assert_eq!((entry.status, entry.header("location")), (303, Some("/evil.example/?a=b+c")));
    assert_guarded(&entry);
    let cookie = entry.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair");
    let page = server.ask("GET", "/run/run/", &[("Cookie", cookie)]);
    assert_eq!(page.status, 200);
    assert!(!page.body.contains(token), "no page repeats it");
    let name = cookie.split('=').next().expect("a name");
    for cookie in [format!("{name}=nonsense"), format!("other={token}"), name.to_owned()] {
        assert_eq!(server.ask("GET", "/run/run/", &[("Cookie", &cookie)]).status, 401, "{cookie}");
    }
}

#[test]
fn links_stay_the_same_for_a_secret_and_else_do_not() {
    let sandbox = sandbox_with_run();
    sandbox.write("secret", "sixteen bytes at least");
    sandbox.write("short", "too short");
    let link = |arguments: &[&str]| Server::start(&sandbox, arguments).token().to_owned();
    let beyond = ["run", "--listen", "0.0.0.0:0"];
    let with = [&beyond[..], &["--secret", "secret"]].concat();
    assert_eq!(link(&with), link(&with));
    assert_ne!(link(&beyond), link(&beyond));
    let output = sandbox.run(&["serve", "run", "--secret", "short"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("too short"));
}

#[test]
fn what_cannot_be_served_is_told() {
    let sandbox = sandbox_with_run();
    fs::create_dir(sandbox.path("empty")).expect("a folder");
    for folder in ["nowhere", "empty"] {
        assert_eq!(sandbox.run(&["serve", folder]).status.code(), Some(2), "{folder}");
    }
    let server = Server::start(&sandbox, &["run"]);
    let taken = sandbox.run(&["serve", "run", "--listen", &format!("127.0.0.1:{}", server.port())]);
    assert_eq!(taken.status.code(), Some(4), "{}", seen(&taken));
    assert!(text(&taken.stderr).contains("cannot listen on"));
    assert_eq!(sandbox.run(&["serve", "run", "--listen", "nonsense"]).status.code(), Some(2));
}

#[test]
fn a_run_on_its_way_is_followed() {
    let sandbox = sandbox_with_run();
    // As if the first training were on its way, and its run at work.
    tamper(
        &sandbox,
        "UPDATE run SET value = 'running' WHERE key = 'status';
         UPDATE trainings SET gradients = NULL, hash = NULL WHERE id = 1;
         DELETE FROM models WHERE training = 1; DELETE FROM trainings WHERE id > 1;",
    );
    let lock = fs::File::create(sandbox.path("run/run.lock")).expect("a lock");
    lock.lock().expect("locked");
    let server = Server::start(&sandbox, &["run"]);
    let page = server.get("/run/run/");
    assert!(
        page.body.contains("… running")
            && page.body.contains("The audit follows when it has ended")
    );
    let version = page.body.split("data-version=\"").nth(1).expect("a version");
    let version = &version[..version.find('"').expect("its end")];
    let mut events = server.follow(&format!("/run/run/events?since={version}"));
    assert_eq!(events.next(Duration::from_millis(700)), None, "nothing is new");
    tamper(&sandbox, "UPDATE metrics SET value = value + 0.1 WHERE split = 'validation';");
    let event = events.next(Duration::from_secs(20)).expect("an event");
    assert!(
        event.contains("event: part") && event.contains("data: <section id=\"curves\""),
        "{event}"
    );
    // Whoever comes without a state gets all of it.
    let mut fresh = server.follow("/run/run/events");
    let first = fresh.next(Duration::from_secs(20)).expect("an event");
    assert!(first.contains("data: <header id=\"top\""), "{first}");
    drop(lock);
    loop {
        let event = events.next(Duration::from_secs(20)).expect("an event");
        if event.contains("‖ interrupted") {
            break;
        }
    }
}

#[test]
fn names_stay_names() {
    let sandbox = sandbox_with_run();
    tamper(
        &sandbox,
        "UPDATE participants SET name = '<script>alert(1)</script>' WHERE id = 0;
         UPDATE participants SET name = '\"><img src=x onerror=alert(2)>' WHERE id = 1;
         UPDATE run SET value = '</title><script>alert(3)</script>' WHERE key = 'name';",
    );
    let server = Server::start(&sandbox, &["run"]);
    let page = server.get("/run/run/");
    assert!(page.body.contains("&lt;script&gt;alert(1)"), "{}", page.body);
    assert!(!page.body.contains("<script>") && !page.body.contains("<img"));
    let event = server.follow("/run/run/events").next(Duration::from_secs(20)).expect("an event");
    assert!(!event.contains("<script>") && !event.contains("<img"));
}

#[test]
fn questions_are_answered_by_their_address_alone() {
    let sandbox = sandbox_with_run();
    let before = bytes_of(&sandbox.path("run"));
    let server = Server::start(&sandbox, &["run"]);
    let ask = |query: &str| server.get(&format!("/run/run/what-if{query}"));
    let plain = ask("");
    assert_eq!(plain.status, 200);
    assert_guarded(&plain);
    assert!(
        plain.body.contains("Nothing: this is the federation as it is.")
            && plain.body.contains("name=\"do\" value=\"compete\"")
    );
    assert!(plain.body.contains("data-swap><g class=\"edge"), "edges lead to their reasons");
    assert!(plain.body.contains("<option value=\"optimal\" selected>"), "the run's own policy");
    // A button leads to the address of the changed question.
    let pressed = ask("?policy=optimal&objective=welfare&a=1&b=2&value=0.1&name=&do=compete");
    let address = pressed.header("location").expect("an address").to_owned();
    assert_eq!(
        (pressed.status, &*address),
        (303, "what-if?policy=optimal&objective=welfare&compete=1-2")
    );
    let changed = ask(&address["what-if".len()..]);
    assert_eq!(changed.status, 200);
    for words in [
        " compete. ",
        "Welfare ",
        "undo",
        "The search for each plan took at most 0.5",
        "No plan has a larger welfare",
        "value=\"1-2\"",
    ] {
        assert!(changed.body.contains(words), "{words}: {}", changed.body);
    }
    // Every other button.
    for (query, then) in [
        ("a=2&b=1&do=apart&compete=1-2", "apart=1-2"),
        ("a=2&b=1&do=help&value=0.25", "help=2-1%3A0.25"),
        ("a=2&b=1&do=leave", "without=2"),
        ("a=2&b=1&do=why", "why=2-1"),
        ("a=2&b=1&do=join&name=New+One", "new=New+One"),
    ] {
        let pressed = ask(&format!("?{query}"));
        let address = pressed.header("location").expect("an address").to_owned();
        assert!(address.ends_with(&format!("&{then}")), "{address}");
        assert_eq!(ask(&address["what-if".len()..]).status, 200, "{address}");
    }
    let why = ask("?compete=1-2&why=1-2");
    assert!(why.body.contains("because they compete"), "{}", why.body);
    let gone = ask("?without=1&why=1-2");
    assert!(gone.body.contains("has left.") && gone.body.contains("absent"));
    // A newcomer can be helped, and taken back with all that was said of it.
    let names = server.get("/run/run/what-if").body.matches("<option value=\"1\"").count();
    assert_eq!(names, 2, "one in each list");
    let hostile = ask("?new=%3Cscript%3Ealert(1)%3C%2Fscript%3E&help=1-5%3A0.5");
    assert!(matches!(hostile.status, 200 | 400), "{}", hostile.status);
    assert!(!hostile.body.contains("<script>alert"));
    let many: Vec<String> = (0..21).map(|at| format!("new=n{at}")).collect();
    for nonsense in [
        "?policy=best",
        "?objective=none",
        "?compete=1-1",
        "?compete=1-999",
        "?compete=0-1",
        "?compete=1",
        "?help=1-2%3Anan",
        "?help=1-2%3A-1",
        "?a=1&b=1&do=compete",
        "?do=format",
        "?new=",
        "?new=a&new=a",
        &format!("?{}", many.join("&")),
    ] {
        let answer = ask(nonsense);
        assert_eq!(answer.status, 400, "{nonsense}");
        assert_guarded(&answer);
    }
    assert_eq!(server.get("/run/other/what-if").status, 404);
    assert!(bytes_of(&sandbox.path("run")) == before, "asking changes nothing");
}

/// The page of a participant, entered by its link.
fn own(server: &Server, name: &str) -> (String, Answer) {
    let link = server.said.split(&format!("for {name}: http://")).nth(1).expect("a link");
    let token = link.split("token=").nth(1).and_then(|rest| rest.lines().next()).expect("a token");
    let entry = server.get(&format!("/own?token={token}"));
    assert_eq!((entry.status, entry.header("location")), (303, Some("/own")));
    let cookie = entry.header("set-cookie").expect("a cookie").to_owned();
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    let page = server.ask("GET", "/own", &[("Cookie", &cookie)]);
    (cookie, page)
}

#[test]
fn a_participant_sees_its_own_page_and_nothing_else() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["demo", "--out", "run"]).status.code(), Some(0));
    let arguments = ["run", "--as", "East General", "--as", "South Clinic"];
    let server = Server::start(&sandbox, &arguments);
    let (cookie, page) = own(&server, "East General");
    assert_eq!(page.status, 200);
    assert_guarded(&page);
    assert!(page.body.contains("East General") && page.body.contains("Learned from"));
    assert!(!page.body.contains("and data would flow"), "no reason is repeated");
    // What follows is a part of that very page, and all that there is.
    let mut events = server.follow_with("/own/events", &[("Cookie", &cookie)]);
    let event = events.next(Duration::from_secs(20)).expect("an event");
    let part: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert!(part[0].starts_with("<main id=\"main\"") && page.body.contains(&part.join("\n")));
    assert_eq!(events.next(Duration::from_millis(700)), None, "and nothing else");
    for path in [
        "/",
        "/run/run/",
        "/run/run/events",
        "/run/run/what-if",
        "/run/run/plan.json",
        "/run/run/certificate.json",
        "/run/run/metrics.csv",
        "/nowhere",
        "/own/",
        "//own",
    ] {
        assert_eq!(server.ask("GET", path, &[("Cookie", &cookie)]).status, 403, "{path}");
    }
    for path in ["/", "/own", "/own/events", "/style.css"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    let other = own(&server, "South Clinic");
    assert_ne!(cookie, other.0);
    assert_ne!(page.body, other.1.body);
    let entry = server.get(&format!("/?token={}", server.token()));
    let everything =
        entry.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    assert_eq!(server.ask("GET", "/run/run/", &[("Cookie", everything)]).status, 200);
    assert_eq!(server.ask("GET", "/own", &[("Cookie", everything)]).status, 404);
    // Whatever others say of each other, and of it: its page is the same.
    tamper(&sandbox, "DELETE FROM competing WHERE a <> (SELECT id FROM participants WHERE name = 'East General');
        UPDATE refusals SET reason = 'North Clinic and South General compete';
        INSERT OR IGNORE INTO competing (a, b) SELECT 7, 4 WHERE 7 <> 4;");
    let (_, again) = own(&server, "East General");
    assert_eq!(page.body, again.body);
    assert_eq!(events.next(Duration::from_millis(1_500)), None, "nothing has changed for it");
    for wrong in [&["serve", "run", "--as", "Nobody"][..], &["serve", ".", "--as", "East General"]]
    {
        assert_eq!(sandbox.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
