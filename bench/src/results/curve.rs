//! What learning from others' hidden layers gains, by the number of images that a participant has.

use std::fmt::Write;

use super::{
    page::{header, row},
    stored::{Method, Stored},
};

/// The methods of the table: everybody alone with one network, with several, and with those of others.
const METHODS: [&str; 3] = ["Local", "Local, ensemble", "FedCompetitors, trunks"];

/// Writes a line for each stored experiment that has all of these methods; nothing if there is none.
pub fn curve(text: &mut String, experiments: &[Stored]) {
    let mut found: Vec<(&Stored, [&Method; 3])> =
        experiments.iter().filter_map(|stored| Some((stored, methods(stored)?))).collect();
    if found.is_empty() {
        return;
    }
    // Those with all images come last.
    found.sort_by_key(|(stored, _)| stored.images.unwrap_or(u64::MAX));
    text.push_str(
        "\nBy the number of images of a class that a participant has: one network alone, several networks alone \
         (the control), and networks that start from others' hidden layers along a plan under `paths`. All three have \
         the same gradient budget. Gains are means over the draws ± their standard error. \
         More: [docs/decisions/0024-trunks.md](docs/decisions/0024-trunks.md).\n\n",
    );
    let titles = [
        "images of a class",
        "gradients",
        "Local",
        "ensemble alone",
        "trunks, `paths`",
        "gain over Local",
        "gain over the ensemble",
    ];
    header(text, &titles);
    for (stored, [local, control, trunks]) in found {
        let images = stored.images.map_or("all (2500)".to_owned(), |images| images.to_string());
        let mut cells = vec![images, stored.gradients.to_string()];
        let digits = stored.kind.digits.0;
        cells.extend(
            [local, control, trunks].map(|method| format!("{:.digits$}", method.mean().mean)),
        );
        cells.extend([local, control].map(|other| gain(stored, trunks, other)));
        row(text, &cells);
    }
}

fn methods(stored: &Stored) -> Option<[&Method; 3]> {
    let find = |name| stored.methods.iter().find(|method| method.name == name);
    let [local, control, trunks] = METHODS.map(find);
    Some([local?, control?, trunks?])
}

/// By how much the first method is better than the second.
fn gain(stored: &Stored, a: &Method, b: &Method) -> String {
    let (gain, digits) = (stored.behind(b, a), stored.kind.digits.0);
    let mut text = format!("{:+.digits$}", gain.mean);
    if stored.seeds.len() > 1 {
        let _ = write!(text, " ± {:.digits$}", gain.error);
    }
    text
}
