//! Who competes with whom, and since when.

use std::collections::{BTreeMap, BTreeSet};

use fedcompetitors_record::{Declared, Finding, Flaw, Origin};

/// For each competing pair, either way round: the first round for which it was known, and the
/// number of the declaration (0 from the beginning).
#[derive(Debug)]
pub struct Rivals(BTreeMap<(usize, usize), (u64, u64)>);

impl Rivals {
    /// Whether two compete, in a round.
    pub fn compete(&self, a: usize, b: usize, round: u64) -> bool {
        self.0.get(&(a, b)).is_some_and(|&(since, _)| since <= round)
    }

    /// Whether two compete by the declarations up to one.
    pub fn were_known(&self, a: usize, b: usize, known: u64) -> bool {
        self.0.get(&(a, b)).is_some_and(|&(_, heard)| heard <= known)
    }

    /// The competitions of the record, or of the federation file if it is given; the findings say
    /// where the two differ.
    pub fn new(origin: &Origin, declared: Option<&Declared>, findings: &mut Vec<Finding>) -> Self {
        if origin.is_other_competition {
            findings.push(of_run(Flaw::OtherCompetitions));
        }
        let mut first = BTreeMap::new();
        for one in &origin.competitions {
            for pair in [(one.a, one.b), (one.b, one.a)] {
                let (since, heard): &mut (u64, u64) =
                    first.entry(pair).or_insert((one.since, one.heard));
                (*since, *heard) = (one.since.min(*since), one.heard.min(*heard));
            }
        }
        let Some(declared) = declared else {
            return Self(first);
        };
        let recorded: BTreeSet<(usize, usize)> = first.keys().copied().collect();
        let pairs = by_the_file(origin, declared, &recorded, findings);
        // What only the file knows was always known.
        Self(pairs.into_iter().map(|pair| (pair, *first.get(&pair).unwrap_or(&(0, 0)))).collect())
    }
}

/// The competing pairs of a federation file, by the numbers of the record.
fn by_the_file(
    origin: &Origin,
    declared: &Declared,
    recorded: &BTreeSet<(usize, usize)>,
    findings: &mut Vec<Finding>,
) -> BTreeSet<(usize, usize)> {
    let known: BTreeMap<&str, usize> =
        origin.names.iter().map(|(&id, name)| (&**name, id)).collect();
    // A participant that the record does not have gets a number of its own.
    let mut all = origin.names.clone();
    let mut numbers = Vec::new();
    for name in &declared.names {
        numbers.push(known.get(name.as_str()).copied().unwrap_or_else(|| {
            let new = all.last_key_value().map_or(0, |(last, _)| last + 1);
            all.insert(new, name.clone());
            findings.push(of_run(Flaw::OnlyInFile(name.clone())));
            new
        }));
    }
    for name in origin.names.values().filter(|name| !declared.names.contains(name)) {
        findings.push(of_run(Flaw::NotInFile(name.clone())));
    }
    let pairs: BTreeSet<(usize, usize)> = declared
        .reports
        .iter()
        .map(|&(a, b)| (numbers[a], numbers[b]))
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect();
    let name = |who: &usize| all.get(who).cloned().unwrap_or_default();
    for pair @ (a, b) in pairs.symmetric_difference(recorded).filter(|(a, b)| a < b) {
        let (a, b, by_file) = (name(a), name(b), pairs.contains(pair));
        findings.push(of_run(Flaw::OneSided { a, b, by_file }));
    }
    pairs
}

/// A flaw of the run itself.
fn of_run(flaw: Flaw) -> Finding {
    Finding::Flaw { training: String::new(), flaw }
}
