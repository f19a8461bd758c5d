//! The protocol: what leaves the coordinator, what it refuses, and the bytes of messages.

use fedcompetitors_federate::{
    Known, estimate,
    exchange::{Exchange, IncidentKind},
    protocol::{
        Answer, Ask, Coordinate, Participant, Request,
        wire::{VERSION, WireError},
    },
    train::{Averaging, Mixing, Needs, Scaffold, Trainer},
};
use fedcompetitors_graphs::{bits::ones, random::Stream};
use fedcompetitors_record::Content;
use fedcompetitors_testing::repeat;

use crate::{
    exchange::{Case, no_benefit},
    simulator::{Coordinating, Elsewhere, Subject, edges, effort, subjects},
};

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
    let (transfers, incidents) = exchange.drain();
    let incidents: Vec<_> = incidents.iter().map(|one| (one.participant, one.kind)).collect();
    let (unreadable, missing) = (IncidentKind::Unreadable, IncidentKind::Missing);
    assert_eq!(incidents, [(0, unreadable), (1, unreadable), (3, missing)]);
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
            values: vec![0.5; values].into(),
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
