//! What if, asked in a real browser: with the mouse, with the keyboard alone, without a script.

use super::{
    browser::{PLACES, address, sandbox_with_demo},
    chromium::{Browser, browse},
    client::Server,
};

const EFFECTS: &str = "document.querySelector('#effects').innerText";
const CHOSEN: &str =
    "document.querySelector('#a').value + ' ' + document.querySelector('#b').value";
const POLICY: &str = "document.querySelector('#policy').value";
const MAIN: &str = "document.querySelector('main').innerText";

/// South General and North University compete, by their numbers.
const CHANGED: &str = "location.search.includes('compete=1-7')";

fn choose(browser: &mut Browser, list: &str, participant: u32) {
    browser.eval(&format!("document.querySelector({list:?}).value = {participant}"));
}

#[test]
fn with_the_mouse() {
    let sandbox = sandbox_with_demo();
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        browser.open(&address(&server, ""));
        browser.leads_on(|browser| browser.click("a[href=\"what-if\"]"));
        let (first, places, loads) = (browser.text(EFFECTS), browser.text(PLACES), browser.loads());
        browser.eval("document.querySelector('#graphs details').open = true");
        choose(browser, "#a", 7);
        choose(browser, "#b", 1);
        browser.click("#compete");
        browser.wait_for(CHANGED);
        browser.reads("North University and South General compete.");
        assert_eq!(browser.text(CHOSEN), "7 1", "who was chosen stays chosen");
        assert_eq!(browser.eval("document.querySelector('#graphs details').open"), true);
        browser.eval("document.querySelector('#graphs details').open = false");
        let changed = browser.text(EFFECTS);
        assert_ne!(changed, first);
        assert_eq!(browser.text(PLACES), places, "nobody has moved");
        browser.click("#changes a");
        browser.wait_for(&format!("!{CHANGED}"));
        assert_eq!(browser.text(EFFECTS), first);
        browser.eval("history.back()");
        browser.wait_for(CHANGED);
        browser.wait_for(&format!("{EFFECTS} === {changed:?}"));
        // The policy is part of the question, and goes back with it.
        let policy = browser.text(POLICY);
        assert_ne!(policy, "none");
        browser.eval("document.querySelector('#policy').value = 'none'");
        browser.click("#plan");
        browser.wait_for("location.search.includes('policy=none')");
        browser.eval("history.back()");
        browser.wait_for(&format!("{EFFECTS} === {changed:?}"));
        assert_eq!(browser.text(POLICY), policy);
        // An edge that is not there says why.
        browser.click("#graph-benefit a:has(.refused)");
        browser.wait_for("document.querySelector('#answer')");
        let asked = browser.text("document.querySelector('#answer p').innerText");
        assert!(asked.starts_with("No: ") && asked.contains(" may not learn from "), "{asked}");
        let pair = browser.text("new URLSearchParams(location.search).get('why')");
        let pair = pair.replace('-', " ");
        assert_eq!(browser.text(CHOSEN), pair, "it is about these two");
        browser.click("#apart");
        browser.wait_for("location.search.includes('apart=')");
        assert_eq!(browser.text(CHOSEN), pair, "and they stay");
        browser.eval("history.back()");
        browser.wait_for("document.querySelector('#answer')");
        browser.has_names();
        browser.pictures("what-if");
        assert_eq!(browser.loads(), loads, "no page was loaded anew");
        // Whoever gets the address sees the same.
        let (link, page) = (browser.text("location.href"), browser.text(MAIN));
        browser.fresh();
        browser.open(&link);
        assert_eq!(browser.text(MAIN), page);
    });
}

#[test]
fn with_the_keyboard() {
    let sandbox = sandbox_with_demo();
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        browser.open(&address(&server, "what-if"));
        browser.press("Tab");
        browser.reads("Skip to the content");
        assert_eq!(browser.eval("document.activeElement.getBoundingClientRect().left > 0"), true);
        browser.press("Enter");
        browser.wait_for("document.activeElement.id === 'main'");
        browser.press("Tab");
        assert_eq!(browser.text("document.activeElement.id"), "policy", "all before is skipped");
        browser.tab_to("#a");
        browser.type_text("South G");
        browser.tab_to("#b");
        browser.press("ArrowDown");
        browser.type_text("North U");
        browser.tab_to("#compete");
        browser.press("Enter");
        browser.wait_for(CHANGED);
        browser.reads("North University and South General compete.");
        assert_eq!(browser.text("document.activeElement.id"), "compete", "one stays where one was");
        browser.tab_to("#name");
        browser.type_text("West Clinic");
        browser.tab_to("#join");
        browser.press("Space");
        browser.wait_for("location.search.includes('new=West+Clinic')");
        browser.reads("West Clinic joins.");
        assert_eq!(browser.text("document.querySelector('#name').value"), "", "ready for another");
        browser.tab_to("#changes a");
        browser.press("Enter");
        browser.wait_for("!location.search.includes('new=')");
        browser.tab_to("#graph-benefit a:has(.refused)");
        browser.press("Enter");
        browser.wait_for("document.querySelector('#answer')");
        browser.reads("may not learn from");
        assert_eq!(browser.text("document.activeElement.id"), "answer-title");
    });
}

#[test]
fn without_a_script() {
    let sandbox = sandbox_with_demo();
    let server = Server::start(&sandbox, &["run"]);
    browse(|browser| {
        browser.without_scripts();
        browser.open(&address(&server, "what-if"));
        choose(browser, "#a", 7);
        choose(browser, "#b", 1);
        browser.leads_on(|browser| browser.click("#compete"));
        assert_eq!(browser.eval(CHANGED), true);
        browser.reads("North University and South General compete.");
        browser.leads_on(|browser| browser.click("#graph-benefit a:has(.refused)"));
        browser.reads("may not learn from");
    });
}
