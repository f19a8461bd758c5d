//! The protocol over a carrier that loses, repeats, delays, reorders and damages what it carries, between
//! participants and a coordinator that are killed and go on from what they have kept.

use fedcompetitors_federate::{
    Federation, Known,
    estimate::{self, Begun, Estimator, Inputs, Mixture},
    exchange::{Exchange, Incident, IncidentKind, Transfer},
    protocol::{
        Answer, Ask, Coordinate, Endpoint, Estimation, Participant, Phase, Request,
        wire::{VERSION, WireError},
    },
    saved,
    train::{
        Averaging, Effort, Evidence, Local, Mixed, Mixing, Needs, Proximal, Scaffold, Trainer,
        Trunks,
    },
};
use fedcompetitors_graphs::{BenefitGraph, bits::ones, random::Stream};
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::{Content, Disclosure};
use fedcompetitors_testing::repeat;

use crate::exchange::{Case, no_benefit};

fn effort() -> Effort {
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.001 };
    Effort { evaluations: 24, local_steps: 5, rule, batch: Some(8) }
}

/// A trainer or an estimator, with participants.
struct Subject {
    name: String,
    case: Case,
    way: Way,
}

enum Way {
    Trains(Box<dyn Trainer>),
    Estimates(Box<dyn Estimator>),
}

/// A coordinator on its way.
enum Coordinating {
    Training(Box<dyn Coordinate>),
    Estimate(Box<dyn Estimation>),
}

impl Coordinating {
    fn coordinate(&mut self) -> &mut dyn Coordinate {
        match self {
            Self::Training(coordinator) => &mut **coordinator,
            Self::Estimate(coordinator) => &mut **coordinator,
        }
    }
}

impl Subject {
    fn trains(case: Case, trainer: impl Trainer + 'static) -> Self {
        Self { name: format!("{trainer:?}"), case, way: Way::Trains(Box::new(trainer)) }
    }

    fn estimates(case: Case, estimator: impl Estimator + 'static) -> Self {
        Self { name: format!("{estimator:?}"), case, way: Way::Estimates(Box::new(estimator)) }
    }

    /// The coordinator before the first phase, and with which steps participants train.
    fn begin(&self) -> (Effort, Coordinating) {
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

    fn resume(&self, saved: &[u8]) -> Coordinating {
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
    fn here(&self) -> (Vec<Vec<f32>>, Edges) {
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
type Edges = Vec<(usize, usize, u64)>;

fn edges(benefit: &BenefitGraph) -> Edges {
    let helpers = |to| benefit.helpers(to).map(move |(from, value)| (from, to, value.to_bits()));
    (0..benefit.participants().len()).flat_map(helpers).collect()
}

fn subjects() -> Vec<Subject> {
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
        Subject::trains(Case::new(), Trunks { networks: 2, frozen: 2 }),
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
struct Elsewhere<'a> {
    federation: Federation<'a>,
    kept: Vec<Vec<u8>>,
    earlier: Vec<Vec<Vec<u8>>>,
}

impl<'a> Elsewhere<'a> {
    fn new(case: &'a Case, effort: Effort) -> Self {
        let federation = case.federation();
        let endpoint = |who| Endpoint::new(Participant::new(&federation.site(who), effort));
        let kept = (0..6).map(|who| saved::write(&endpoint(who))).collect();
        Self { federation, kept, earlier: vec![Vec::new(); 6] }
    }

    /// A participant handles the bytes of a request. Returns its answer, if it gets as far as that.
    fn handle(&mut self, who: usize, request: &[u8], trouble: Trouble) -> Option<Vec<u8>> {
        let request = Request::from_bytes(request).expect("requests are whole");
        let mut endpoint: Endpoint = saved::read(&self.kept[who]).expect("what it has kept");
        let answer =
            endpoint.answer(&self.federation.site(who), &request).expect("it does not diverge");
        let answer = answer.ok().map(Answer::to_bytes);
        if trouble == Trouble::KillBefore {
            return None;
        }
        self.kept[who] = saved::write(&endpoint);
        answer.filter(|_| trouble != Trouble::KillAfter)
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
    fn carry(&mut self, phase: &Phase, stream: &mut Stream, troubled: bool) -> Vec<Option<Answer>> {
        let mut answers = vec![None; phase.requests().len()];
        let mut left: Vec<usize> = (0..answers.len()).collect();
        while !left.is_empty() {
            let who = left.swap_remove(stream.below(left.len() as u64) as usize);
            let Some(request) = &phase.requests()[who] else { continue };
            let at = if troubled { stream.below(TROUBLES.len() as u64) as usize } else { 0 };
            answers[who] = self.try_once(who, request, TROUBLES[at], stream);
            if answers[who].is_none() {
                left.push(who);
            }
        }
        answers
    }
}

/// Trains or estimates over a carrier; the coordinator is killed in some phases and goes on from what it has kept.
fn run(subject: &Subject, seed: u64, troubled: bool) -> Ended {
    let mut stream = Stream::new(seed, "troubles", 0);
    let (effort, mut coordinating) = subject.begin();
    let mut elsewhere = Elsewhere::new(&subject.case, effort);
    let mut exchange = Exchange::recorded(&subject.case.competing);
    let (mut transfers, mut incidents) = (Vec::new(), Vec::new());
    while !coordinating.coordinate().is_finished() {
        let coordinator = coordinating.coordinate();
        let kept = (coordinator.save(), exchange.save());
        exchange.begin(coordinator.done() + 1, &[]);
        let phase = coordinator.begin(&mut exchange).expect("the guard never fires");
        let answers = elsewhere.carry(&phase, &mut stream, troubled);
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
        disclosures: coordinating.coordinate().disclosures(),
        transfers,
        incidents,
    }
}

/// Whatever a carrier loses, repeats, delays or damages, and whoever is killed: the same models, benefits, ledger
/// and weights, byte for byte, as in one process.
#[test]
fn troubles_of_a_carrier_change_no_byte() {
    for (at, subject) in subjects().iter().enumerate() {
        let quiet = run(subject, 0, false);
        let (models, benefits) = subject.here();
        if let Way::Trains(_) = subject.way {
            assert_eq!(quiet.models, models, "{}: as in one process", subject.name);
        }
        assert_eq!(quiet.benefits, benefits, "{}: as in one process", subject.name);
        assert!(quiet.incidents.is_empty());
        for schedule in 0..u64::from(repeat(20)) {
            let troubled = run(subject, 1000 * at as u64 + schedule, true);
            assert_eq!(troubled, quiet, "{}, schedule {schedule}", subject.name);
        }
    }
}

/// Nobody is given what carries a competitor's data, and what everybody is given is in the ledger as it came.
#[test]
fn whatever_is_given_is_in_the_ledger_and_carries_no_competitor() {
    for subject in subjects() {
        let competing = &subject.case.competing;
        let (effort, mut coordinating) = subject.begin();
        let mut elsewhere = Elsewhere::new(&subject.case, effort);
        let coordinator = coordinating.coordinate();
        let mut exchange = Exchange::recorded(competing);
        let mut stream = Stream::new(1, "order", 0);
        while !coordinator.is_finished() {
            exchange.begin(coordinator.done() + 1, &[]);
            let phase = coordinator.begin(&mut exchange).expect("the guard never fires");
            let (transfers, _) = exchange.drain();
            let mut given = transfers.iter().filter(|transfer| transfer.to.is_some());
            for (to, request) in phase.requests().iter().enumerate() {
                for piece in request.iter().flat_map(|request| &request.given) {
                    let entry = given.next().expect("an entry for each piece");
                    assert_eq!(entry.to, Some(to));
                    assert_eq!(entry.hash, fedcompetitors_federate::exchange::hash(&piece.values));
                    let carried: Vec<usize> = ones(&piece.carried).collect();
                    assert_eq!(entry.provenance, carried);
                    assert!(carried.iter().all(|&from| !competing.competes(from, to)));
                }
            }
            assert!(given.next().is_none());
            let answers = elsewhere.carry(&phase, &mut stream, false);
            coordinator.end(&mut exchange, &phase, answers);
        }
    }
}

/// A summary whose curvature has a negative eigenvalue is refused by its sender's name, and the others are accepted.
#[test]
fn a_summary_that_is_not_positive_is_refused_by_name() {
    let subject = Subject::estimates(Case::linear(), estimate::Evidence::default());
    let (effort, mut coordinating) = subject.begin();
    let mut elsewhere = Elsewhere::new(&subject.case, effort);
    let mut exchange = Exchange::recorded(&subject.case.competing);
    let coordinator = coordinating.coordinate();
    exchange.begin(1, &[]);
    let phase = coordinator.begin(&mut exchange).expect("nothing is given");
    let mut answers = elsewhere.carry(&phase, &mut Stream::new(4, "order", 0), false);
    for (who, value) in [(2, -1.0), (4, f32::NAN)] {
        answers[who].as_mut().expect("an answer").pieces[0][0] = value;
    }
    coordinator.end(&mut exchange, &phase, answers);
    let (transfers, incidents) = exchange.drain();
    let incidents: Vec<_> = incidents.iter().map(|one| (one.participant, one.kind)).collect();
    assert_eq!(incidents, [(4, IncidentKind::NotFinite), (2, IncidentKind::NotPositive)]);
    // What is not positive has passed the exchange before it is looked at; it is used by nobody.
    let from: Vec<usize> = transfers.iter().filter_map(|transfer| transfer.from).collect();
    assert_eq!(from, [0, 1, 2, 3, 5]);
    let Coordinating::Estimate(estimate) = coordinating else { panic!("an estimate") };
    let benefit = estimate.found(&subject.case.competing).benefit;
    let used = |who: usize| edges(&benefit).iter().any(|&(from, to, _)| from == who || to == who);
    assert_eq!([0, 1, 2, 3, 4, 5].map(used), [true, true, false, true, false, true]);
}

fn begin(case: &Case, trainer: &dyn Trainer) -> Box<dyn Coordinate> {
    let Needs::Messages(trainer) = trainer.needs() else { panic!("needs all data") };
    let federation = case.federation();
    let known = Known::of(&federation);
    trainer.coordinate(&known, &case.usage, &no_benefit(&case.usage), effort())
}

/// A participant that answers another request, or with other pieces, counts as missing; so does one that sends
/// nothing. The others go on.
#[test]
fn an_answer_to_something_else_counts_as_missing() {
    let case = Case::new();
    let mut elsewhere = Elsewhere::new(&case, effort());
    let mut coordinator = begin(&case, &Mixing::default());
    let mut exchange = Exchange::recorded(&case.competing);
    let mut stream = Stream::new(2, "order", 0);
    exchange.begin(1, &[]);
    let phase = coordinator.begin(&mut exchange).expect("nothing is given yet");
    let mut answers = elsewhere.carry(&phase, &mut stream, false);
    if let Some(answer) = &mut answers[0] {
        answer.id += 1;
    }
    if let Some(answer) = &mut answers[1] {
        answer.pieces.pop();
    }
    answers[3] = None;
    coordinator.end(&mut exchange, &phase, answers);
    let (transfers, _) = exchange.drain();
    let from: Vec<usize> = transfers.iter().filter_map(|transfer| transfer.from).collect();
    assert_eq!(from, [2, 4, 5].map(|who| [who]).concat().repeat(2)[..from.len()]);
    exchange.begin(2, &[]);
    let phase = coordinator.begin(&mut exchange).expect("the guard never fires");
    let given = |who: usize| phase.requests()[who].as_ref().map_or(0, |one| one.given.len());
    assert_eq!([0, 1, 3].map(given), [0; 3], "nothing for those whose own message is missing");
    assert_eq!([2, 4, 5].map(given), [2; 3], "a model and a gradient each");
}

/// Something of another size than the model is refused by the participant, and never adopted.
#[test]
fn a_participant_refuses_what_does_not_fit() {
    let case = Case::new();
    let federation = case.federation();
    let site = federation.site(1);
    let mut participant = Participant::new(&site, effort());
    let mut coordinator = begin(&case, &Averaging {});
    let mut exchange = Exchange::new(&case.competing);
    exchange.begin(1, &[]);
    let phase = coordinator.begin(&mut exchange).expect("nothing is given yet");
    let mut request = phase.requests()[1].clone().expect("everybody is asked");
    let fits = participant.best().parameters.len();
    for (values, words) in [(fits - 1, 1), (fits + 1, 1), (0, 1), (fits, 0), (fits, 2)] {
        let given = fedcompetitors_federate::protocol::Given {
            content: Content::Model,
            values: vec![0.5; values],
            carried: vec![1; words],
        };
        request.given = vec![given];
        let refused = participant.answer(&site, &request).expect_err("it does not fit");
        assert!(
            refused.to_string().starts_with("participant \"v2\" was given a model"),
            "{refused}"
        );
    }
}

/// Messages have one form: bytes of anything else, of another version, cut off or with more behind are refused.
#[test]
fn bytes_that_are_no_message_are_refused() {
    let case = Case::new();
    let mut coordinator = begin(&case, &Scaffold {});
    let mut exchange = Exchange::new(&case.competing);
    let phase = coordinator.begin(&mut exchange).expect("nothing is given yet");
    let request = phase.requests()[0].clone().expect("everybody is asked");
    assert!(matches!(request.ask, Ask::Train(_)));
    let bytes = request.to_bytes();
    assert_eq!(Request::from_bytes(&bytes), Ok(request));
    assert_eq!(Answer::from_bytes(&bytes), Err(WireError::NotAMessage), "a request is no answer");
    let mut other = bytes.clone();
    other[4] += 1;
    assert_eq!(Request::from_bytes(&other), Err(WireError::Version { found: VERSION + 1 }));
    for length in 0..bytes.len() {
        assert!(Request::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(Request::from_bytes(&[&bytes[..], &[0]].concat()), Err(WireError::Damaged));
    let mut stream = Stream::new(3, "bytes", 0);
    for _ in 0..repeat(2000) {
        let mut changed = bytes.clone();
        let at = stream.below(changed.len() as u64) as usize;
        changed[at] = stream.below(256) as u8;
        // Whatever it is then, it is read without a panic, and written as it was read.
        if let Ok(read) = Request::from_bytes(&changed) {
            assert_eq!(Request::from_bytes(&read.to_bytes()), Ok(read));
        }
    }
}
