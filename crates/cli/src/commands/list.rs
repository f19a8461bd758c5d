//! `list`: what a federation file can name, with settings and their defaults.

use std::fmt::Write;

use fedcompetitors_files::{
    federation::{ListedEntry, Listing, listings},
    write_json,
};
use serde_json::json;

use crate::{
    Failure, Outcome,
    arguments::{ListArguments, TableFormat},
    output::print,
};

pub fn list(arguments: &ListArguments) -> Result<Outcome, Failure> {
    let listings = listings();
    print(|output| match arguments.format {
        TableFormat::Text => output.write_all(text(&listings).as_bytes()),
        TableFormat::Markdown => output.write_all(markdown(&listings).as_bytes()),
        TableFormat::Json => write_json(output, &json!(listings)),
    })?;
    Ok(Outcome::Done)
}

fn text(listings: &[Listing]) -> String {
    let mut text = String::new();
    for listing in listings {
        let Listing { kind, place, entries, .. } = listing;
        let _ = writeln!(text, "{kind}: {}", place.replace('`', ""));
        if let Some(default) = default_text(listing) {
            let _ = writeln!(text, "  {}", default.replace('`', ""));
        }
        for ListedEntry { name, help, table, settings } in entries {
            let _ = writeln!(text, "  {name}: {help}");
            if !settings.is_empty() {
                let _ = writeln!(text, "    [{table}]");
            }
            for setting in settings {
                let default = setting.default.as_deref().unwrap_or("…");
                let _ = writeln!(text, "    {} = {default}  # {}", setting.name, setting.help);
            }
        }
        text.push('\n');
    }
    text
}

fn markdown(listings: &[Listing]) -> String {
    let mut text = String::new();
    for listing in listings {
        let Listing { kind, place, entries, .. } = listing;
        let _ = writeln!(text, "## {}{}\n", kind[..1].to_uppercase(), plural(&kind[1..]));
        let _ = write!(text, "Named by {place}.");
        if let Some(default) = default_text(listing) {
            let _ = write!(text, " {default}");
        }
        let _ = writeln!(text, "\n\n| {kind} | what it is |\n|---|---|");
        for ListedEntry { name, help, .. } in entries {
            let _ = writeln!(text, "| `{name}` | {help} |");
        }
        text.push('\n');
        for ListedEntry { table, settings, .. } in entries {
            if settings.is_empty() {
                continue;
            }
            let _ = writeln!(text, "### `[{table}]`\n\n| key | default | meaning |\n|---|---|---|");
            for setting in settings {
                let default =
                    setting.default.as_ref().map_or("–".into(), |one| format!("`{one}`"));
                let _ = writeln!(text, "| `{}` | {default} | {} |", setting.name, setting.help);
            }
            text.push('\n');
        }
    }
    text
}

/// The default of a kind, and the others where another setting decides, as Markdown.
fn default_text(listing: &Listing) -> Option<String> {
    let default = listing.default?;
    let others = listing.otherwise.iter().map(|one| format!("; {}: `{}`", one.with, one.name));
    Some(format!("Default: `{default}`{}.", others.collect::<String>()))
}

fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}
