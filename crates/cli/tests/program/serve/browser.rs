//! The pages in a real browser: nothing is refused or fails there, the script runs, and pictures
//! of them are kept to look at, under `target/screenshots`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{client::Server, desk_with_run, tamper};
use crate::*;

/// Chromium, where there is one.
fn chromium() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = || {
        env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file())
    };
    named.or_else(found)
}

struct Browser {
    program: PathBuf,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Nothing, said aloud, where there is no browser.
    fn open() -> Option<Self> {
        let Some(program) = chromium() else {
            eprintln!("skipped: no Chromium (set CHROMIUM, or apt-get install chromium)");
            return None;
        };
        Some(Self { program, profile: tempfile::tempdir().expect("a folder") })
    }

    /// Opens an address with these options; gives what is printed, and whatever went to the console.
    fn look(&self, address: &str, options: &[String]) -> (String, Vec<String>) {
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
            ])
            .args(["--enable-logging=stderr", "--timeout=3000"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .args(options)
            .arg(address)
            .output()
            .expect("it runs");
        let said = text(&output.stderr);
        let console = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
        (text(&output.stdout), console.collect())
    }

    /// The page as the browser has it once its script has run.
    fn page(&self, address: &str) -> String {
        let (page, console) = self.look(address, &["--dump-dom".to_owned()]);
        assert_eq!(console, Vec::<String>::new(), "{address}");
        page
    }

    /// Pictures at three widths, light and dark.
    fn pictures(&self, address: &str, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
        fs::create_dir_all(&folder).expect("a folder");
        for width in [400, 1000, 2000] {
            for (theme, scheme) in [("dark", 0), ("light", 1)] {
                let file = folder.join(format!("{name}-{width}-{theme}.png"));
                let (_, console) = self.look(
                    address,
                    &[
                        format!("--window-size={width},1400"),
                        format!("--blink-settings=preferredColorScheme={scheme}"),
                        format!("--screenshot={}", file.display()),
                    ],
                );
                assert_eq!(console, Vec::<String>::new(), "{address}");
                assert!(file.is_file(), "{}", file.display());
            }
        }
    }
}

#[test]
fn a_browser_takes_every_page_without_a_complaint() {
    let Some(browser) = Browser::open() else {
        return;
    };
    let desk = desk_with_run();
    assert_eq!(desk.run(&["report", "run"]).status.code(), Some(0));
    let report = browser.page(&format!("file://{}", desk.path("run/report.html").display()));
    assert!(report.contains("Nobody's data came to a competitor."));
    let server = Server::start(&desk, &["run"]);
    let address = |path: &str| format!("http://127.0.0.1:{}/run/run/{path}", server.port());
    // What is printed is the page as it was when all had been loaded; the script says more.
    let page = browser.page(&address(""));
    assert!(page.contains("Connecting to the run.") || page.contains("This page follows the run."));
    let question = address("what-if?compete=1-2&why=1-2");
    assert!(browser.page(&question).contains("because they compete"));
    browser.pictures(&address(""), "run");
    browser.pictures(&question, "what-if");
    // Names that mean no good, in a run on its way.
    tamper(
        &desk,
        "UPDATE participants SET name = '<img src=x onerror=console.error(1)>' WHERE id = 0;
         UPDATE run SET value = 'running' WHERE key = 'status';",
    );
    assert!(browser.page(&address("")).contains("&lt;img src=x onerror"));
    fs::write(desk.path("run/run.sqlite"), "nothing that could be read").expect("written");
    assert!(browser.page(&address("")).contains("This record is damaged"));
}
