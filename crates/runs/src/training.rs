//! One training of a run: a method in a session, from its plan to its models.

use std::time::Instant;

use fedcompetitors_files::{federation::Method, write_certificate};
use fedcompetitors_graphs::{
    BenefitGraph, Certificate, Choice, CompetingGraph, Entry, Participants, Rule, UsageGraph,
    bits::ones, refusals_by,
};
use fedcompetitors_learn::{Learner, Part};
use fedcompetitors_record::{PlanFigures, Role, Session, Stop};
use fedcompetitors_select::{Plan, Policy};
use rayon::prelude::*;

use super::{
    Learning, Options, Prepared, RunError, Step, Store, methods, models,
    store::{Checkpoint, Estimate, Figure, Happened, NewTraining, StoredModel},
};
use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{Found, Inputs},
    exchange::{self, Exchange, hex},
    train::{Best, LOCAL, Local, Trainer, TrainerKind, Training},
};

/// Rounds after which figures are kept: not more of them than anybody looks at.
const MOST_LOOKS: usize = 100;

/// What all trainings of a session have in common.
pub struct Trainings<'a> {
    pub prepared: &'a Prepared,
    pub learners: &'a [Learning],
    pub session: Session,
    pub options: &'a Options<'a>,
    /// Is told how many rounds of how many are done, and what is being done.
    pub tell: &'a dyn Fn((usize, usize), Step<'_>),
}

/// A training that is ready to go.
struct Ready<'a> {
    id: i64,
    name: String,
    trainer: &'a dyn Trainer,
    federation: &'a Federation<'a>,
    /// Gradients that the estimate has cost each participant.
    spent: u64,
    /// Is there one model for all participants, including competitors?
    is_pooled: bool,
}

impl Trainings<'_> {
    /// Trains a method to its end, from wherever it was.
    pub fn train(&self, store: &mut Store, method: Method) -> Result<(), RunError> {
        let name = method.name();
        let stored = store.training(self.session, &name)?;
        if stored.as_ref().is_some_and(|training| training.gradients.is_some()) {
            return Ok(());
        }
        let stored = stored.map(|training| training.id);
        match method {
            Method::Pooled => self.train_pooled(store, stored),
            Method::Planned(policy, trainer) => self.train_planned(store, stored, policy, trainer),
        }
    }

    fn train_planned(
        &self,
        store: &mut Store,
        stored: Option<i64>,
        policy: Choice<dyn Policy>,
        kind: Choice<TrainerKind>,
    ) -> Result<(), RunError> {
        let (prepared, settings) = (self.prepared, self.prepared.settings());
        let method = Method::Planned(policy, kind);
        let name = method.name();
        let (benefit, spent) = self.benefits(store, policy.needs_benefits())?;
        let budget = self.budget(store)?;
        if spent as usize >= budget {
            let needed = spent as usize;
            return Err(FederateError::Budget { needed, budget }.into());
        }
        let effort = methods::effort(settings, budget - spent as usize);
        let trainer = settings.trainer(kind);
        let learners = self.learners.iter().map(|one| &one.learner as &dyn Learner).collect();
        let federation = Federation::new(prepared.competing(), learners, self.seed())?;
        let (usage, plan) = if let Some(id) = stored {
            (stored_usage(store, prepared.participants(), id)?, None)
        } else {
            (self.tell)((0, 0), Step::Plan(&name));
            let rows = |one: &Learning| {
                let learner: &dyn Learner = &one.learner;
                learner.samples(Part::Training) + learner.samples(Part::Validation)
            };
            let samples: Vec<usize> = self.learners.iter().map(rows).collect();
            let plan = |policy: Choice<dyn Policy>, budget| {
                let of = (&samples[..], budget);
                methods::plan((policy, kind), settings, prepared.competing(), &benefit, of)
            };
            let Plan { usage, welfare, upper_bound, note, .. } =
                plan(policy, methods::search(self.session));
            let is_own = self.session == Session::Final && policy.needs_benefits();
            let forecast = is_own
                .then(|| methods::forecast(settings, kind, (policy.rule(), &usage), &benefit, plan))
                .flatten();
            let (forecast, about) = forecast.unzip();
            let note = note.or(about.flatten());
            (usage, Some(PlanFigures { welfare, upper_bound, note, forecast }))
        };
        let training = trainer.begin(&federation, &usage, &benefit, effort);
        let id = if let Some(id) = stored {
            id
        } else {
            let rule = policy.rule();
            let refused = refusals_by(rule, prepared.competing(), &benefit, &usage, None);
            let estimator = settings.estimator_kind();
            let certificate = match self.proof(rule, &usage) {
                Err(RunError::Learning { error, .. }) => {
                    return self.stopped(store, &name, error, &Happened::default());
                }
                proof => proof?,
            };
            store.begin_training(&NewTraining {
                session: self.session,
                method: name.clone(),
                role: self.role(method),
                rule,
                policy: policy.to_string(),
                trainer: kind.to_string(),
                estimator: policy.needs_benefits().then(|| estimator.to_string()),
                rounds: training.rounds(),
                certificate,
                plan,
                usage: usage.edges().collect(),
                refusals: refused
                    .map(|refusal| (refusal.from, refusal.to, (self.options.explain)(&refusal)))
                    .collect(),
                flows: methods::flows(settings, method, prepared.competing(), &usage),
            })?
        };
        let (trainer, federation, is_pooled) = (&**trainer, &federation, false);
        self.to_the_end(store, training, &Ready { id, name, trainer, federation, spent, is_pooled })
    }

    /// One model for everybody's data: the ceiling, for reference only.
    fn train_pooled(&self, store: &mut Store, stored: Option<i64>) -> Result<(), RunError> {
        let everyone = Participants::new(["everyone"]).expect("one name");
        let competing = CompetingGraph::builder(&everyone).build();
        let usage = UsageGraph::builder(&everyone).build();
        let learner = self.prepared.pooled(self.learners)?;
        let federation = Federation::new(&competing, vec![&learner], self.seed())?;
        let settings = self.prepared.settings();
        let effort = methods::effort(settings, self.budget(store)?);
        let trainer = Local::default();
        let name = Method::Pooled.name();
        let nothing = BenefitGraph::builder(&everyone).build();
        let training = trainer.begin(&federation, &usage, &nothing, effort);
        let id = if let Some(id) = stored {
            id
        } else {
            let competing = self.prepared.competing();
            store.begin_training(&NewTraining {
                session: self.session,
                method: name.clone(),
                role: self.role(Method::Pooled),
                rule: Rule::Paths,
                policy: name.clone(),
                trainer: LOCAL.name().into(),
                estimator: None,
                rounds: training.rounds(),
                certificate: String::new(),
                plan: None,
                usage: Vec::new(),
                refusals: Vec::new(),
                flows: methods::flows(settings, Method::Pooled, competing, &usage),
            })?
        };
        let (trainer, federation, spent, is_pooled) = (&trainer, &federation, 0, true);
        self.to_the_end(store, training, &Ready { id, name, trainer, federation, spent, is_pooled })
    }

    /// Round by round, with a checkpoint now and then.
    fn to_the_end(
        &self,
        store: &mut Store,
        mut training: Box<dyn Training>,
        ready: &Ready<'_>,
    ) -> Result<(), RunError> {
        let Ready { id, name, trainer, federation, .. } = ready;
        let faults = self.options.faults.map(|(faults, _)| faults);
        let faults = if ready.is_pooled { None } else { faults };
        let mut exchange = Exchange::recorded(federation.competing());
        if let Some(checkpoint) = store.checkpoint(*id)? {
            training = trainer.resume(&checkpoint.state)?;
            exchange.recall(&checkpoint.exchange)?;
            federation.count_from(checkpoint.gradients);
        }
        let mut happened = Happened::default();
        let mut saved = Instant::now();
        while training.done() < training.rounds() {
            let round = training.done() + 1;
            (self.tell)((training.done(), training.rounds()), Step::Train(name));
            let played = faults.map(|faults| faults.of_round(round)).unwrap_or_default();
            exchange.begin(round, &played.absent);
            let result = training.round(federation, &mut exchange, &played);
            let (transfers, incidents) = exchange.drain();
            happened.transfers.extend(transfers);
            happened.incidents.extend(incidents);
            if let Err(error) = result {
                return self.stopped(store, name, error, &happened);
            }
            let is_last = training.done() == training.rounds();
            if is_last || round.is_multiple_of(training.rounds().div_ceil(MOST_LOOKS)) {
                happened.figures.extend(self.figures(ready, &*training, round, is_last));
            }
            if !is_last && saved.elapsed() >= self.options.checkpoint {
                let checkpoint = Checkpoint {
                    round,
                    gradients: federation.evaluations(),
                    state: training.save(),
                    exchange: exchange.save(),
                };
                store.add_rounds(*id, &happened, &checkpoint, saved.elapsed().as_secs_f64())?;
                happened = Happened::default();
                saved = Instant::now();
            }
        }
        happened.disclosures = training.disclosures();
        let each = federation.evaluations().div_ceil(federation.len() as u64) + ready.spent;
        let models = self.models(ready, &*training)?;
        if self.session == Session::Final {
            models::sync(self.options.folder)?;
        }
        store.end_training(*id, &happened, each, &models, saved.elapsed().as_secs_f64())
    }

    /// A training cannot go on. If it was the guard that stopped it, the record says so, with
    /// all that has moved until then: whoever looks into it must see what the guard saw.
    fn stopped(
        &self,
        store: &mut Store,
        method: &str,
        error: FederateError,
        happened: &Happened,
    ) -> Result<(), RunError> {
        if let FederateError::Guard { round, .. } = error {
            let (session, method, message) = (self.session, method.to_owned(), error.to_string());
            store.stop(&Stop { session, method, round, message }, happened)?;
        }
        Err(error.into())
    }

    /// Where the chance of this session comes from.
    fn seed(&self) -> u64 {
        self.prepared.seed(self.session)
    }

    fn role(&self, method: Method) -> Role {
        match method {
            Method::Pooled => Role::Reference,
            _ if method == self.prepared.settings().method() => Role::Own,
            // Under the rule of paths it breaks the rule.
            Method::Planned(policy, _)
                if policy.rule() == Rule::Messages
                    && *self.prepared.settings().rule == Rule::Paths =>
            {
                Role::Reference
            }
            Method::Planned(..) => Role::Baseline,
        }
    }

    /// Who would help whom, and what finding out has cost each participant.
    fn benefits(
        &self,
        store: &mut Store,
        are_needed: bool,
    ) -> Result<(BenefitGraph, u64), RunError> {
        let participants = self.prepared.participants();
        if !are_needed {
            return Ok((BenefitGraph::builder(participants).build(), 0));
        }
        let settings = self.prepared.settings();
        let name = settings.estimator_kind().to_string();
        if let Some(found) = store.estimate(participants, self.session, &name)? {
            return Ok((found.benefit, found.gradients));
        }
        (self.tell)((0, 0), Step::Estimate(&name));
        let learners = self.learners.iter().map(|one| &one.learner as &dyn Learner).collect();
        let federation = Federation::new(self.prepared.competing(), learners, self.seed())?;
        // Faults are of the trainings' rounds: an estimate has everybody.
        let mut exchange = Exchange::recorded(self.prepared.competing());
        let batch = settings.training.batch;
        let inputs = Inputs { batch, given: self.options.given.as_ref() };
        let found = settings.estimator().estimate(&federation, &mut exchange, inputs);
        let (transfers, _) = exchange.drain();
        if let Err(error @ FederateError::Guard { round, .. }) = &found {
            let message = error.to_string();
            store.stop_estimate(self.session, &name, (*round, &message), &transfers)?;
        }
        let gradients = federation.evaluations().div_ceil(federation.len() as u64);
        let Found { benefit, related } = found?;
        let estimate = Estimate { benefit, related, gradients, before: 1 };
        store.add_estimate(self.session, &name, &estimate, &transfers)?;
        Ok((estimate.benefit, gradients))
    }

    /// Gradients that each participant may take with any method: what the rounds need, and
    /// the estimate if any method needs that.
    fn budget(&self, store: &mut Store) -> Result<usize, RunError> {
        let settings = self.prepared.settings();
        let needs = |method: &Method| match method {
            Method::Planned(policy, _) => policy.needs_benefits(),
            Method::Pooled => false,
        };
        let (_, spent) = self.benefits(store, settings.methods().iter().any(needs))?;
        let training = &settings.training;
        Ok(training.rounds * training.local_steps + spent as usize)
    }

    /// The proof of a plan.
    fn proof(&self, rule: Rule, usage: &UsageGraph) -> Result<String, RunError> {
        let competing = self.prepared.competing();
        let certificate = Certificate::prove_by(rule, competing, usage).map_err(|leak| {
            let name = |who: &usize| competing.participants().name(*who).to_owned();
            let path: Vec<String> = leak.path.iter().map(name).collect();
            let end = |at: Option<&String>| at.cloned().unwrap_or_default();
            let (rival, to) = (end(path.first()), end(path.last()));
            FederateError::Guard { round: 0, to, rival, path }
        })?;
        let mut proof = Vec::new();
        write_certificate(&certificate, &mut proof)
            .map_err(|error| RunError::unwritable(self.options.folder, error))?;
        Ok(String::from_utf8_lossy(&proof).into_owned())
    }

    /// How good everybody's model is on its validation data, where it was not fitted to them, and in the end on its
    /// test data.
    fn figures(
        &self,
        ready: &Ready<'_>,
        training: &dyn Training,
        round: usize,
        is_last: bool,
    ) -> Vec<Figure> {
        let metric = self.prepared.metric().title();
        let tests = is_last && self.session != Session::Final;
        let validates = ready.trainer.validates(!self.prepared.model().is_linear());
        let parts: &[Part] = match (validates, tests) {
            (true, true) => &[Part::Validation, Part::Test],
            (true, false) => &[Part::Validation],
            (false, true) => &[Part::Test],
            (false, false) => &[],
        };
        self.learners
            .par_iter()
            .enumerate()
            .flat_map_iter(|(participant, one)| {
                let parameters = ready.best(training, participant).parameters;
                parts.iter().map(move |&part| {
                    let value = one.learner.metric(part, parameters);
                    let (split, metric) = (part.name().into(), metric.into());
                    Figure { participant, round, split, metric, value }
                })
            })
            .collect()
    }

    /// Everybody's model; those of the final session get files, those of the others predict.
    fn models(
        &self,
        ready: &Ready<'_>,
        training: &dyn Training,
    ) -> Result<Vec<StoredModel>, RunError> {
        let is_final = self.session == Session::Final;
        let everyone = || (0..self.learners.len()).collect::<Vec<_>>();
        (0..self.learners.len())
            .map(|participant| {
                let Best { parameters, carried } = ready.best(training, participant);
                let provenance = if ready.is_pooled { everyone() } else { ones(carried).collect() };
                let mut parts =
                    if ready.is_pooled { Vec::new() } else { training.parts(participant) };
                // Whoever ended with what it had trained alone has learned from nobody.
                parts.retain(|(from, _)| provenance.contains(from));
                let mut model = StoredModel {
                    file: None,
                    hash: hex(&exchange::hash(parameters)),
                    provenance,
                    parts,
                    predictions: None,
                };
                if is_final {
                    let seed = self.seed();
                    let (prepared, learning) = (self.prepared, &self.learners[participant]);
                    let method = &ready.name;
                    let described =
                        models::Described { prepared, learning, participant, method, seed };
                    model.file = Some(described.write(self.options.folder, &model, parameters)?);
                } else {
                    let learner = &self.learners[participant].learner;
                    model.predictions = Some(learner.predictions(Part::Test, parameters));
                }
                Ok(model)
            })
            .collect()
    }
}

impl Ready<'_> {
    fn best<'b>(&self, training: &'b dyn Training, participant: usize) -> Best<'b> {
        training.best(if self.is_pooled { 0 } else { participant })
    }
}

/// The plan of a training that was begun before.
fn stored_usage(
    store: &Store,
    participants: &Participants,
    training: i64,
) -> Result<UsageGraph, RunError> {
    let mut usage = UsageGraph::builder(participants);
    let edges: Vec<(usize, usize)> =
        store.rows("SELECT helper, helped FROM usage WHERE training = ?", [training], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    for (from, to) in edges {
        usage.add(from, to).map_err(|error| store.damaged(error.to_string()))?;
    }
    Ok(usage.build())
}
