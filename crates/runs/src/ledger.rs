//! Guard, ledger and store of a run whose participants are remote: at the other end of a network, or in
//! another language.
//!
//! The coordinator, which decides, reports here what has come and asks before anything goes. Guard, ledger
//! and store are those of a run in one process, so the same audit reads them. A participant may carry
//! whatever was ever delivered to it.

mod aside;
mod kept;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use fedcompetitors_files::parse_plan;
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Entry, Refusal, bits, refusals_by};
use fedcompetitors_record::{Metric, PlanFigures, Role, Session, Status, Stop};

use super::{
    ModelFile, RunError, Store, competing_hash,
    models::{self, write_model},
    program,
    store::{Checkpoint, Figure, Happened, NewPlan, NewTraining, StoredModel, StoredSource},
    summary,
};
use aside::Aside;
use fedcompetitors_federate::{
    FederateError,
    estimate::MIXTURE,
    exchange::{self, Content, Exchange, IncidentKind, Message, Submission, hex, is_compared},
    saved,
    train::MIXING,
};

/// What a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// What the federation is called.
    pub name: String,
    /// All else that was set, as TOML: a run goes on only with the same.
    pub settings: String,
    /// The figure that is reported.
    pub metric: Metric,
    /// The seed.
    pub seed: u64,
    /// How many rounds it takes.
    pub rounds: usize,
    /// Who decides.
    pub policy: String,
}

/// A figure by a participant's own account.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Whose.
    pub participant: usize,
    /// On which part of its data.
    pub split: String,
    /// What was measured.
    pub metric: String,
    /// The value, where it is defined.
    pub value: Option<f64>,
}

/// A participant's model in the end.
#[derive(Debug)]
pub struct Final<'a> {
    /// Its parameters.
    pub parameters: &'a [f32],
    /// From whom it has learned, itself included, with the part of each.
    pub parts: Vec<(usize, f32)>,
    /// The entry of the ledger that it came with; nothing for somebody who was never there and
    /// has the common start, which carries nobody's data.
    pub entry: Option<u64>,
}

/// Where a run that goes on was.
#[derive(Debug, Default)]
pub struct Stand {
    /// Rounds that are done.
    pub round: usize,
    /// What the caller wanted to know again.
    pub state: Vec<u8>,
    /// The text of its plan; nothing if there is none yet.
    pub plan: Option<String>,
    /// The benefits, if they were estimated.
    pub benefit: Option<BenefitGraph>,
    /// The last that was accepted of everybody.
    pub kept: Vec<Message>,
    /// Is it at its end?
    pub is_complete: bool,
}

/// Guard, ledger and store of one run.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
    folder: PathBuf,
    about: About,
    competing: CompetingGraph,
    /// The training, once there is a plan.
    training: Option<i64>,
    round: usize,
    passed: Passed,
    /// The training that is set aside, while there is an estimate.
    aside: Option<Aside>,
    since: Instant,
}

/// What has passed the guard in a training or an estimate, and what it remembers.
#[derive(Debug)]
struct Passed {
    /// What the exchange remembers.
    memory: Vec<u8>,
    /// Whose data everybody may carry, as sets of bits.
    carried: Vec<Vec<u64>>,
    /// What was accepted, by its entry, until the next round.
    messages: Vec<Message>,
    /// What is not stored yet.
    happened: Happened,
}

impl Passed {
    /// Nothing has passed: everybody carries its own data.
    fn nothing(competing: &CompetingGraph) -> Self {
        let count = competing.participants().len();
        Self {
            memory: Exchange::new(competing).save(),
            carried: (0..count).map(|who| bits::only(who, count)).collect(),
            messages: Vec::new(),
            happened: Happened::default(),
        }
    }
}

impl Ledger {
    /// Begins a run in a folder that has none. Of everybody: where its data is, in words, and
    /// how many samples it has.
    ///
    /// # Errors
    /// If there is a run, or the folder cannot be written to.
    pub fn begin(
        folder: &Path,
        about: About,
        competing: CompetingGraph,
        sources: &[(String, usize)],
    ) -> Result<Self, RunError> {
        let mut store = Store::open(folder)?;
        if store.said("federation")?.is_some() {
            return Err(RunError::Exists { folder: folder.to_owned() });
        }
        let sources: Vec<_> = sources
            .iter()
            .map(|(source, samples)| StoredSource {
                name: source.clone(),
                hash: String::new(),
                samples: *samples,
                few: false,
            })
            .collect();
        store.begin(
            &[
                ("federation", &about.settings),
                ("name", &about.name),
                ("faults", ""),
                ("benefits", ""),
                ("competing", &competing_hash(&competing)),
                ("metric", &about.metric.name),
                ("direction", about.metric.direction.name()),
                ("program", &program()),
                ("status", Status::Running.name()),
            ],
            &competing,
            &sources,
        )?;
        Ok(Self::new(store, folder, about, competing))
    }

    fn new(store: Store, folder: &Path, about: About, competing: CompetingGraph) -> Self {
        Self {
            store,
            folder: folder.to_owned(),
            about,
            training: None,
            round: 0,
            passed: Passed::nothing(&competing),
            competing,
            aside: None,
            since: Instant::now(),
        }
    }

    /// Goes on with the run in a folder; nothing, if there is none.
    ///
    /// # Errors
    /// If it is another one, or was changed.
    pub fn resume(folder: &Path, about: About) -> Result<Option<(Self, Stand)>, RunError> {
        let store = Store::open(folder)?;
        let Some(settings) = store.said("federation")? else {
            return Ok(None);
        };
        if settings != about.settings {
            let what = "other settings or participants".into();
            return Err(RunError::Differs { folder: folder.to_owned(), what });
        }
        let (then, now) = (store.said("program")?.unwrap_or_default(), program());
        if then != now {
            return Err(RunError::Version { folder: folder.to_owned(), then, now });
        }
        store.check_hashes()?;
        models::check(&store, folder)?;
        let competing = store.who_competes()?;
        let is_complete = summary::status(&store)? != Status::Running;
        let benefit = store.last_estimate(competing.participants(), Session::Final)?;
        let mut stand = Stand {
            is_complete,
            benefit: benefit.map(|estimate| estimate.benefit),
            ..Stand::default()
        };
        let mut all = Self::new(store, folder, about, competing);
        let training = all.store.training(Session::Final, &all.method())?;
        if training.as_ref().is_some_and(|training| training.gradients.is_some()) {
            if !is_complete {
                // It was killed on its last step: all is done but to say so.
                all.complete()?;
                stand.is_complete = true;
            }
            return Ok(Some((all, stand)));
        }
        all.store.tidy(training.as_ref().map(|training| training.id))?;
        if let Some(training) = training {
            all.training = Some(training.id);
            stand.plan = all.store.last_plan(training.id)?;
            if let Some(checkpoint) = all.store.checkpoint(training.id)? {
                (all.passed.memory, all.passed.carried) = saved::read(&checkpoint.exchange)?;
                all.round = checkpoint.round;
                (stand.round, stand.state) = (checkpoint.round, checkpoint.state);
            }
            stand.kept = all.store.kept(training.id)?;
            all.passed.messages = all.store.receipts(training.id)?;
        }
        if !is_complete {
            all.store.go_on()?;
        }
        Ok(Some((all, stand)))
    }

    /// What the training is called.
    fn method(&self) -> String {
        format!("{}+{}", self.about.policy, MIXING.name())
    }

    /// Who competes, as far as it was declared.
    pub fn competing(&self) -> &CompetingGraph {
        &self.competing
    }

    /// Whose data a participant may carry.
    pub fn carries(&self, participant: usize) -> impl Iterator<Item = usize> {
        bits::ones(&self.passed.carried[participant])
    }

    /// Begins a round, counted from 1.
    pub fn begin_round(&mut self, round: usize) {
        self.round = round;
    }

    /// Passes something through the exchange, and notes what that records.
    fn exchange<T>(
        &mut self,
        work: impl FnOnce(&mut Exchange<'_>, &[Vec<u64>]) -> Result<T, FederateError>,
    ) -> Result<T, RunError> {
        let mut exchange = Exchange::recorded(&self.competing);
        exchange.recall(&self.passed.memory)?;
        exchange.begin(self.round, &[]);
        let result = work(&mut exchange, &self.passed.carried);
        let (transfers, incidents) = exchange.drain();
        self.passed.memory = exchange.save();
        self.passed.happened.transfers.extend(transfers);
        self.passed.happened.incidents.extend(incidents);
        match result {
            Err(error @ FederateError::Guard { .. }) => Err(self.stopped(error)?),
            result => Ok(result?),
        }
    }

    /// The guard has stopped it: the record says so.
    fn stopped(&mut self, error: FederateError) -> Result<RunError, RunError> {
        let (session, round, message) = (Session::Final, self.round, error.to_string());
        let happened = std::mem::take(&mut self.passed.happened);
        if self.training.is_some() && self.aside.is_none() {
            self.store.stop(&Stop { session, method: self.method(), round, message }, &happened)?;
        } else {
            let label = self.aside.as_ref().map_or(MIXTURE.name(), |aside| &aside.label);
            self.store.stop_estimate(session, label, (round, &message), &happened.transfers)?;
        }
        Ok(error.into())
    }

    /// Notes that somebody was missing, or that what it sent cannot be read.
    ///
    /// # Errors
    /// If the memory of the exchange was changed.
    pub fn incident(&mut self, participant: usize, kind: IncidentKind) -> Result<(), RunError> {
        self.exchange(|exchange, _| {
            exchange.incident(participant, kind);
            Ok(())
        })
    }

    /// Takes what participants send, each at its index with what the coordinator last knew of
    /// it, so many numbers from each. Gives the entries of what was accepted.
    ///
    /// # Errors
    /// If the memory of the exchange was changed.
    pub fn collect(
        &mut self,
        content: Content,
        length: usize,
        submissions: &[Option<(&[f32], &[f32])>],
    ) -> Result<Vec<Option<u64>>, RunError> {
        let receipts = self.exchange(|exchange, carried| {
            let submissions: Vec<_> = submissions
                .iter()
                .zip(carried)
                .map(|(submission, carried)| {
                    submission.map(|(values, before)| Submission { values, before, carried })
                })
                .collect();
            Ok(exchange.take(content, length, is_compared(content), &submissions))
        })?;
        let entries = receipts.iter().map(|receipt| receipt.as_ref().map(Message::entry)).collect();
        self.passed.messages.extend(receipts.into_iter().flatten());
        Ok(entries)
    }

    /// Hands a participant what was made of these entries; says whose data it carries.
    ///
    /// # Errors
    /// If it carries data of a competitor: then it must not go. If it is made of what nobody
    /// has sent.
    pub fn deliver(
        &mut self,
        to: usize,
        content: Content,
        values: &[f32],
        made_of: &[u64],
    ) -> Result<Vec<usize>, RunError> {
        let made_of: Vec<Message> =
            made_of.iter().map(|&entry| self.message(entry).cloned()).collect::<Result<_, _>>()?;
        let carried =
            self.exchange(|exchange, _| exchange.deliver(to, content, values, &made_of))?;
        bits::union(&mut self.passed.carried[to], &carried);
        Ok(bits::ones(&carried).collect())
    }

    /// Follows a plan from the next round on: the text of its file and of its certificate, and
    /// why there is a new one.
    ///
    /// # Errors
    /// If that is no plan for these participants, or cannot be written.
    pub fn follow(
        &mut self,
        (plan, certificate, why): (&str, &str, &str),
        benefit: &BenefitGraph,
        explain: &dyn Fn(&CompetingGraph, &Refusal) -> String,
    ) -> Result<(), RunError> {
        let stated = parse_plan(&self.folder.join("plan"), plan)?;
        if stated.participants() != self.competing.participants() {
            let what = "a plan for other participants".into();
            return Err(RunError::Differs { folder: self.folder.clone(), what });
        }
        let refused = refusals_by(stated.rule, &self.competing, benefit, &stated.usage, None);
        let new = NewTraining {
            session: Session::Final,
            method: self.method(),
            role: Role::Own,
            rule: stated.rule,
            policy: self.about.policy.clone(),
            trainer: MIXING.name().into(),
            estimator: Some(MIXTURE.name().into()),
            rounds: self.about.rounds,
            certificate: certificate.to_owned(),
            plan: Some(PlanFigures {
                welfare: stated.welfare,
                upper_bound: stated.upper_bound,
                note: None,
                forecast: None,
            }),
            usage: stated.usage.edges().collect(),
            refusals: refused
                .map(|refusal| (refusal.from, refusal.to, explain(&self.competing, &refusal)))
                .collect(),
            flows: vec![MIXTURE.with_defaults().flow(&self.competing), MIXING.all_in_ledger()],
        };
        let id = match self.training {
            Some(id) => id,
            None => self.store.begin_training(&new)?,
        };
        self.training = Some(id);
        self.store.add_plan(id, NewPlan { round: self.round + 1, plan, why }, &new)
    }

    /// Knows more competitions, by which everything is judged from this round on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn declare(&mut self, competing: CompetingGraph, since: usize) -> Result<(), RunError> {
        self.store.declare(&competing, since)?;
        self.competing = competing;
        Ok(())
    }

    /// Somebody was heard of who had not been there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn found(
        &mut self,
        participant: usize,
        source: &str,
        samples: usize,
    ) -> Result<(), RunError> {
        self.store.found(participant, source, samples)
    }

    /// Keeps what has happened: from here a run goes on that is interrupted. To be called
    /// before anything goes to a participant, so that nothing is on its way that the ledger
    /// does not know.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&mut self, state: Vec<u8>) -> Result<(), RunError> {
        let Some(training) = self.training else {
            return Ok(());
        };
        let happened = std::mem::take(&mut self.passed.happened);
        let exchange = saved::write(&(&self.passed.memory, &self.passed.carried));
        let checkpoint = Checkpoint { round: self.round, gradients: 0, state, exchange };
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        self.store.add_rounds(training, &happened, &checkpoint, seconds)
    }

    /// The figures of a resumed run's rounds so far, each with its round.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn told(&self) -> Result<Vec<(usize, Told)>, RunError> {
        self.store.rows(
            "SELECT round, participant, split, metric, value FROM metrics WHERE training = ?
             ORDER BY round, participant, split, metric",
            [self.training],
            |row| {
                let (participant, split) = (row.get(1)?, row.get(2)?);
                let (metric, value) = (row.get(3)?, row.get(4)?);
                Ok((row.get(0)?, Told { participant, split, metric, value }))
            },
        )
    }

    /// Whose data something carries that was accepted and is kept.
    ///
    /// # Errors
    /// If nobody has sent it.
    pub fn provenance(&self, entry: u64) -> Result<Vec<usize>, RunError> {
        Ok(bits::ones(self.message(entry)?.carried()).collect())
    }

    /// What was accepted as this entry.
    fn message(&self, entry: u64) -> Result<&Message, RunError> {
        let message = self.passed.messages.iter().find(|message| message.entry() == entry);
        message.ok_or(RunError::UnknownEntry { entry })
    }

    /// Notes figures of this round.
    pub fn tell(&mut self, told: Vec<Told>) {
        let round = self.round;
        self.passed.happened.figures.extend(told.into_iter().map(|one| Figure {
            participant: one.participant,
            round,
            split: one.split.into(),
            metric: one.metric.into(),
            value: one.value,
        }));
    }

    /// Ends the run: everybody's model gets its file, with tensors of these names and shapes.
    /// Says whether there were incidents.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(
        &mut self,
        models: &[Final<'_>],
        tensors: &[(String, Vec<usize>)],
        told: Vec<Told>,
        gradients: u64,
    ) -> Result<bool, RunError> {
        let Some(training) = self.training else {
            return Err(RunError::OutOfOrder { call: "finish", needed: "follow" });
        };
        self.tell(told);
        let mut stored = Vec::with_capacity(models.len());
        for (participant, model) in models.iter().enumerate() {
            let Final { parameters, parts, entry } = model;
            let provenance = entry.map(|entry| self.provenance(entry)).transpose()?;
            let provenance = provenance.unwrap_or_default();
            let hash = hex(&exchange::hash(parameters));
            let name = |who: usize| self.competing.participants().name(who).to_owned();
            let about = ModelFile {
                federation: self.about.name.clone(),
                participant: name(participant),
                method: self.method(),
                seed: self.about.seed,
                features: Vec::new(),
                scales: None,
                fills: None,
                logs: Vec::new(),
                ranks: BTreeMap::new(),
                clip: None,
                target: None,
                classes: Vec::new(),
                provenance: provenance.iter().map(|&who| name(who)).collect(),
                learned_from: parts.iter().map(|&(who, part)| (name(who), part)).collect(),
                hash: hash.clone(),
                tensors: tensors.iter().map(|(name, _)| name.clone()).collect(),
            };
            let file = write_model(&self.folder, participant, &about, tensors, parameters)?;
            let (file, parts) = (Some(file), parts.clone());
            stored.push(StoredModel { file, hash, provenance, parts, predictions: None });
        }
        models::sync(&self.folder)?;
        let happened = std::mem::take(&mut self.passed.happened);
        let seconds = self.since.elapsed().as_secs_f64();
        self.store.end_training(training, &happened, gradients, &stored, seconds)?;
        self.complete()
    }

    /// The training has ended, and with it the run. Says whether there were incidents.
    fn complete(&mut self) -> Result<bool, RunError> {
        let incidents =
            self.store.rows("SELECT count(*) FROM incidents", [], |row| row.get::<_, u64>(0))?;
        let had_incidents = incidents.first() != Some(&0);
        let status = if had_incidents { Status::WithIncidents } else { Status::Complete };
        self.store.finish(status)?;
        self.store.tidy(None)?;
        Ok(had_incidents)
    }
}
