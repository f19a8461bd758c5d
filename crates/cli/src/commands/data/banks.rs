//! `data banks`: a federation of lenders, from the loans of the U.S. Small Business Administration.

use fedcompetitors_experiments::banks::{Choice, FILES, banks as federation, loans_file};
use fedcompetitors_files::{atomically, make_folder};
use fedcompetitors_report::plural;

use crate::{
    Failure, Outcome,
    arguments::BanksArguments,
    output::{shown_path, tell},
};

pub fn banks(arguments: &BanksArguments) -> Result<Outcome, Failure> {
    let &BanksArguments { ref data, ref out, overlap, largest, least } = arguments;
    let loans = loans_file(data).ok_or_else(|| Failure::Usage {
        error: format!("{} contains none of {}", shown_path(data), FILES.join(", ")),
        hint: "give the folder with the loans with --data; `fedcompetitors data list` shows where to get them".into(),
    })?;
    let banks = federation(&loans, Choice { overlap, largest, least })?;
    if banks.names.is_empty() {
        return Err(Failure::Usage {
            error: "no lender has enough loans of each outcome".into(),
            hint: "lower --least, or raise --largest".into(),
        });
    }
    make_folder(out)?;
    let target = out.join("federation.toml");
    atomically(&target, |writer| writer.write_all(banks.federation.as_bytes()))?;
    atomically(&out.join("competing.csv"), |writer| {
        let mut table = csv::Writer::from_writer(writer);
        table.write_record(["a", "b"])?;
        for (a, b) in &banks.competing {
            table.write_record([a, b])?;
        }
        table.flush()
    })?;
    tell(&format!(
        "wrote {} with {} and {}; run it with `fedcompetitors run {} --data {}`",
        shown_path(&target),
        plural(banks.names.len(), "lender", "lenders"),
        plural(banks.competing.len(), "competing pair", "competing pairs"),
        shown_path(&target),
        shown_path(data)
    ));
    Ok(Outcome::Done)
}
