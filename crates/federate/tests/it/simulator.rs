//! A seeded simulator of what can happen between coordinator and participants on machines of their own: messages are
//! lost, repeated, delayed, reordered and damaged, everybody is killed and goes on from what it has kept, and
//! participants are missing, late or send garbage.
//!
//! A failed schedule prints its seed. `FEDCOMPETITORS_LONG=1` runs a hundred times as many.

use std::collections::{BTreeMap, BTreeSet};

use fedcompetitors_federate::{
    Federation, Known,
    estimate::{self, Begun, Estimator, Inputs, Mixture},
    exchange::{Exchange, Incident, Transfer},
    protocol::{Answer, Coordinate, Endpoint, Estimation, Participant, Phase, Request},
    saved,
    train::{
        Averaging, Effort, Evidence, Local, Mixed, Mixing, Needs, Proximal, Scaffold, Trainer,
        Trunks,
    },
};
use fedcompetitors_graphs::{BenefitGraph, bits::ones, random::Stream};
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::Disclosure;
use fedcompetitors_testing::repeat;
use rayon::prelude::*;

use crate::exchange::{Case, no_benefit};

pub fn effort() -> Effort {
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.001 };
    Effort { evaluations: 13, local_steps: 5, rule, batch: Some(8) }
}

/// A trainer or an estimator, with participants.
pub struct Subject {
    pub name: String,
    pub case: Case,
    pub way: Way,
}

pub enum Way {
    Trains(Box<dyn Trainer>),
    Estimates(Box<dyn Estimator>),
}

/// A coordinator on its way.
pub enum Coordinating {
    Training(Box<dyn Coordinate>),
    Estimate(Box<dyn Estimation>),
}

impl Coordinating {
    pub fn coordinate(&mut self) -> &mut dyn Coordinate {
        match self {
            Self::Training(coordinator) => &mut **coordinator,
            Self::Estimate(coordinator) => &mut **coordinator,
        }
    }
}

impl Subject {
    pub fn trains(case: Case, trainer: impl Trainer + 'static) -> Self {
        Self { name: format!("{trainer:?}"), case, way: Way::Trains(Box::new(trainer)) }
    }

    pub fn estimates(case: Case, estimator: impl Estimator + 'static) -> Self {
        Self { name: format!("{estimator:?}"), case, way: Way::Estimates(Box::new(estimator)) }
    }

    /// The coordinator before the first phase, and with which steps participants train.
    pub fn begin(&self) -> (Effort, Coordinating) {
        let Case { usage, .. } = &self.case;
        let federation = self.case.federation();
        let known = Known::of(&federation);
        match &self.way {
            Way::Trains(trainer) => {
                let Needs::Messages(trainer) = trainer.needs() else { panic!("needs all data") };
                let coordinator = trainer.coordinate(&known, usage, &no_benefit(usage), effort());
                (effort(), Coordinating::Training(coordinator))
            }
            Way::Estimates(estimator) => {
                let Begun::Messages(effort, coordinator) =
                    estimator.begin(&known, Inputs { batch: Some(8), given: None })
                else {
                    panic!("asks nobody")
                };
                (effort, Coordinating::Estimate(coordinator))
            }
        }
    }

    pub fn resume(&self, saved: &[u8]) -> Coordinating {
        match &self.way {
            Way::Trains(trainer) => {
                let Needs::Messages(trainer) = trainer.needs() else { panic!("needs all data") };
                Coordinating::Training(trainer.resume(saved).expect("just saved"))
            }
            Way::Estimates(estimator) => {
                Coordinating::Estimate(estimator.resume(saved).expect("just saved"))
            }
        }
    }

    /// What comes out in one process: everybody's model, or the benefits.
    pub fn here(&self) -> (Vec<Vec<f32>>, Edges) {
        let (federation, usage) = (self.case.federation(), &self.case.usage);
        match &self.way {
            Way::Trains(trainer) => {
                let models = trainer.train(&federation, usage, &no_benefit(usage), effort());
                (models.expect("it ends"), Vec::new())
            }
            Way::Estimates(estimator) => {
                let inputs = Inputs { batch: Some(8), given: None };
                let mut exchange = Exchange::new(&self.case.competing);
                let found = estimator.estimate(&federation, &mut exchange, inputs);
                (Vec::new(), edges(&found.expect("it ends").benefit))
            }
        }
    }
}

/// Benefits, bit by bit: who, whom, how much.
pub type Edges = Vec<(usize, usize, u64)>;

pub fn edges(benefit: &BenefitGraph) -> Edges {
    let helpers = |to| benefit.helpers(to).map(move |(from, value)| (from, to, value.to_bits()));
    (0..benefit.participants().len()).flat_map(helpers).collect()
}

pub fn subjects() -> Vec<Subject> {
    let mixing = Mixing::default();
    let local = Local { decays: vec![0.0, 0.01] };
    let mixture = Mixture { probe_steps: 6, search_steps: 4, ..Mixture::default() };
    let steps = estimate::Trunks { steps: 25, threshold: 0.0, ..estimate::Trunks::default() };
    vec![
        Subject::trains(Case::new(), Averaging {}),
        Subject::trains(Case::new(), Proximal { pull: 0.1 }),
        Subject::trains(Case::new(), Scaffold {}),
        Subject::trains(Case::new(), mixing.clone()),
        Subject::trains(
            Case::new(),
            Mixing { mix: Mixed::Updates, server_rate: 0.7, ..mixing.clone() },
        ),
        Subject::trains(Case::new(), Mixing { mix: Mixed::Gradients, ..mixing }),
        Subject::trains(Case::new(), local.clone()),
        Subject::trains(Case::linear(), local),
        Subject::trains(Case::new(), Trunks { networks: Some(2), frozen: 2 }),
        Subject::trains(Case::linear(), Evidence { single_source: true, ..Evidence::default() }),
        // All columns are left out.
        Subject::trains(Case::linear(), Evidence { fewest: 1000, ..Evidence::default() }),
        Subject::estimates(Case::new(), mixture.clone()),
        Subject::estimates(Case::linear(), mixture),
        Subject::estimates(Case::linear(), estimate::Evidence::default()),
        Subject::estimates(Case::new(), steps),
    ]
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
struct Ended {
    models: Vec<Vec<f32>>,
    carried: Vec<Vec<usize>>,
    parts: Vec<Vec<(usize, f32)>>,
    benefits: Edges,
    phases: u64,
    disclosures: Vec<Disclosure>,
    transfers: Vec<Transfer>,
    incidents: Vec<Incident>,
}

/// What a carrier does to what it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    Nothing,
    /// The request is lost on its way.
    LoseRequest,
    /// The answer is lost on its way back.
    LoseAnswer,
    /// The request comes twice, and so does the answer.
    Twice,
    /// A request of an earlier phase, or this one, comes first.
    Stale,
    /// The answer is cut off or changed on its way, as checksums show.
    Damage,
    /// The participant is killed after it has kept its state and before it answers.
    KillAfter,
    /// The participant is killed while it works, before it has kept anything.
    KillBefore,
}

const TROUBLES: [Trouble; 8] = [
    Trouble::Nothing,
    Trouble::LoseRequest,
    Trouble::LoseAnswer,
    Trouble::Twice,
    Trouble::Stale,
    Trouble::Damage,
    Trouble::KillAfter,
    Trouble::KillBefore,
];

/// Participants on machines of their own: what each has kept, as bytes.
pub struct Elsewhere<'a> {
    federation: Federation<'a>,
    kept: Vec<Vec<u8>>,
    earlier: Vec<Vec<Vec<u8>>>,
}

impl<'a> Elsewhere<'a> {
    pub fn new(case: &'a Case, effort: Effort) -> Self {
        let federation = case.federation();
        let endpoint = |who| Endpoint::new(Participant::new(&federation.site(who), effort));
        let kept = (0..6).map(|who| saved::write(&endpoint(who))).collect();
        Self { federation, kept, earlier: vec![Vec::new(); 6] }
    }

    /// A participant handles the bytes of a request. Returns its answer, if it gets as far as that: one whose training
    /// diverges does not, and keeps what it had.
    fn handle(&mut self, who: usize, request: &[u8], trouble: Trouble) -> Option<Vec<u8>> {
        let request = Request::from_bytes(request).expect("requests are whole");
        let mut endpoint: Endpoint = saved::read(&self.kept[who]).expect("what it has kept");
        let answer = endpoint.answer(&self.federation.site(who), &request).ok()?;
        let answer = answer.ok().map(Answer::to_bytes);
        if trouble == Trouble::KillBefore {
            return None;
        }
        self.kept[who] = saved::write(&endpoint);
        answer.filter(|_| trouble != Trouble::KillAfter)
    }

    /// Whether a participant can do what it is asked at all.
    fn can(&self, who: usize, request: &Request) -> bool {
        let mut endpoint: Endpoint = saved::read(&self.kept[who]).expect("what it has kept");
        endpoint.answer(&self.federation.site(who), request).is_ok()
    }

    /// One try to get an answer, with this trouble on the way.
    fn try_once(
        &mut self,
        who: usize,
        request: &Request,
        trouble: Trouble,
        stream: &mut Stream,
    ) -> Option<Answer> {
        let bytes = request.to_bytes();
        match trouble {
            Trouble::LoseRequest => return None,
            Trouble::Twice => {
                let first = self.handle(who, &bytes, trouble);
                assert_eq!(first, self.handle(who, &bytes, trouble), "the same answer again");
            }
            Trouble::Stale => {
                let earlier = self.earlier[who].clone();
                if let Some(old) = earlier.get(stream.below(earlier.len().max(1) as u64) as usize) {
                    // It is not answered, or its own answer is repeated.
                    let id = |bytes: &[u8]| Request::from_bytes(bytes).expect("a request").id;
                    if let Some(answer) = self.handle(who, old, trouble) {
                        assert_eq!(Answer::from_bytes(&answer).expect("an answer").id, id(old));
                    }
                }
            }
            _ => {}
        }
        let mut answer = self.handle(who, &bytes, trouble)?;
        if self.earlier[who].last() != Some(&bytes) {
            self.earlier[who].push(bytes);
        }
        match trouble {
            Trouble::LoseAnswer => None,
            Trouble::Damage => {
                answer.truncate(stream.below(answer.len() as u64) as usize);
                assert!(Answer::from_bytes(&answer).is_err(), "what is cut off is no answer");
                None
            }
            _ => Some(Answer::from_bytes(&answer).expect("an answer")),
        }
    }

    /// The answers to all requests, asked for in any order and as often as needed.
    pub fn carry(
        &mut self,
        phase: &Phase,
        stream: &mut Stream,
        troubled: bool,
    ) -> Vec<Option<Answer>> {
        self.carry_to(phase, stream, troubled, [Fate::Answers; 6])
    }

    /// The same, where not everybody's answer comes as it should.
    fn carry_to(
        &mut self,
        phase: &Phase,
        stream: &mut Stream,
        troubled: bool,
        fates: [Fate; 6],
    ) -> Vec<Option<Answer>> {
        let mut answers = vec![None; phase.requests().len()];
        let mut left: Vec<usize> = (0..answers.len()).collect();
        while !left.is_empty() {
            let who = left.swap_remove(stream.below(left.len() as u64) as usize);
            let Some(request) = &phase.requests()[who] else { continue };
            if fates[who] == Fate::Unreached || !self.can(who, request) {
                continue;
            }
            let at = if troubled { stream.below(TROUBLES.len() as u64) as usize } else { 0 };
            answers[who] = self.try_once(who, request, TROUBLES[at], stream);
            if answers[who].is_none() {
                left.push(who);
            }
        }
        for (answer, fate) in answers.iter_mut().zip(fates) {
            match (fate, &mut *answer) {
                (Fate::Sends(hostile), Some(answer)) => hostile.spoil(answer),
                (Fate::Late, _) => *answer = None,
                _ => {}
            }
        }
        answers
    }
}

/// What becomes of a participant's answer in a phase, whatever its carrier goes through.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Answers,
    /// It is known to be missing before anything is asked.
    Missing,
    /// The request does not reach it before the deadline.
    Unreached,
    /// It does what it is asked, and its answer comes after the deadline.
    Late,
    Sends(Hostile),
}

/// What somebody sends that is broken, or means harm.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hostile {
    Nan,
    Short,
    Huge,
    /// Values so small that they vanish in sums, negative zeros among them.
    Tiny,
    /// Any bits: infinities, denormals, NaN with a message.
    Bits,
    /// Fewer messages than were asked for.
    Fewer,
    /// Sound messages with a report that makes no sense.
    Report,
}

const HOSTILE: [Hostile; 7] = [
    Hostile::Nan,
    Hostile::Short,
    Hostile::Huge,
    Hostile::Tiny,
    Hostile::Bits,
    Hostile::Fewer,
    Hostile::Report,
];

impl Hostile {
    fn spoil(self, answer: &mut Answer) {
        let mut stream = Stream::new(answer.id, "hostile", 0);
        let mut each = |change: &mut dyn FnMut(&mut f32)| {
            answer.pieces.iter_mut().flatten().for_each(change);
        };
        match self {
            Self::Nan => each(&mut |value| *value = f32::NAN),
            Self::Huge => each(&mut |value| *value *= 1e20),
            Self::Tiny => {
                each(&mut |value| *value = if *value > 0.0 { -1e-45 } else { -0.0 });
            }
            Self::Bits => each(&mut |value| {
                *value = f32::from_bits(stream.below(1 << 32) as u32);
            }),
            Self::Short => answer.pieces.iter_mut().for_each(|piece| {
                piece.pop();
            }),
            Self::Fewer => {
                answer.pieces.pop();
            }
            Self::Report => {
                let odd = [f64::NAN, f64::INFINITY, -1e300, 0.0, 1e-320];
                answer.report.uses = odd.iter().cycle().take(40).copied().collect();
                answer.report.losses = odd.iter().rev().cycle().take(40).copied().collect();
                answer.report.left_out = vec![usize::MAX, 3, 3, 0];
            }
        }
    }
}

/// What becomes of everybody in a phase, by a seed.
fn fates(seed: Option<u64>, phase: u64) -> [Fate; 6] {
    let Some(seed) = seed else { return [Fate::Answers; 6] };
    let mut stream = Stream::new(seed, "fates", phase);
    [(); 6].map(|()| match stream.below(20) {
        0 => Fate::Missing,
        1 => Fate::Unreached,
        2 => Fate::Late,
        3 | 4 => Fate::Sends(HOSTILE[stream.below(HOSTILE.len() as u64) as usize]),
        _ => Fate::Answers,
    })
}

/// What happens in a run: by one seed the fates of participants, by another what their carrier goes through.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    fates: Option<u64>,
    troubles: Option<u64>,
}

/// Trains or estimates over a carrier; the coordinator is killed in some phases and goes on from what it has kept.
fn run(subject: &Subject, Schedule { fates: seed, troubles }: Schedule) -> Ended {
    let mut stream = Stream::new(troubles.unwrap_or(0), "troubles", 0);
    let troubled = troubles.is_some();
    let (effort, mut coordinating) = subject.begin();
    let mut elsewhere = Elsewhere::new(&subject.case, effort);
    let mut exchange = Exchange::recorded(&subject.case.competing);
    let (mut transfers, mut incidents) = (Vec::new(), Vec::new());
    let mut done = 0;
    while !coordinating.coordinate().is_finished() {
        let coordinator = coordinating.coordinate();
        let kept = (coordinator.save(), exchange.save());
        let fates = fates(seed, done);
        let missing: Vec<usize> = (0..6).filter(|&who| fates[who] == Fate::Missing).collect();
        exchange.begin(coordinator.done() + 1, &missing);
        let phase = coordinator.begin(&mut exchange).expect("the guard never fires");
        let answers = elsewhere.carry_to(&phase, &mut stream, troubled, fates);
        if troubled && stream.unit() < 0.3 {
            // Killed with all answers in hand: what was not kept is asked again.
            coordinating = subject.resume(&kept.0);
            exchange = Exchange::recorded(&subject.case.competing);
            exchange.recall(&kept.1).expect("just saved");
            continue;
        }
        coordinator.end(&mut exchange, &phase, answers);
        let (moved, wrong) = exchange.drain();
        transfers.extend(moved);
        incidents.extend(wrong);
        done += 1;
    }
    let endpoints: Vec<Endpoint> =
        elsewhere.kept.iter().map(|kept| saved::read(kept).expect("kept")).collect();
    let best = |who: usize| endpoints[who].participant().best();
    let benefits = match &coordinating {
        Coordinating::Estimate(estimate) => edges(&estimate.found(&subject.case.competing).benefit),
        Coordinating::Training(_) => Vec::new(),
    };
    Ended {
        models: (0..6).map(|who| best(who).parameters.to_vec()).collect(),
        carried: (0..6).map(|who| ones(best(who).carried).collect()).collect(),
        parts: (0..6).map(|who| coordinating.coordinate().parts(who)).collect(),
        benefits,
        phases: done,
        disclosures: coordinating.coordinate().disclosures(),
        transfers,
        incidents,
    }
}

/// Whatever a carrier loses, repeats, delays or damages, and whoever is killed: the same models, benefits, ledger
/// and weights, byte for byte, as in one process.
#[test]
fn troubles_of_a_carrier_change_no_byte() {
    let quiet = Schedule { fates: None, troubles: None };
    for (at, subject) in subjects().iter().enumerate() {
        let quiet = run(subject, quiet);
        let (models, benefits) = subject.here();
        if let Way::Trains(_) = subject.way {
            assert_eq!(quiet.models, models, "{}: as in one process", subject.name);
        }
        assert_eq!(quiet.benefits, benefits, "{}: as in one process", subject.name);
        assert!(quiet.incidents.is_empty());
        for number in 0..u64::from(repeat(10)) {
            let schedule = Schedule { fates: None, troubles: Some(1000 * at as u64 + number) };
            assert_eq!(run(subject, schedule), quiet, "{}, {schedule:?}", subject.name);
        }
    }
}

/// Participants are missing, late or send what means harm, and so on every phase anew: estimates and trainings end,
/// nobody is given a competitor's data, nothing that is not finite comes out, and troubles of the carrier change no
/// byte.
#[test]
fn nobody_is_harmed_by_those_who_are_missing_late_or_hostile() {
    subjects().par_iter().enumerate().for_each(|(at, subject)| {
        for number in 0..u64::from(repeat(30)) {
            let fates = Some(1000 * at as u64 + number);
            let schedule = Schedule { fates, troubles: None };
            let name = format!("{}, {schedule:?}", subject.name);
            let ended = run(subject, schedule);
            assert!(ended.models.iter().flatten().all(|value| value.is_finite()), "{name}");
            let parts = ended.parts.iter().flatten();
            assert!(parts.clone().all(|(_, part)| part.is_finite() && *part >= 0.0), "{name}");
            check_ledger(subject, &ended, &name);
            for who in 0..6 {
                let is_honest =
                    (0..ended.phases).all(|at| self::fates(fates, at)[who] == Fate::Answers);
                let is_named = ended.incidents.iter().any(|incident| incident.participant == who);
                assert!(!(is_honest && is_named), "{name}: {who} is blamed, {:?}", ended.incidents);
                // Whoever uses others' data has received some; who has received a sum is shown with its sources, also
                // where it gives them no weight.
                let is_shown = ended.parts[who].iter().any(|(from, _)| *from != who);
                let received = ended.transfers.iter().any(|transfer| transfer.to == Some(who));
                assert!(received || !is_shown, "{name}: {who}");
                if is_honest && subject.name.starts_with("Evidence") && received {
                    assert!(is_shown, "{name}: {who} learned from somebody");
                }
            }
            let troubled = Schedule { fates, troubles: Some(number) };
            assert_eq!(run(subject, troubled), ended, "{}, {troubled:?}", subject.name);
        }
    });
}

/// A naive account of whose data everybody may carry, from the ledger alone.
fn check_ledger(subject: &Subject, ended: &Ended, name: &str) {
    let competing = &subject.case.competing;
    let mut carried: Vec<BTreeSet<usize>> = (0..6).map(|who| BTreeSet::from([who])).collect();
    let mut entries: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    for transfer in &ended.transfers {
        let of_parts = transfer.made_of.iter().flat_map(|entry| entries[entry].clone());
        let carries = match transfer.from {
            Some(from) => carried[from].clone(),
            None => of_parts.collect(),
        };
        assert_eq!(transfer.provenance, carries.iter().copied().collect::<Vec<_>>(), "{name}");
        if let Some(to) = transfer.to {
            let rival = carries.iter().find(|&&who| competing.competes(who, to));
            assert_eq!(rival, None, "{name}: {transfer:?}");
            carried[to].extend(&carries);
        }
        entries.insert(transfer.entry, carries);
    }
    for (found, carried) in ended.carried.iter().zip(&carried) {
        assert!(found.iter().all(|who| carried.contains(who)), "{name}");
    }
}
