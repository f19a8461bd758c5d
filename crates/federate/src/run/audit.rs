//! Replays the ledger of a run and confirms the rule, or names the breach.
//!
//! This shares nothing with the guard: it reads nothing but the store and the model files,
//! counts with plain sets of its own, and believes no statement of provenance. A
//! participant is taken to carry everything that it was ever handed, and whatever it sends
//! to carry all of that. Who competes it takes from the record only where nobody gives it
//! the federation file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use fedcompetitors_graphs::CompetingGraph;
use sha2::{Digest, Sha256};

use super::{
    RunError, Store, read_model,
    store::{estimate_title, from_json, hex, json},
};

/// What an audit has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// How the run stands, as it says.
    pub status: String,
    /// Trainings that were looked at.
    pub trainings: usize,
    /// Estimates that were looked at.
    pub estimates: usize,
    /// Transfers that were replayed.
    pub transfers: usize,
    /// Model files that were checked.
    pub models: usize,
    /// What is wrong; nothing, if all is well.
    pub findings: Vec<Finding>,
    /// What is not the ledger's to show, where it joins competitors.
    pub besides: Vec<Besides>,
    /// Methods that are for reference only and were not replayed.
    pub references: Vec<String>,
}

/// What flows beside the ledger by the nature of a method, and joins competitors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Besides {
    /// The method.
    pub method: String,
    /// What flows, in words.
    pub statement: String,
    /// The competitors that it joins.
    pub pairs: Vec<(String, String)>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A participant's data has come to a competitor.
    Breach {
        /// Method and seed.
        training: String,
        /// The round.
        round: u64,
        /// The entry of the ledger that brought it.
        entry: u64,
        /// The way it took, by name: from whose it is to who got it.
        path: Vec<String>,
    },
    /// The record contradicts itself, or what lies beside it.
    Flaw {
        /// Method and seed; the run itself, if it is empty.
        training: String,
        /// What is wrong, in words.
        what: String,
    },
    /// The guard has stopped a training, and nobody has got past that yet.
    Stopped {
        /// Method and seed.
        training: String,
        /// What the guard said.
        message: String,
    },
}

impl Finding {
    /// A flaw of the run itself.
    fn of_run(what: String) -> Self {
        Self::Flaw { training: String::new(), what }
    }
}

/// A line of the ledger.
struct Line {
    entry: u64,
    round: u64,
    sender: Option<usize>,
    receiver: Option<usize>,
    content: String,
    made_of: Option<Vec<u64>>,
    provenance: Option<BTreeSet<usize>>,
    bytes: u64,
}

/// Something that was sent: by whom, what, what it is said to carry, and what it may carry.
type Sent = (usize, String, BTreeSet<usize>, BTreeSet<usize>);

/// The name under which the ceiling is stored.
const REFERENCE: &str = "pooled";

/// Looks at everything that a run directory says; who competes is for the federation file to
/// say, where it is given.
///
/// # Errors
/// If it cannot be read.
pub fn audit(folder: &Path, federation: Option<&CompetingGraph>) -> Result<Audit, RunError> {
    let store = Store::read(folder)?;
    let names: BTreeMap<usize, String> = store
        .rows("SELECT id, name FROM participants", [], |row| Ok((row.get(0)?, row.get(1)?)))?
        .into_iter()
        .collect();
    let mut audit = Audit {
        status: store.said("status")?.unwrap_or_default(),
        trainings: 0,
        estimates: 0,
        transfers: 0,
        models: 0,
        findings: Vec::new(),
        besides: Vec::new(),
        references: Vec::new(),
    };
    for stop in store.stops()? {
        let training = format!("{}, seed {}", stop.method, stop.seed);
        audit.findings.push(Finding::Stopped { training, message: stop.message });
    }
    let rivals = Rivals::of(&store, &names, federation, &mut audit.findings)?;
    let estimates: Vec<(i64, u64, String, u64)> =
        store.rows("SELECT id, seed, estimator, known FROM estimates ORDER BY id", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    for (id, seed, estimator, known) in estimates {
        // Its models are thrown away: nothing of it is carried into the trainings but benefits.
        let title = format!("{}, seed {seed}", estimate_title(&estimator));
        let mut replay = Replay::new(&store, &names, &rivals, &title);
        replay.known = Some(known);
        audit.transfers += replay.ledger(&ESTIMATE, id)?;
        audit.estimates += 1;
        audit.findings.append(&mut replay.findings);
    }
    let trainings: Vec<(i64, u64, String, bool)> = store.rows(
        "SELECT id, seed, method, gradients IS NOT NULL FROM trainings ORDER BY id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    for (id, seed, method, is_done) in trainings {
        let title = format!("{method}, seed {seed}");
        let mut replay = Replay::new(&store, &names, &rivals, &title);
        if !is_done && audit.status != "running" {
            replay.flaw(format!("it is not complete, but the run is recorded as {}", audit.status));
        }
        if method == REFERENCE {
            if !audit.references.contains(&method) {
                audit.references.push(method);
            }
        } else {
            replay.plans(id)?;
            audit.transfers += replay.ledger(&TRAINING, id)?;
            audit.models += replay.models(id, folder)?;
            audit.trainings += 1;
            for besides in replay.besides(id, &method)? {
                if !audit.besides.contains(&besides) {
                    audit.besides.push(besides);
                }
            }
        }
        audit.findings.append(&mut replay.findings);
    }
    for training in store.altered()? {
        let what = "its record was changed after it ended".into();
        audit.findings.push(Finding::Flaw { training, what });
    }
    Ok(audit)
}

/// Who competes with whom, either way round; for which round that was first known, and with
/// which declaration it was heard: 0 from the beginning.
struct Rivals(BTreeMap<(usize, usize), (u64, u64)>);

impl Rivals {
    /// Do two compete, in a round?
    fn compete(&self, a: usize, b: usize, round: u64) -> bool {
        self.0.get(&(a, b)).is_some_and(|&(since, _)| since <= round)
    }

    /// Do two compete by the declarations up to one?
    fn were_known(&self, a: usize, b: usize, known: u64) -> bool {
        self.0.get(&(a, b)).is_some_and(|&(_, heard)| heard <= known)
    }

    fn of(
        store: &Store,
        names: &BTreeMap<usize, String>,
        federation: Option<&CompetingGraph>,
        findings: &mut Vec<Finding>,
    ) -> Result<Self, RunError> {
        let declared: Vec<(usize, usize, u64, u64)> =
            store.rows("SELECT a, b, since, heard FROM competing", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let mut first = BTreeMap::new();
        for (a, b, round, heard) in declared {
            for pair in [(a, b), (b, a)] {
                let (since, with): &mut (u64, u64) = first.entry(pair).or_insert((round, heard));
                (*since, *with) = (round.min(*since), heard.min(*with));
            }
        }
        let told = rivals(store, names, federation, findings)?;
        // What only the file knows was always known.
        Ok(Self(
            told.into_iter().map(|pair| (pair, *first.get(&pair).unwrap_or(&(0, 0)))).collect(),
        ))
    }
}

/// Who competes with whom, either way round.
fn rivals(
    store: &Store,
    names: &BTreeMap<usize, String>,
    federation: Option<&CompetingGraph>,
    findings: &mut Vec<Finding>,
) -> Result<BTreeSet<(usize, usize)>, RunError> {
    let both_ways = |pairs: &[(usize, usize)]| -> BTreeSet<(usize, usize)> {
        pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
    };
    let reports: Vec<(usize, usize)> =
        store.rows("SELECT a, b FROM competing ORDER BY a, b", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if store.said("competing")? != Some(hex(&Sha256::digest(json(&reports)))) {
        let what = "the competitions differ from those at the start";
        findings.push(Finding::of_run(what.into()));
    }
    let recorded = both_ways(&reports);
    let Some(federation) = federation else {
        return Ok(recorded);
    };
    // The file's participants by the record's numbers; who is not there gets one of its own.
    let listed: BTreeSet<&str> = federation.participants().names().collect();
    let known: BTreeMap<&str, usize> = names.iter().map(|(&id, name)| (&**name, id)).collect();
    let mut all = names.clone();
    let mut number = Vec::new();
    for name in federation.participants().names() {
        number.push(known.get(name).copied().unwrap_or_else(|| {
            let new = all.last_key_value().map_or(0, |(last, _)| last + 1);
            all.insert(new, name.to_owned());
            let what = format!("\"{name}\" is a participant only in the federation file");
            findings.push(Finding::of_run(what));
            new
        }));
    }
    for name in names.values().filter(|name| !listed.contains(name.as_str())) {
        findings.push(Finding::of_run(format!(
            "\"{name}\" is a participant, but not in the federation file"
        )));
    }
    let reports: Vec<_> = federation.all_reports().map(|(a, b)| (number[a], number[b])).collect();
    let told = both_ways(&reports);
    let name = |who: &usize| all.get(who).cloned().unwrap_or_default();
    for (a, b) in told.symmetric_difference(&recorded).filter(|(a, b)| a < b) {
        let whose = if told.contains(&(*a, *b)) { "federation file" } else { "record" };
        let what =
            format!("\"{}\" and \"{}\" compete only according to the {whose}", name(a), name(b));
        findings.push(Finding::of_run(what));
    }
    Ok(told)
}

/// Where a ledger stands: its table, the column of whose it is, and the table of those.
struct Book(&'static str, &'static str, &'static str);

const TRAINING: Book = Book("ledger", "training", "trainings");
const ESTIMATE: Book = Book("estimate_ledger", "estimate", "estimates");

/// The replay of one training, or of one estimate.
struct Replay<'a> {
    store: &'a Store,
    names: &'a BTreeMap<usize, String>,
    rivals: &'a Rivals,
    title: &'a str,
    /// Everything that each participant was ever handed, and its own data.
    carried: BTreeMap<usize, BTreeSet<usize>>,
    /// From whom a participant first got what carries another one's data.
    from: BTreeMap<(usize, usize), usize>,
    /// For an estimate, the last declaration that had been heard: its rounds are its own.
    known: Option<u64>,
    /// Who has got whose data against the rule: said once.
    breached: BTreeSet<(usize, usize)>,
    findings: Vec<Finding>,
}

impl<'a> Replay<'a> {
    fn new(
        store: &'a Store,
        names: &'a BTreeMap<usize, String>,
        rivals: &'a Rivals,
        title: &'a str,
    ) -> Self {
        let carried = names.keys().map(|&who| (who, BTreeSet::from([who]))).collect();
        let (from, breached, findings) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let known = None;
        Self { store, names, rivals, title, carried, from, known, breached, findings }
    }

    fn flaw(&mut self, what: String) {
        self.findings.push(Finding::Flaw { training: self.title.to_owned(), what });
    }

    fn name(&self, who: usize) -> String {
        self.names.get(&who).cloned().unwrap_or_else(|| format!("nobody ({who})"))
    }

    /// Do the plan, and those that it took the place of, keep the rule?
    fn plans(&mut self, training: i64) -> Result<(), RunError> {
        let edges: Vec<(usize, usize)> = self.store.rows(
            "SELECT helper, helped FROM usage WHERE training = ?",
            [training],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let plans: Vec<(u64, u64, String)> = self.store.rows(
            "SELECT round, known, plan FROM plans WHERE training = ? ORDER BY id",
            [training],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        // What was declared behind the last plan nothing has followed yet.
        self.plan(&edges, plans.last().map_or(u64::MAX, |(_, known, _)| *known));
        let numbers: BTreeMap<&str, usize> =
            self.names.iter().map(|(&number, name)| (&**name, number)).collect();
        for (round, known, plan) in plans {
            let edges: Option<Vec<_>> = from_json::<serde_json::Value>(&plan).and_then(|plan| {
                let number = |edge: &serde_json::Value, end: &str| {
                    numbers.get(edge.get(end)?.as_str()?).copied()
                };
                let edges = plan.get("usage")?.as_array()?.iter();
                edges.map(|edge| Some((number(edge, "from")?, number(edge, "to")?))).collect()
            });
            match edges {
                Some(edges) => self.plan(&edges, known),
                None => self.flaw(format!("the plan of round {round} cannot be read")),
            }
        }
        Ok(())
    }

    /// Does a plan keep the rule, by the declarations up to one? Along its edges from everybody as
    /// far as they go.
    fn plan(&mut self, edges: &[(usize, usize)], known: u64) {
        let mut helps: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        edges.iter().for_each(|&(from, to)| helps.entry(from).or_default().push(to));
        for &start in self.names.keys() {
            let mut reached = BTreeSet::from([start]);
            let mut ahead = vec![start];
            while let Some(at) = ahead.pop() {
                for &next in helps.get(&at).into_iter().flatten() {
                    if reached.insert(next) {
                        ahead.push(next);
                    }
                }
            }
            if let Some(&rival) =
                reached.iter().find(|&&who| self.rivals.were_known(start, who, known))
            {
                let (a, b) = (self.name(start), self.name(rival));
                self.flaw(format!("the plan connects \"{a}\" with its competitor \"{b}\""));
            }
        }
    }

    /// What flows besides, as far as it joins competitors.
    fn besides(&mut self, training: i64, method: &str) -> Result<Vec<Besides>, RunError> {
        let flows: Vec<(String, String)> = self.store.rows(
            "SELECT statement, pairs FROM flows WHERE training = ? ORDER BY source",
            [training],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut all = Vec::new();
        for (statement, pairs) in flows {
            let Some(pairs) = from_json::<Vec<(usize, usize)>>(&pairs) else {
                self.flaw(format!("the pairs that this connects cannot be read: {statement}"));
                continue;
            };
            let pairs: Vec<_> =
                pairs.into_iter().map(|(a, b)| (self.name(a), self.name(b))).collect();
            if !pairs.is_empty() {
                all.push(Besides { method: method.to_owned(), statement, pairs });
            }
        }
        Ok(all)
    }

    /// Replays the ledger; returns how many lines it has.
    fn ledger(&mut self, Book(ledger, of, owners): &Book, id: i64) -> Result<usize, RunError> {
        let lines: Vec<Line> = self.store.rows(
            &format!(
                "SELECT entry, round, sender, receiver, content, made_of, provenance, bytes
                 FROM {ledger} WHERE {of} = ? ORDER BY entry"
            ),
            [id],
            |row| {
                Ok(Line {
                    entry: row.get(0)?,
                    round: row.get(1)?,
                    sender: row.get(2)?,
                    receiver: row.get(3)?,
                    content: row.get(4)?,
                    made_of: from_json(&row.get::<_, String>(5)?),
                    provenance: from_json(&row.get::<_, String>(6)?),
                    bytes: row.get(7)?,
                })
            },
        )?;
        let entries: Vec<u64> = self.store.rows(
            &format!("SELECT entries FROM {owners} WHERE id = ?"),
            [id],
            |row| row.get(0),
        )?;
        let count = lines.len();
        if entries != [count as u64] {
            let entries = entries.first().copied().unwrap_or(0);
            self.flaw(format!(
                "the ledger has {count} entries, but had {entries} when it was last written"
            ));
        }
        let mut sent: BTreeMap<u64, Sent> = BTreeMap::new();
        let mut round = 0;
        for (at, line) in lines.iter().enumerate() {
            let entry = line.entry;
            if entry != at as u64 + 1 {
                self.flaw(format!("the ledger goes from entry {at} to entry {entry}"));
                break;
            }
            if line.round < round {
                self.flaw(format!("entry {entry} is of an earlier round than the one before"));
            }
            round = line.round;
            let (Some(made_of), Some(provenance)) = (&line.made_of, &line.provenance) else {
                self.flaw(format!("entry {entry} cannot be read"));
                continue;
            };
            match (line.sender, line.receiver) {
                (Some(sender), None) => {
                    let Some(carried) = self.carried.get(&sender).cloned() else {
                        self.flaw(format!("entry {entry}: the sender is not a participant"));
                        continue;
                    };
                    if !provenance.contains(&sender) || !provenance.is_subset(&carried) {
                        let name = self.name(sender);
                        self.flaw(format!("entry {entry}: what \"{name}\" has sent is recorded as carrying data that it cannot carry, or not its own"));
                    }
                    sent.insert(entry, (sender, line.content.clone(), provenance.clone(), carried));
                }
                (None, Some(receiver)) => {
                    if made_of.is_empty() && line.bytes > 0 {
                        let bytes = line.bytes;
                        self.flaw(format!(
                            "entry {entry} has {bytes} bytes and is made of nothing"
                        ));
                    }
                    let mut said = BTreeSet::new();
                    for part in made_of {
                        let Some((sender, content, claimed, carried)) = sent.get(part).cloned()
                        else {
                            self.flaw(format!(
                                "entry {entry} is made of entry {part}, which was not sent before"
                            ));
                            continue;
                        };
                        if content != line.content && content != "data" {
                            self.flaw(format!(
                                "entry {entry}, a {}, is made of a {content}",
                                line.content
                            ));
                        }
                        said.extend(claimed);
                        self.hand_over(receiver, sender, &carried, line);
                    }
                    if said != *provenance {
                        self.flaw(format!(
                            "entry {entry} is recorded as carrying other data than its parts"
                        ));
                    }
                }
                _ => self.flaw(format!(
                    "entry {entry} is not between a participant and the coordinator"
                )),
            }
        }
        Ok(count)
    }

    /// A participant is handed something that carries these participants' data.
    fn hand_over(&mut self, to: usize, from: usize, carried: &BTreeSet<usize>, line: &Line) {
        for &other in carried {
            let compete = match self.known {
                Some(known) => self.rivals.were_known(other, to, known),
                None => self.rivals.compete(other, to, line.round),
            };
            // What somebody has had of itself is handed back to it.
            if from != to && compete && self.breached.insert((to, other)) {
                let mut path = vec![to, from];
                let mut at = from;
                while let Some(&before) = self.from.get(&(at, other)).filter(|_| at != other) {
                    path.push(before);
                    at = before;
                }
                let path = path.into_iter().rev().map(|who| self.name(who)).collect();
                let (training, round, entry) = (self.title.to_owned(), line.round, line.entry);
                self.findings.push(Finding::Breach { training, round, entry, path });
            }
            if other != to && from != to {
                self.from.entry((to, other)).or_insert(from);
            }
        }
        self.carried.entry(to).or_default().extend(carried);
    }

    /// Are the models what the record says? Returns how many files were read.
    fn models(&mut self, training: i64, folder: &Path) -> Result<usize, RunError> {
        let models: Vec<(usize, Option<String>, String, String)> = self.store.rows(
            "SELECT participant, file, hash, provenance FROM models WHERE training = ? ORDER BY participant",
            [training],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        let mut files = 0;
        for (who, file, hash, provenance) in models {
            let name = self.name(who);
            let Some(provenance) = from_json::<BTreeSet<usize>>(&provenance) else {
                self.flaw(format!("the provenance of the model of \"{name}\" cannot be read"));
                continue;
            };
            if let Some(&rival) =
                // What came before anybody knew of the competition cannot be undone.
                provenance.iter().find(|&&other| self.rivals.compete(other, who, 0))
            {
                let rival = self.name(rival);
                self.flaw(format!(
                    "the model of \"{name}\" is recorded as carrying data of its competitor \"{rival}\""
                ));
            }
            if !self.carried.get(&who).is_some_and(|carried| provenance.is_subset(carried)) {
                self.flaw(format!(
                    "the model of \"{name}\" is recorded as carrying data that was never delivered to it"
                ));
            }
            let Some(file) = file else {
                continue;
            };
            match read_model(&folder.join(&file)) {
                Ok((about, parameters)) => {
                    files += 1;
                    let bytes: Vec<u8> =
                        parameters.iter().flat_map(|value| value.to_le_bytes()).collect();
                    let found = hex(&Sha256::digest(bytes));
                    let said: BTreeSet<&String> = about.provenance.iter().collect();
                    let stored: BTreeSet<&String> =
                        provenance.iter().filter_map(|other| self.names.get(other)).collect();
                    let is_same = found == hash
                        && about.hash == hash
                        && about.participant == name
                        && said == stored;
                    if !is_same {
                        self.flaw(format!("the file of the model of \"{name}\", {file}, is not the one that was trained"));
                    }
                }
                Err(error) => self.flaw(format!("the model of \"{name}\" cannot be read: {error}")),
            }
        }
        Ok(files)
    }
}
