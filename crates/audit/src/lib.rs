//! Replays the ledger of a run and confirms the rule, or reports each breach.
//!
//! This shares nothing with the guard. It reads the plain types of a record, counts with plain
//! sets of its own, and believes no statement of provenance: a participant carries everything
//! that was ever delivered to it, and whatever it sends carries all of that. Who competes, and the
//! rule, come from the record only where no federation file is given.

#![forbid(unsafe_code)]

mod rivals;

use std::collections::{BTreeMap, BTreeSet};

use fedcompetitors_record::{
    Audit, Content, Declared, EntryFlaw, EstimateHistory, Finding, Flaw, Ledger, Line, ModelFlaw,
    ModelHistory, Origin, PlanHistory, Role, Rule, Status, TrainingHistory, Uncovered,
};

use rivals::Rivals;

/// An entry that was sent: by whom, what, what it is said to carry, and what it may carry.
type Sent = (usize, Content, BTreeSet<usize>, BTreeSet<usize>);

/// An audit that estimates and trainings are given to, one after the other.
#[derive(Debug)]
pub struct Auditor<'a> {
    origin: &'a Origin,
    rivals: Rivals,
    /// The rule by which to audit; where absent, plans keep the rule that they name.
    rule: Option<Rule>,
    audit: Audit,
}

impl<'a> Auditor<'a> {
    /// Begins the audit of a run. Who competes is taken from `declared`, and the rule from `rule`, where they
    /// are given.
    pub fn new(origin: &'a Origin, declared: Option<&Declared>, rule: Option<Rule>) -> Self {
        let mut findings = Vec::new();
        for stop in &origin.stops {
            let training = format!("{}, {}", stop.method, stop.session);
            findings.push(Finding::Stopped { training, message: stop.message.clone() });
        }
        let rivals = Rivals::new(origin, declared, &mut findings);
        let audit = Audit {
            status: origin.status,
            rule: Rule::Paths,
            trainings: 0,
            estimates: 0,
            transfers: 0,
            models: 0,
            findings,
            uncovered: Vec::new(),
            references: Vec::new(),
        };
        Self { origin, rivals, rule, audit }
    }

    /// Replays an estimate. Its models are discarded, so nothing of it is carried into trainings
    /// but the benefits.
    pub fn estimate(&mut self, estimate: &EstimateHistory) {
        let known = Some(estimate.known);
        let mut replay = Replay::new(&self.origin.names, &self.rivals, &estimate.title, known);
        replay.ledger(&estimate.ledger);
        self.audit.transfers += estimate.ledger.lines.len();
        self.audit.estimates += 1;
        self.audit.findings.append(&mut replay.findings);
    }

    /// Replays a training, and checks its plans and models.
    pub fn training(&mut self, training: &TrainingHistory) {
        let mut replay = Replay::new(&self.origin.names, &self.rivals, &training.title, None);
        if !training.is_done && self.origin.status != Status::Running {
            let status = self.origin.status;
            replay.flaw(Flaw::Incomplete(status));
        }
        if training.role == Role::Reference {
            if !self.audit.references.contains(&training.method) {
                self.audit.references.push(training.method.clone());
            }
        } else {
            // A file with the weaker rule asks no less of a plan that was made under the other.
            let stricter = self.rule.filter(|rule| !training.rule.implies(*rule));
            replay.rule = stricter.unwrap_or(training.rule);
            if stricter.is_some() {
                let flaw = Flaw::OtherRule(training.method.clone());
                let finding = Finding::Flaw { training: String::new(), flaw };
                if !self.audit.findings.contains(&finding) {
                    self.audit.findings.push(finding);
                }
            }
            if replay.rule == Rule::Messages {
                self.audit.rule = Rule::Messages;
            }
            replay.plans(&training.usage, &training.plans);
            replay.ledger(&training.ledger);
            training.models.iter().for_each(|model| replay.model(model));
            self.audit.transfers += training.ledger.lines.len();
            self.audit.models += training.models.iter().filter(|model| is_read(model)).count();
            self.audit.trainings += 1;
            for uncovered in replay.uncovered(training) {
                if !self.audit.uncovered.contains(&uncovered) {
                    self.audit.uncovered.push(uncovered);
                }
            }
        }
        self.audit.findings.append(&mut replay.findings);
    }

    /// The result.
    pub fn finish(mut self) -> Audit {
        for training in &self.origin.altered {
            let training = training.clone();
            self.audit.findings.push(Finding::Flaw { training, flaw: Flaw::Altered });
        }
        self.audit
    }
}

fn is_read(model: &ModelHistory) -> bool {
    matches!(model.file, Some((_, Ok(_))))
}

/// The replay of one training, or of one estimate.
struct Replay<'a> {
    names: &'a BTreeMap<usize, String>,
    rivals: &'a Rivals,
    title: &'a str,
    /// The rule that plans must keep.
    rule: Rule,
    /// All participants whose data was delivered to each participant, and itself.
    carried: BTreeMap<usize, BTreeSet<usize>>,
    /// Those to whom anything was delivered.
    received: BTreeSet<usize>,
    /// From whom a participant first received data of another one.
    from: BTreeMap<(usize, usize), usize>,
    /// For an estimate, the last declaration that had been heard: its rounds are its own.
    known: Option<u64>,
    /// Receiver and owner of each breach, so that each is reported once.
    breached: BTreeSet<(usize, usize)>,
    findings: Vec<Finding>,
}

impl<'a> Replay<'a> {
    fn new(
        names: &'a BTreeMap<usize, String>,
        rivals: &'a Rivals,
        title: &'a str,
        known: Option<u64>,
    ) -> Self {
        let carried = names.keys().map(|&who| (who, BTreeSet::from([who]))).collect();
        let (from, received) = (BTreeMap::new(), BTreeSet::new());
        let (breached, findings) = (BTreeSet::new(), Vec::new());
        let rule = Rule::Paths;
        Self { names, rivals, title, rule, carried, received, from, known, breached, findings }
    }

    fn flaw(&mut self, flaw: Flaw) {
        self.findings.push(Finding::Flaw { training: self.title.to_owned(), flaw });
    }

    fn name(&self, who: usize) -> String {
        self.names.get(&who).cloned().unwrap_or_else(|| format!("nobody ({who})"))
    }

    /// Checks that the plan, and those that it replaced, keep the rule.
    fn plans(&mut self, usage: &[(usize, usize)], plans: &[PlanHistory]) {
        // What was declared after the last plan nothing has followed yet.
        self.plan(usage, plans.last().map_or(u64::MAX, |plan| plan.known));
        let numbers: BTreeMap<&str, usize> =
            self.names.iter().map(|(&number, name)| (&**name, number)).collect();
        for PlanHistory { round, known, usage } in plans {
            let edges: Option<Vec<_>> = usage.as_ref().and_then(|usage| {
                let number = |name: &String| numbers.get(name.as_str()).copied();
                usage.iter().map(|(from, to)| Some((number(from)?, number(to)?))).collect()
            });
            match edges {
                Some(edges) => self.plan(&edges, *known),
                None => self.flaw(Flaw::UnreadablePlan(*round)),
            }
        }
    }

    /// Checks that a plan keeps the rule by the declarations up to one: follows its edges from
    /// every participant as far as they go.
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
                // Data goes no further than one edge.
                if self.rule == Rule::Messages {
                    break;
                }
            }
            if let Some(&rival) =
                reached.iter().find(|&&who| self.rivals.were_known(start, who, known))
            {
                let (a, b) = (self.name(start), self.name(rival));
                self.flaw(Flaw::PlanConnects(a, b));
            }
        }
    }

    /// What flows outside the ledger and joins competitors.
    fn uncovered(&mut self, training: &TrainingHistory) -> Vec<Uncovered> {
        let mut all = Vec::new();
        for flow in &training.flows {
            let Some(flow) = flow else {
                self.flaw(Flaw::UnreadableFlow);
                continue;
            };
            let pairs: Vec<_> =
                flow.pairs.iter().map(|&(a, b)| (self.name(a), self.name(b))).collect();
            if !pairs.is_empty() {
                all.push(Uncovered { method: training.method.clone(), flow: flow.clone(), pairs });
            }
        }
        all
    }

    /// Replays a ledger.
    fn ledger(&mut self, ledger: &Ledger) {
        let (found, written) = (ledger.lines.len() as u64, ledger.entries);
        if found != written {
            self.flaw(Flaw::EntriesLost { found, written });
        }
        let mut sent: BTreeMap<u64, Sent> = BTreeMap::new();
        let mut round = 0;
        for (at, line) in ledger.lines.iter().enumerate() {
            let entry = line.entry;
            if entry != at as u64 + 1 {
                self.flaw(Flaw::EntriesSkipped { last: at as u64, next: entry });
                break;
            }
            if line.round < round {
                self.flaw(Flaw::Entry(entry, EntryFlaw::EarlierRound));
            }
            round = line.round;
            let (Some(content), Some(made_of), Some(provenance)) =
                (line.content, &line.made_of, &line.provenance)
            else {
                self.flaw(Flaw::Entry(entry, EntryFlaw::Unreadable));
                continue;
            };
            match (line.sender, line.receiver) {
                (Some(sender), None) => {
                    let Some(carried) = self.carried.get(&sender).cloned() else {
                        self.flaw(Flaw::Entry(entry, EntryFlaw::UnknownSender));
                        continue;
                    };
                    if !provenance.contains(&sender) || !provenance.is_subset(&carried) {
                        let name = self.name(sender);
                        self.flaw(Flaw::Entry(entry, EntryFlaw::Carried(name)));
                    }
                    // What is sent once is made before anything is received: then it carries nobody else's data.
                    let is_committed = matches!(content, Content::Summary | Content::Trunk);
                    if is_committed && self.received.contains(&sender) {
                        let name = self.name(sender);
                        self.flaw(Flaw::Entry(entry, EntryFlaw::CommittedLate(name)));
                    }
                    sent.insert(entry, (sender, content, provenance.clone(), carried));
                }
                (None, Some(receiver)) => {
                    self.delivery(receiver, line, (content, made_of, provenance), &sent);
                }
                _ => self.flaw(Flaw::Entry(entry, EntryFlaw::NoEnds)),
            }
        }
    }

    /// Replays a delivery to a participant, which is made of earlier entries.
    fn delivery(
        &mut self,
        receiver: usize,
        line: &Line,
        (content, made_of, provenance): (Content, &[u64], &BTreeSet<usize>),
        sent: &BTreeMap<u64, Sent>,
    ) {
        let &Line { entry, bytes, .. } = line;
        self.received.insert(receiver);
        if made_of.is_empty() && bytes > 0 {
            self.flaw(Flaw::Entry(entry, EntryFlaw::MadeOfNothing(bytes)));
        }
        let mut stated = BTreeSet::new();
        for &part in made_of {
            let Some((sender, of, claimed, carried)) = sent.get(&part) else {
                self.flaw(Flaw::Entry(entry, EntryFlaw::MadeOfUnsent(part)));
                continue;
            };
            if *of != content && *of != Content::Data {
                self.flaw(Flaw::Entry(entry, EntryFlaw::OtherContent { content, of: *of }));
            }
            stated.extend(claimed);
            self.hand_over(receiver, *sender, carried, line);
        }
        if stated != *provenance {
            self.flaw(Flaw::Entry(entry, EntryFlaw::OtherData));
        }
    }

    /// Notes that something was delivered that carries these participants' data.
    fn hand_over(&mut self, to: usize, from: usize, carried: &BTreeSet<usize>, line: &Line) {
        for &other in carried {
            let compete = match self.known {
                Some(known) => self.rivals.were_known(other, to, known),
                None => self.rivals.compete(other, to, line.round),
            };
            // A participant may get back what it has sent itself.
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

    /// Checks a model against the ledger and its file.
    fn model(&mut self, model: &ModelHistory) {
        let ModelHistory { participant, hash, provenance, file, file_hash } = model;
        let name = self.name(*participant);
        let Some(provenance) = provenance else {
            self.flaw(Flaw::Model(name, ModelFlaw::UnreadableProvenance));
            return;
        };
        // What was delivered before a competition was known cannot be undone.
        let is_rival = |&&other: &&usize| self.rivals.compete(other, *participant, 0);
        if let Some(&rival) = provenance.iter().find(is_rival) {
            let rival = self.name(rival);
            self.flaw(Flaw::Model(name.clone(), ModelFlaw::CarriesCompetitor(rival)));
        }
        if !self.carried.get(participant).is_some_and(|carried| provenance.is_subset(carried)) {
            self.flaw(Flaw::Model(name.clone(), ModelFlaw::CarriesUndelivered));
        }
        match file {
            None => {}
            Some((_, Err(error))) => {
                self.flaw(Flaw::Model(name, ModelFlaw::Unreadable(error.clone())));
            }
            Some((file, Ok(found))) => {
                let stored: BTreeSet<String> =
                    provenance.iter().filter_map(|other| self.names.get(other).cloned()).collect();
                let is_same = found.hash == *hash
                    && Some(&found.file_hash) == file_hash.as_ref()
                    && found.stated_hash == *hash
                    && found.participant == name
                    && found.provenance == stored;
                if !is_same {
                    self.flaw(Flaw::Model(name, ModelFlaw::OtherFile(file.clone())));
                }
            }
        }
    }
}
