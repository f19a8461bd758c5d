//! The certificate, what the audit found, and how to check both.

use fedcompetitors_record::Rule;
use maud::{Markup, html};

use super::{
    Audited, Page,
    text::{lines, said},
};
use crate::audit::{looked_at, not_covered, nothing_found};

/// A certificate that is longer is not put on the page.
const LONGEST: usize = 100_000;

/// The rule that the federation's own plan keeps.
fn rule(page: &Page) -> &'static str {
    match page.record.summary.own().map_or(Rule::Paths, |own| own.rule) {
        Rule::Paths => {
            "The rule: no participant's data may reach a competitor, directly or through any chain of others."
        }
        Rule::Messages => {
            "The rule `messages`: no participant may receive a message that carries a competitor's data. A participant may help a friend of its competitor."
        }
    }
}

/// The section.
pub fn section(page: &Page) -> Markup {
    let (folder, certificate) = (&page.folder, &page.record.certificate);
    html! {
        p {
            (rule(page)) " "
            "The certificate proves it for the plan, the audit for what happened. "
            "You need not trust this page: anyone with the run directory can check both, with code that shares nothing with the code that made them."
        }
        div.checks {
            div {
                h3 { "What happened" }
                p { "Replays every transfer, with the competitors and the rule of the federation file, not of the record:" }
                pre tabindex="0" { code { "fedcompetitors audit " (said(folder)) " --federation FILE" } }
                (finding(page))
            }
            div {
                h3 { "The plan" }
                p { "Proves the plan again and compares it with the certificate:" }
                pre tabindex="0" { code {
                    "fedcompetitors export " (said(folder)) " --to checked\n"
                    "fedcompetitors verify \\\n"
                    "    --competing checked/proof/competing.csv \\\n"
                    "    --plan checked/proof/plan.json \\\n"
                    "    --against checked/proof/certificate.json"
                } }
                @if certificate.is_empty() { p.note { "There is no certificate: no plan was made, or it cannot be read." } }
            }
        }
        @if !certificate.is_empty() {
            details {
                summary { "The certificate: whom each participant's data can reach" }
                @if certificate.len() <= LONGEST {
                    pre tabindex="0" { code { (lines(certificate)) } }
                } @else {
                    p { "It is too long for this page; the first command above writes it." }
                }
            }
        }
    }
}

/// What the audit found when the page was made.
fn finding(page: &Page) -> Markup {
    html! {
        @match &page.audit {
            Audited::Later => p { "The run is not audited yet; the audit follows when it is no longer in progress." },
            Audited::Failed => p { "The run could not be audited when this page was made." },
            Audited::Done(audit) => {
                p { "When this page was made: " (said(&looked_at(audit))) }
                @if audit.findings.is_empty() { p { (nothing_found(audit)) } }
                @let not_covered: Vec<String> = not_covered(audit).collect();
                @if !not_covered.is_empty() {
                    ul { @for line in &not_covered { li { (said(line)) } } }
                }
            }
        }
    }
}
