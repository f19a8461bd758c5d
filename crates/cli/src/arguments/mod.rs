//! The command line. What is said of plans is here; runs, experiments and data sets have rooms of
//! their own.

mod data;
mod reproduce;
mod runs;

use std::{
    path::PathBuf,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use fedcompetitors_files::MOST_PARTICIPANTS;
use fedcompetitors_graphs::{Choice, Entry, Registry, Rule};
use fedcompetitors_select::{Effort, Friends, Greedy, ObjectiveKind, Optimal, Policy};

pub use data::*;
pub use reproduce::*;
pub use runs::*;

const AFTER_HELP: &str = "\
Exit status: 0 success, 1 a finding (a plan that breaks the rule, a certificate that does \
not hold, a run with incidents), 2 wrong usage or an unknown name, 3 a file with invalid \
content, 4 a file or an address that cannot be reached, 130 stopped with Ctrl-C.";

/// Federated learning for organisations that partly compete.
///
/// `run` executes a federation file, from data to a model for each participant; `demo` runs an
/// example. Participants declare their competitors; an estimate finds who would help whom. `select`
/// decides who may learn from whom so that nobody ever contributes to a competitor, directly or
/// through any chain of others; `verify` proves it; `explain` gives the reason for every refusal.
#[derive(Debug, Parser)]
#[command(name = "fedcompetitors", version, after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an example: eight hospitals in three cities, with synthetic patients.
    Demo(DemoArguments),
    /// Run a federation file: estimate benefits, make and prove a plan, train models.
    Run(RunArguments),
    /// Write a federation file for a folder of data files, or for one shared file.
    Init(InitArguments),
    /// Check a federation file and its data, without training.
    Check(CheckArguments),
    /// Show the status of a run.
    Status(FolderArguments),
    /// Print all figures of a run as CSV, one per line.
    Metrics(MetricsArguments),
    /// Write all tables of a run as CSV files.
    Export(ExportArguments),
    /// Replay the ledger of a run; confirm that the rule was kept, or report each breach.
    Audit(AuditArguments),
    /// Write an HTML report of a run: graphs, gains, refusals, proof.
    Report(ReportArguments),
    /// Serve live pages of a run, or of a folder of runs, for a browser.
    Serve(ServeArguments),
    /// Decide who may learn from whom.
    Select(SelectArguments),
    /// Compare the plans of all policies.
    Compare(CompareArguments),
    /// Show what each competition costs: the welfare with and without it.
    Price(PriceArguments),
    /// Make a new plan with participants that join or return.
    Join(JoinArguments),
    /// Make a new plan without participants that leave.
    Leave(JoinArguments),
    /// Make a new plan after a participant has declared a competitor.
    Declare(DeclareArguments),
    /// Make a new plan with new benefits or another policy.
    Replan(ChangeArguments),
    /// Prove that a plan keeps the rule, or show a path that breaks it.
    Verify(VerifyArguments),
    /// Explain why one participant may or may not learn from another.
    Explain(ExplainArguments),
    /// Run one of the paper's experiments and print its table.
    Reproduce(ReproduceArguments),
    /// List what a federation file can name, with settings and defaults.
    ///
    /// These are rules, metrics, models, estimators, policies, objectives, trainers and methods.
    List(ListArguments),
    /// Generate a random federation, for tests and benchmarks.
    Generate(GenerateArguments),
    /// List and fetch public data sets.
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Print the completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for every command.
    Manual {
        /// Write all manual pages to this folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct GraphFiles {
    /// Who competes with whom: CSV with header `a,b`, such as `competing.csv` of `export`, or an
    /// n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub competing: PathBuf,
    /// Who would help whom: CSV with header `from,to,benefit`, such as `benefits.csv` of `export`, or an
    /// n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub benefit: PathBuf,
}

#[derive(Debug, Args)]
pub struct ListedGraphs {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The participants, one name per line, in the order to use. Default: the order of first
    /// appearance in the benefit file, then in the competing file.
    #[arg(long, value_name = "FILE")]
    pub participants: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SelectArguments {
    #[command(flatten)]
    pub graphs: ListedGraphs,
    /// The rule that the plan must keep. Default: the rule of the policy. With `messages` the default
    /// policy is `friends`. A policy that keeps `paths` also keeps `messages`, and its plan names `paths`.
    #[arg(long, value_parser = entry::<Rule>())]
    pub rule: Option<Choice<Rule>>,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Write the plan to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
    /// Also print the refused edges with their reasons (a JSON plan has them by default).
    #[arg(long, conflicts_with = "no_refusals")]
    pub refusals: bool,
    /// Omit the refused edges from the JSON plan; there may be millions.
    #[arg(long)]
    pub no_refusals: bool,
    #[command(flatten)]
    pub what_if: WhatIfArguments,
}

#[derive(Debug, Args)]
#[group(id = "what-if", multiple = true)]
pub struct WhatIfArguments {
    /// What if this participant did not take part? Can be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What if", conflicts_with = "out")]
    pub without: Vec<String>,
    /// What if these two competed?
    #[arg(long, num_args = 2, value_names = ["A", "B"], help_heading = "What if", conflicts_with = "out")]
    pub if_competing: Vec<String>,
    /// What if these two did not compete?
    #[arg(long, num_args = 2, value_names = ["A", "B"], help_heading = "What if", conflicts_with = "out")]
    pub if_independent: Vec<String>,
}

impl WhatIfArguments {
    /// Is anything asked?
    pub fn is_asked(&self) -> bool {
        !(self.without.is_empty() && self.if_competing.is_empty() && self.if_independent.is_empty())
    }
}

/// Reads the name of an entry; the help lists all entries.
fn entry<T: Registry + ?Sized + Send>() -> impl TypedValueParser<Value = Choice<T>> {
    let value = |entry: Choice<T>| {
        PossibleValue::new(entry.0.name()).help(entry.0.help().trim_end_matches('.'))
    };
    PossibleValuesParser::new(Choice::<T>::all().map(value)).try_map(|name| name.parse())
}

#[derive(Debug, Args)]
pub struct PolicyArguments {
    /// The policy that makes the plan.
    #[arg(long, value_parser = entry::<dyn Policy>(), default_value_if("rule", "messages", Friends.name()), default_value_t = Choice(&Greedy))]
    pub policy: Choice<dyn Policy>,
    #[command(flatten)]
    pub objective: ObjectiveArguments,
    #[command(flatten)]
    pub effort: EffortArguments,
}

#[derive(Debug, Args)]
pub struct ObjectiveArguments {
    /// The objective of `optimal`.
    #[arg(long, value_parser = entry::<ObjectiveKind>(), default_value_t = Choice(&ObjectiveKind::Welfare))]
    pub objective: Choice<ObjectiveKind>,
    /// For the objective `diminishing`: how many samples each participant has, CSV with header
    /// `participant,samples`, such as `participants.csv` of `export`. Benefits are then in samples,
    /// too: "worth 120 rows of its own".
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct EffortArguments {
    /// Time limit of `optimal` in seconds. It then stops with the best plan so far and its bound,
    /// as it does at Ctrl-C (a second Ctrl-C ends the program, with status 130). Several plans
    /// share the time.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: f64,
    /// Stop `optimal` once no plan can be better by more than this fraction (0.01 = 1 %).
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, allow_negative_numbers = true, value_parser = part)]
    pub gap: f64,
    /// The seed of the search of `optimal`.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
}

impl EffortArguments {
    /// The effort, beginning now, for so many seconds.
    pub fn effort<'a>(&self, seconds: f64, stop: &'a AtomicBool) -> Effort<'a> {
        let deadline = Instant::now().checked_add(Duration::from_secs_f64(seconds));
        Effort { deadline, stop: Some(stop), budget: None, gap: self.gap, seed: self.seed }
    }
}

#[derive(Debug, Args)]
pub struct ChangeArguments {
    /// The current plan, with its provenance.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    #[command(flatten)]
    pub files: GraphFiles,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Write the new plan to this file; it may be the file of the current plan.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Nobody has trained along the current plan yet, so no data has flowed along it.
    #[arg(long)]
    pub untrained: bool,
    /// This participant starts again from its own data, so that its model carries nobody else's.
    /// Can be repeated.
    #[arg(long, value_name = "NAME")]
    pub restart: Vec<String>,
    /// These two no longer compete. The plan remembers competitions, so removing a line from the
    /// competing file is not enough. Can be repeated.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub reconciled: Vec<String>,
}

#[derive(Debug, Args)]
pub struct JoinArguments {
    #[command(flatten)]
    pub change: ChangeArguments,
    /// The participants that join or leave.
    #[arg(required = true)]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DeclareArguments {
    #[command(flatten)]
    pub change: ChangeArguments,
    /// The participant that declares it.
    pub a: String,
    /// The competitor that it declares.
    pub b: String,
}

#[derive(Debug, Args)]
pub struct PriceArguments {
    #[command(flatten)]
    pub graphs: ListedGraphs,
    /// The policy that makes the plans. With a heuristic policy, the price also depends on the
    /// heuristic.
    #[arg(long, value_parser = entry::<dyn Policy>(), default_value_t = Choice(&Optimal))]
    pub policy: Choice<dyn Policy>,
    #[command(flatten)]
    pub objective: ObjectiveArguments,
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct CompareArguments {
    #[command(flatten)]
    pub graphs: ListedGraphs,
    #[command(flatten)]
    pub objective: ObjectiveArguments,
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// A table.
    Text,
    /// The plan, as --out writes it.
    Json,
    /// One line per edge.
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Who competes with whom: CSV with header `a,b`, such as `competing.csv` of `export`, or an
    /// n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub competing: PathBuf,
    /// The plan, a file written by `select --out`.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// Refuse a plan that does not promise this rule. A plan names its rule, `paths` if it names none; one
    /// under `paths` keeps `messages` too.
    #[arg(long, value_parser = entry::<Rule>())]
    pub rule: Option<Choice<Rule>>,
    /// Write the certificate to this file.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Check this certificate against the plan, instead of making one.
    #[arg(long, value_name = "FILE", conflicts_with = "certificate")]
    pub against: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct ExplainArguments {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The plan, a file written by `select --out`.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// The participant whose data would help.
    pub from: String,
    /// The participant that would learn.
    pub to: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Output format.
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
}

#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// The number of participants.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=MOST_PARTICIPANTS as i64))]
    pub participants: u32,
    /// The probability that two participants compete.
    #[arg(long, value_name = "P", default_value_t = 0.2, allow_negative_numbers = true, value_parser = probability)]
    pub competing_density: f64,
    /// The probability that one participant helps another.
    #[arg(long, value_name = "P", default_value_t = 0.5, allow_negative_numbers = true, value_parser = probability)]
    pub benefit_density: f64,
    /// The same seed gives the same federation.
    #[arg(long, value_name = "SEED", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// The folder to write to; created if missing.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The file format of the two graphs.
    #[arg(long, value_enum, default_value_t = GraphFormat::Csv)]
    pub format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// competing.csv and benefit.csv.
    Csv,
    /// competing.npy and benefit.npy.
    Npy,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("expected a number of seconds, at least 0".into()),
    }
}

fn part(text: &str) -> Result<f64, String> {
    probability(text).map_err(|_| "expected a number from 0 to 1, such as 0.05 for 5 %".into())
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 1".into()),
    }
}
