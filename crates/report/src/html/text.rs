//! Names, sentences and numbers on the page. Everything that comes from outside goes through
//! [`name`] or [`said`], and then through the builder, which escapes what HTML would read.

use fedcompetitors_graphs::{is_hidden, shown};
use maud::{Markup, html};
use unicode_width::UnicodeWidthChar;

/// A participant's name. Whatever its writing direction, what stands around it keeps its own.
pub fn name(name: &str) -> Markup {
    html! { bdi { (shown(name)) } }
}

/// A participant's name among many, which costs the page no element where it needs none: nothing
/// in ASCII is written from the right.
pub fn listed(text: &str) -> Markup {
    if text.is_ascii() {
        html! { (shown(text)) }
    } else {
        name(text)
    }
}

/// A text of which names have been escaped already, or that has none: whatever could still
/// pretend something is escaped.
pub fn said(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// A text of several lines.
pub fn lines(text: &str) -> String {
    text.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// Names with commas.
pub fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> Markup {
    html! {
        @for (at, one) in all.into_iter().enumerate() {
            @if at > 0 { ", " }
            (listed(one))
        }
    }
}

/// A name that takes so many columns at most.
pub fn short(text: &str, columns: usize) -> String {
    let text = shown(text);
    let width = |c: char| c.width().unwrap_or(0);
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.into_owned();
    }
    let mut taken = 1;
    let begin = text.chars().take_while(|&c| {
        taken += width(c);
        taken <= columns
    });
    let mut begin = begin.collect::<String>().trim_end().to_owned();
    begin.push('…');
    begin
}

/// A whole number with thin gaps between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A coordinate: two decimals are finer than any screen.
pub fn at(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}
