//! Learning against the same steps in PyTorch (`bench/peers/pytorch`), turn and turn about in
//! one run: both on two threads, each waiting while the other works.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use fedcompetitors_experiments::{Experiment, Setting};
use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::JointHypernetwork,
    train::{Averaging, Effort, Trainer},
};
use fedcompetitors_files::{CIFAR10_CLASSES, read_cifar10};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, UsageGraph, random::Stream,
};
use fedcompetitors_learn::{
    Accuracy, ClassSplit, Cnn, Learner, Loss, NativeLearner, OptimizerSettings, Samples, Targets,
    synthetic::Synthetic,
};

use crate::{
    Failure,
    record::Row,
    timing::{best, middle, timed},
    told,
};

/// Threads of either side.
const THREADS: usize = 2;

/// Turns of either side.
const TURNS: usize = 5;

/// The columns of what is kept.
pub const COLUMNS: &[&str] = &["what", "side", "turn", "seconds"];

/// How much of the whole experiment is run.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    /// Federations.
    pub seeds: u64,
    /// Gradients for each participant and method.
    pub evaluations: usize,
}

/// Runs everything with the peer in this Python environment; what needs CIFAR-10 only where
/// there is a folder with its files.
///
/// # Errors
/// If the peer does not answer, or a file of CIFAR-10 is not as it should be.
pub fn run(python: &Path, whole: Whole, cifar10: Option<&Path>) -> Result<Vec<Row>, Failure> {
    // A wrong folder is better heard of now than after minutes.
    let cifar10 = cifar10.map(|folder| Ok::<_, Failure>((folder, photographs(folder)?)));
    let cifar10 = cifar10.transpose()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let mut peer = Peer::start(python)?;
    let mut rows = Vec::new();
    println!("{:34} {:>12} {:>12} {:>8}", "", "ours", "PyTorch's", "faster");

    let synthetic = Synthetic::strong().learners(1, 20, 10)?;
    let adam = OptimizerSettings::Adam { rate: 0.003, decay: 0.0 };
    let mut job = Job { rows: &mut rows, peer: &mut peer, what: "hypernetwork step, synthetic" };
    job.run(TURNS, &format!("synthetic {SYNTHETIC_STEPS}"), || {
        pool.install(|| step(&synthetic, SYNTHETIC_STEPS, |all, steps| joint(adam, all, steps)))
    })?;

    let images = images()?;
    let rule = OptimizerSettings::Sgd { rate: 0.01, momentum: 0.5, decay: 0.0 };
    job.what = "hypernetwork step, small images";
    job.run(TURNS, &format!("cnn {CNN_STEPS}"), || {
        pool.install(|| step(&images, CNN_STEPS, |all, steps| joint(rule, all, steps)))
    })?;

    if let Some((folder, learners)) = cifar10 {
        let path = folder.to_str().ok_or_else(|| format!("{}: not UTF-8", folder.display()))?;
        job.what = "CIFAR-10 steps";
        job.run(TURNS, &format!("cifar10 {CIFAR10_STEPS} {path}"), || {
            pool.install(|| step(&learners, CIFAR10_STEPS, alone))
        })?;
    }

    let Whole { seeds, evaluations } = whole;
    job.what = "reproduce synthetic-strong";
    job.run(1, &format!("reproduce {seeds} {evaluations}"), || {
        let rules = vec![OptimizerSettings::Adam { rate: 0.01, decay: 0.001 }];
        let usual = Experiment::new(Setting::Strong, seeds);
        let experiment = Experiment { evaluations, rules, ..usual };
        let (seconds, results) = timed(|| pool.install(|| experiment.run(&|_, _| {})));
        results?;
        Ok(seconds)
    })?;
    Ok(rows)
}

const SYNTHETIC_STEPS: usize = 300;
const CNN_STEPS: usize = 10;
const CIFAR10_STEPS: usize = 40;
const CIFAR10_BATCH: usize = 32;

/// Seconds of one step of all learners, from so many of them.
fn step(
    learners: &[NativeLearner],
    steps: usize,
    train: impl Fn(&Federation<'_>, usize) -> Result<(), FederateError>,
) -> Result<f64, Failure> {
    let competing = CompetingGraph::builder(&Participants::numbered(learners.len())).build();
    let all = learners.iter().map(|learner| learner as &dyn Learner).collect();
    let federation = Federation::new(&competing, all, 1)?;
    // What is done once is not part of a step.
    let some = |steps| {
        let (seconds, result) = timed(|| train(&federation, steps));
        result.map(|()| seconds)
    };
    Ok((some(steps + 1)? - some(1)?).max(f64::MIN_POSITIVE) / steps as f64)
}

/// So many steps of the joint hypernetwork.
fn joint(
    rule: OptimizerSettings,
    federation: &Federation<'_>,
    steps: usize,
) -> Result<(), FederateError> {
    JointHypernetwork { steps, ..JointHypernetwork::default() }.train(federation, rule).map(drop)
}

/// So many steps of everybody alone: the groups of a usage graph without edges are of one.
fn alone(federation: &Federation<'_>, steps: usize) -> Result<(), FederateError> {
    let usage = UsageGraph::builder(federation.competing().participants()).build();
    let rule = OptimizerSettings::Adam { rate: 0.001, decay: 0.0 };
    let nothing = BenefitGraph::builder(federation.competing().participants()).build();
    // In one round validation data is looked at once, however many steps there are: so that
    // is done once, too, and no part of a step.
    let batch = Some(CIFAR10_BATCH);
    let effort = Effort { evaluations: steps, local_steps: steps, rule, batch };
    Averaging {}.train(federation, &usage, &nothing, effort).map(drop)
}

/// Ten participants with 64 images of two classes each, and heads of their own.
fn images() -> Result<Vec<NativeLearner>, Failure> {
    let model = Arc::new(Cnn::new(32, 3, 2).with_own_head());
    (0..10)
        .map(|participant| {
            let mut stream = Stream::new(1, "images", participant);
            let mut some = |count: usize| {
                let pixels = (0..count * 3 * 32 * 32).map(|_| stream.unit() as f32 - 0.5);
                let labels = (0..count as u32).map(|image| image % 2).collect();
                Samples::new(pixels.collect(), 3 * 32 * 32, Targets::Classes { labels, count: 2 })
            };
            let parts = [some(64)?, some(2)?, some(2)?];
            let (loss, metric) = (Loss::CrossEntropy, &Accuracy);
            Ok(NativeLearner::from_parts(Arc::clone(&model) as _, loss, metric, parts)?)
        })
        .collect()
}

/// Ten participants with two classes of CIFAR-10 each.
fn photographs(folder: &Path) -> Result<Vec<NativeLearner>, Failure> {
    let (training, test) = read_cifar10(folder).map_err(|error| told(&error))?;
    let split = ClassSplit::draw(&training, &test, CIFAR10_CLASSES, 1)?;
    Ok(split.learners(&training, &test, 1)?)
}

/// One thing to do, on both sides.
struct Job<'a> {
    rows: &'a mut Vec<Row>,
    peer: &'a mut Peer,
    what: &'static str,
}

impl Job<'_> {
    /// Does it in turns, and tells how they compare: the middle of either side's turns,
    /// where a turn of the peer is its middle step.
    fn run(
        &mut self,
        turns: usize,
        peers: &str,
        mut ours: impl FnMut() -> Result<f64, Failure>,
    ) -> Result<(), Failure> {
        let (mut our_turns, mut peer_turns) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            our_turns.push(ours()?);
            peer_turns.push(middle(&self.peer.ask(peers)?));
            for (side, turns) in [("ours", &our_turns), ("PyTorch", &peer_turns)] {
                let value = format!("{:e}", turns[turn]);
                self.rows.push(vec![self.what.into(), side.into(), turn.to_string(), value]);
            }
        }
        let (our, peer) = (middle(&our_turns), middle(&peer_turns));
        let best = best(&peer_turns) / best(&our_turns);
        println!(
            "{:34} {:>9.3} ms {:>9.3} ms {:>7.2}×  (best against best {best:.2}×)",
            self.what,
            our * 1e3,
            peer * 1e3,
            peer / our
        );
        Ok(())
    }
}

/// The other program, which waits for jobs.
struct Peer {
    process: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &Path) -> Result<Self, Failure> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch/peer.py");
        let mut process = Command::new(python)
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let (Some(jobs), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("the peer has no pipes".into());
        };
        Ok(Self { process, jobs, answers: BufReader::new(answers) })
    }

    /// The seconds that a job took there.
    fn ask(&mut self, job: &str) -> Result<Vec<f64>, Failure> {
        writeln!(self.jobs, "{job}")?;
        self.jobs.flush()?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            return Err("the peer has ended; see bench/peers/pytorch/README.md".into());
        }
        let answer: serde_json::Value = serde_json::from_str(&answer)?;
        let seconds = answer["seconds"].as_array().ok_or("the peer told no seconds")?;
        Ok(seconds.iter().filter_map(serde_json::Value::as_f64).collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
