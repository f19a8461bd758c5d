//! Pages that a program serves: a run that is followed while it goes on, and the list of runs.
//!
//! Each has one style sheet and one script, both files of their own, so that the browser can be
//! told to take nothing else. Without the script every page still shows and does all there is;
//! it only has to be loaded anew.

use fedcompetitors_graphs::shown;
use maud::{DOCTYPE, Markup, html};

use super::{
    Page, header, page,
    text::{name, said},
};
use crate::plural;

/// The style sheet of pages that are served.
pub const LIVE_STYLE: &str = concat!(include_str!("style.css"), include_str!("live.css"));

/// The script of pages that are served.
pub const LIVE_SCRIPT: &str = include_str!("live.js");

/// The mark of pages that are served: two that learn from each other, and one that does not.
pub const LIVE_ICON: &str = concat!(
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">",
    "<path d=\"M8 8H24\" stroke=\"#007a5a\" stroke-width=\"4\"/>",
    "<path d=\"M8 8L16 25\" stroke=\"#d55e00\" stroke-width=\"3\" stroke-dasharray=\"4 3\"/>",
    "<g fill=\"#0072b2\"><circle cx=\"8\" cy=\"8\" r=\"6\"/><circle cx=\"24\" cy=\"8\" r=\"6\"/>",
    "<circle cx=\"16\" cy=\"25\" r=\"6\"/></g></svg>"
);

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its folder.
    pub folder: String,
    /// Where its page is.
    pub address: String,
    /// What it is called; nothing where it cannot be read.
    pub name: Option<String>,
    /// How it stands, in words.
    pub standing: String,
    /// How many take part.
    pub participants: usize,
}

/// A page with its head; `root` leads to where style sheet and script are.
pub(super) fn shell(title: &str, root: &str, content: &Markup) -> String {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (title) " – FedCompetitors" }
                link rel="stylesheet" href=(format!("{root}style.css"));
                link rel="icon" href=(format!("{root}icon.svg"));
                script src=(format!("{root}live.js")) defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (content)
            }
        }
    };
    html.into_string()
}

/// The page that follows a run. `version` says which state it shows, so that only what differs
/// from it is sent afterwards.
pub fn live_page(page: &Page, version: &str, has_siblings: bool) -> String {
    let sections = page::sections(page);
    let content = html! {
        (header(page))
        nav aria-label="Contents" {
            ul {
                @for section in &sections { li { a href=(format!("#{}", section.id)) { (section.title) } } }
            }
            ul.also aria-label="Also" {
                @if has_siblings { li { a href="../../" { "All runs" } } }
                li { a href="what-if" { "What if?" } }
                li { a href="plan.json" download { "Plan (JSON)" } }
                li { a href="certificate.json" download { "Certificate (JSON)" } }
                li { a href="metrics.csv" download { "Figures (CSV)" } }
            }
        }
        (follows(version, "events"))
        main id="main" tabindex="-1" {
            @for section in &sections { (section.markup) }
        }
        (footer())
    };
    shell(&shown(&page.summary().name), "../../", &content)
}

/// Says whether the page keeps up with the run; the script reads from it where to listen.
pub(super) fn follows(version: &str, events: &str) -> Markup {
    html! {
        p #live .quiet role="status" data-events=(events) data-version=(version) {
            "This page shows the run as it was when the page was loaded; reload it for newer results."
        }
    }
}

pub(super) fn footer() -> Markup {
    html! {
        footer {
            p {
                "Served by " code { "fedcompetitors serve" } ", which only reads the run. "
                "The page loads nothing from elsewhere and sends nothing anywhere else."
            }
        }
    }
}

/// The list of runs.
pub fn list_page(folder: &str, runs: &[Listed], unlisted: usize) -> String {
    let content = html! {
        header id="top" {
            p.eyebrow { "Federated learning among competitors" }
            h1 { "Runs in " (name(folder)) }
            p.facts { span { (plural(runs.len() + unlisted, "run", "runs")) } }
        }
        main id="main" tabindex="-1" {
            @if runs.is_empty() { p { "There is no run here yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label="The runs" {
                    table {
                        thead { tr {
                            th scope="col" { "folder" }
                            th scope="col" { "federation" }
                            th scope="col" { "status" }
                            th scope="col" { "participants" }
                        } }
                        tbody {
                            @for run in runs {
                                tr {
                                    th scope="row" { a href=(run.address) { (name(&run.folder)) } }
                                    td { @if let Some(title) = &run.name { (name(title)) } @else { "–" } }
                                    td { (said(&run.standing)) }
                                    td { @if run.name.is_some() { (run.participants) } @else { "–" } }
                                }
                            }
                        }
                    }
                }
            }
            @if unlisted > 0 {
                p.note { (plural(unlisted, "more is", "more are")) " not listed; serve a folder with fewer." }
            }
        }
        (footer())
    };
    shell("Runs", "", &content)
}

/// A page that says one thing, such as why there is no other.
pub fn message_page(title: &str, text: &str, root: &str) -> String {
    let content = html! {
        header id="top" {
            p.eyebrow { "Federated learning among competitors" }
            h1 { (title) }
        }
        main id="main" tabindex="-1" { p { (said(text)) } }
    };
    shell(title, root, &content)
}
