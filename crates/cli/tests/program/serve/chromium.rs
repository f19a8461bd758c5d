//! A real browser, driven over its `DevTools` protocol: JSON through two pipes, each message
//! ended by a zero byte. Nothing is waited for without a deadline, and whatever the browser
//! complains of on the way fails the test.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// How long anything may take. Far more than it does: a machine may have other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a page is asked whether it is as far.
const EVERY: Duration = Duration::from_millis(20);

/// Higher pages are cut off in pictures.
const HIGHEST: u64 = 6_000;

/// Chromium, where there is one.
fn chromium() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = || {
        env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file())
    };
    named.or_else(found)
}

/// Runs a test in a browser of its own and asks that it had nothing to complain of. Without a
/// browser the test is skipped, but in CI it fails.
pub fn browse(test: impl FnOnce(&mut Browser)) {
    let Some(program) = chromium() else {
        assert!(
            env::var_os("CI").is_none(),
            "no Chromium (set CHROMIUM, or apt-get install chromium)"
        );
        eprintln!("skipped: no Chromium (set CHROMIUM, or apt-get install chromium)");
        return;
    };
    let mut browser = Browser::start(&program);
    test(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A browser with one page at a time.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    asked: u64,
    session: Option<String>,
    complaints: Vec<String>,
    /// How often a page was loaded.
    loads: u64,
    /// What it keeps goes with it.
    _profile: tempfile::TempDir,
}

impl Browser {
    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        // The browser reads from its third file and writes to its fourth; the shell puts them there.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it begins");
        let input = child.stdin.take().expect("its input");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let mut bytes = Vec::new();
                match output.read_until(0, &mut bytes) {
                    Ok(count) if count > 1 => {}
                    _ => return,
                }
                let message = serde_json::from_slice(&bytes[..bytes.len() - 1]).expect("JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            input,
            messages,
            asked: 0,
            session: None,
            complaints: Vec::new(),
            loads: 0,
            _profile: profile,
        };
        browser.fresh();
        browser
    }

    /// A page with nothing of those before: no cookies, no history.
    pub fn fresh(&mut self) {
        self.session = None;
        let context = self.call("Target.createBrowserContext", &json!({}));
        let target = self.call(
            "Target.createTarget",
            &json!({ "url": "about:blank", "browserContextId": context["browserContextId"] }),
        );
        let attached = self.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        self.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log", "Audits"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        // Else keys would go to a page that does not look as if it had them.
        self.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        self.size(1000, 1400);
    }

    /// Asks the browser for something and waits for its answer.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.next(end).unwrap_or_else(|| panic!("no answer to {method}"));
            if answer["id"] == self.asked {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; what is told without being asked for is noted.
    fn next(&mut self, end: Instant) -> Option<Value> {
        let left = end.saturating_duration_since(Instant::now());
        let message = self.messages.recv_timeout(left).ok()?;
        let told = &message["params"];
        let complaint = match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => {
                self.loads += 1;
                None
            }
            "Runtime.consoleAPICalled" if told["type"] == "error" || told["type"] == "warning" => {
                Some(&told["args"])
            }
            "Runtime.exceptionThrown" => Some(&told["exceptionDetails"]),
            "Log.entryAdded" if told["entry"]["level"] != "verbose" => Some(&told["entry"]),
            "Audits.issueAdded" if told["issue"]["code"] == "ContentSecurityPolicyIssue" => {
                Some(&told["issue"])
            }
            _ => None,
        };
        if let Some(complaint) = complaint {
            self.complaints.push(complaint.to_string());
        }
        Some(message)
    }

    /// What the browser has complained of so far: errors and warnings in its console, exceptions,
    /// what the policy refused, requests that failed.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever was on its way comes before the answer.
        self.eval("0");
        std::mem::take(&mut self.complaints)
    }

    /// Opens an address and waits until all of it is loaded.
    pub fn open(&mut self, address: &str) {
        let before = self.loads;
        let gone = self.call("Page.navigate", &json!({ "url": address }));
        assert!(gone["errorText"].is_null(), "{address}: {gone}");
        self.loaded_after(before);
    }

    /// Does something that leads to another page and waits for that.
    pub fn leads_on(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.loads;
        act(self);
        self.loaded_after(before);
    }

    fn loaded_after(&mut self, before: u64) {
        let end = Instant::now() + PATIENCE;
        while self.loads == before {
            assert!(self.next(end).is_some(), "no page was loaded");
        }
    }

    /// How many pages were loaded.
    pub fn loads(&mut self) -> u64 {
        self.eval("0");
        self.loads
    }

    /// What an expression is in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        let wrong = &answer["exceptionDetails"];
        assert!(wrong.is_null(), "{expression}: {wrong}");
        answer["result"]["value"].clone()
    }

    /// The same, as text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression holds in the page.
    pub fn wait_for(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.eval(&format!("Boolean({expression})")) != true {
            assert!(
                Instant::now() < end,
                "{expression} never came to hold in: {}",
                self.eval("document.body.innerText")
            );
            thread::sleep(EVERY);
        }
    }

    /// Does the page read so?
    pub fn reads(&mut self, words: &str) {
        let page = self.text("document.body.innerText");
        assert!(page.contains(words), "{words}: {page}");
    }

    /// Presses a key by its name, or a letter.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Space" => (32, " "),
            "ArrowDown" => (40, ""),
            letter => (0, letter),
        };
        let key = if key == "Space" { " " } else { key };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key });
            if code > 0 {
                event["windowsVirtualKeyCode"] = json!(code);
            }
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types letter by letter.
    pub fn type_text(&mut self, text: &str) {
        text.chars().for_each(|letter| self.press(&letter.to_string()));
    }

    /// Goes on with the tab key until it stands on an element.
    pub fn tab_to(&mut self, selector: &str) {
        for _ in 0..300 {
            if self.eval(&format!("document.activeElement.matches({selector:?})")) == true {
                return;
            }
            self.press("Tab");
            let outline = "getComputedStyle(document.activeElement).outlineStyle";
            assert_ne!(
                self.text(outline),
                "none",
                "where one stands must be seen: {}",
                self.eval("document.activeElement.outerHTML")
            );
        }
        panic!("{selector} is not reached with the tab key");
    }

    /// Clicks with the mouse where an element can be seen; on a line, somewhere along it.
    pub fn click(&mut self, selector: &str) {
        let place = self.eval(&format!(
            "(() => {{
                const one = document.querySelector({selector:?});
                one.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const box = one.getBoundingClientRect();
                const places = [[box.x + box.width / 2, box.y + box.height / 2]];
                const line = one.querySelector('path.line');
                for (let part = 0.1; line && part < 0.9; part += 0.02) {{
                    const at = line.getPointAtLength(part * line.getTotalLength());
                    const seen = at.matrixTransform(line.getScreenCTM());
                    places.push([seen.x, seen.y]);
                }}
                return places.find(([x, y]) => one.contains(document.elementFromPoint(x, y)));
            }})()"
        ));
        assert!(place.is_array(), "{selector} cannot be clicked");
        for (kind, count) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 1)] {
            self.call(
                "Input.dispatchMouseEvent",
                &json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": count }),
            );
        }
    }

    /// Has all that can be used or looked at a name, as the browser tells it to screen readers?
    pub fn has_names(&mut self) {
        const NAMED: [&str; 6] = ["link", "image", "button", "combobox", "spinbutton", "textbox"];
        let tree = self.call("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().expect("nodes").iter();
        let named: Vec<&Value> = nodes
            .filter(|node| node["ignored"] == false)
            .filter(|node| NAMED.iter().any(|role| node["role"]["value"] == *role))
            .collect();
        let nameless: Vec<&&Value> =
            named.iter().filter(|node| node["name"]["value"].as_str() == Some("")).collect();
        assert!(nameless.is_empty(), "{nameless:?}");
        // Every mark of a drawing is among them, and shows its name to a pointer.
        let bare = "[...document.querySelectorAll('svg.nodes, svg.matrix, .curve svg')]
            .flatMap((drawing) => [...drawing.querySelectorAll('circle, path:not(.grid)')])
            .map((shape) => shape.closest('[role=img]'))
            .filter((mark) => !mark?.querySelector('title')?.textContent)
            .length";
        assert_eq!(self.eval(bare), 0, "marks without a name");
        let marks = "[...document.querySelectorAll('svg [role=img]')]
            .filter((mark) => mark.checkVisibility()).length";
        let marks = self.eval(marks);
        assert!(named.len() as u64 >= marks.as_u64().expect("a number"), "{marks}");
    }

    /// The page may not be wider than the window.
    pub fn fits(&mut self, page: &str) {
        assert_eq!(self.eval("document.documentElement.scrollWidth - innerWidth"), 0, "{page}");
    }

    /// Runs no scripts of pages from now on.
    pub fn without_scripts(&mut self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    pub fn size(&mut self, width: u64, height: u64) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
    }

    /// Keeps pictures of the page at three widths, light and dark, under `target/screenshots`;
    /// at none of them may it be wider than the window.
    pub fn pictures(&mut self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
        fs::create_dir_all(&folder).expect("a folder");
        for width in [400, 1000, 2000] {
            self.size(width, 1400);
            self.wait_for(&format!("innerWidth === {width}"));
            self.fits(&format!("{name} at {width}"));
            let height = self.eval("document.documentElement.scrollHeight").as_u64();
            self.size(width, height.unwrap_or(1400).clamp(600, HIGHEST));
            for theme in ["light", "dark"] {
                let wanted = json!([{ "name": "prefers-color-scheme", "value": theme }]);
                self.call("Emulation.setEmulatedMedia", &json!({ "features": wanted }));
                let picture = self.call(
                    "Page.captureScreenshot",
                    &json!({ "format": "png", "optimizeForSpeed": true }),
                );
                let picture =
                    STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base 64");
                let file = folder.join(format!("{name}-{width}-{theme}.png"));
                fs::write(file, picture).expect("written");
            }
        }
        self.size(1000, 1400);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to, it ends its own processes too; killed, it might leave them behind.
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whoever tests with this must hear of what goes wrong.
#[test]
fn the_browser_tells_what_goes_wrong() {
    browse(|browser| {
        for page in [
            "<script>console.error('so')</script>",
            "<script>throw new Error('so')</script>",
            "<img src='http://127.0.0.1:1/nothing.png'>",
            "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\"><img src='data:,so'>",
        ] {
            browser.open(&format!("data:text/html,{page}"));
            assert!(!browser.complaints().is_empty(), "{page}");
        }
        browser.open("data:text/html,<p>well");
        browser.reads("well");
    });
}
