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

use clap::{Args, Parser, Subcommand, ValueEnum};
use fedcompetitors_files::MOST_PARTICIPANTS;
use fedcompetitors_select::{Effort, Objective};

pub use data::*;
pub use reproduce::*;
pub use runs::*;

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 a finding (a plan that breaks the rule, a certificate that does \
not hold, a run in which somebody was missing or sent garbage), 2 wrong usage or an unknown name, 3 a file \
that says something wrong, 4 a file out of reach, 130 stopped with Ctrl-C.";

/// Federated learning for organisations that partly compete.
///
/// `run` takes a federation file from data to everybody's own model, and `demo` shows it.
/// Participants say whom they compete with; an estimate says who would help whom.
/// `select` decides who may learn from whom so that nobody ever contributes to a
/// competitor, directly or through any chain of others; `verify` proves it; `explain`
/// gives the reason for every refusal.
#[derive(Debug, Parser)]
#[command(name = "fedcompetitors", version, after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run eight hospitals in three cities, with made-up patients.
    Demo(DemoArguments),
    /// Run a federation file: who would help whom, the plan, its proof, everybody's model.
    Run(RunArguments),
    /// Write a federation file for a folder of data files.
    Init(InitArguments),
    /// Say whether a federation file and its data make sense, without training.
    Check(CheckArguments),
    /// Say how a run stands.
    Status(FolderArguments),
    /// Print every figure of a run, one a line, as CSV.
    Metrics(MetricsArguments),
    /// Write every table of a run as CSV.
    Export(ExportArguments),
    /// Replay the ledger of a run and confirm the rule, or name the breach.
    Audit(AuditArguments),
    /// Write a run as one page to look at: its graphs, what everybody gains, the proof.
    Report(ReportArguments),
    /// Show a run, or a folder of runs, in a browser, as it goes on.
    Serve(ServeArguments),
    /// Decide who may learn from whom.
    Select(SelectArguments),
    /// Put the plans of all policies side by side.
    Compare(CompareArguments),
    /// Say what each competition costs: the welfare with and without it.
    Price(PriceArguments),
    /// Plan anew with participants who join (or return).
    Join(JoinArguments),
    /// Plan anew without participants who leave.
    Leave(JoinArguments),
    /// Plan anew after two participants have declared that they compete.
    Declare(DeclareArguments),
    /// Plan anew, with benefits estimated anew or another policy.
    Replan(ChangeArguments),
    /// Prove that a plan keeps the rule, or show how it breaks it.
    Verify(VerifyArguments),
    /// Say why one participant may or may not learn from another.
    Explain(ExplainArguments),
    /// Run one of the paper's experiments and print its table.
    Reproduce(ReproduceArguments),
    /// Make a random federation, for tests and benchmarks.
    Generate(GenerateArguments),
    /// List and fetch public data sets.
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Print the completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for every command.
    Manual {
        /// A folder to write all pages to.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct GraphFiles {
    /// Who competes with whom: CSV with header `a,b`, or an n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub competing: PathBuf,
    /// Who would help whom: CSV with header `from,to,benefit`, or an n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub benefit: PathBuf,
}

#[derive(Debug, Args)]
pub struct SelectArguments {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The participants, one name a line; fixes their order. Without it they come in
    /// the order of first appearance, in the benefit file, then the competing file.
    #[arg(long, value_name = "FILE")]
    pub participants: Option<PathBuf>,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// A file to write the plan to, as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
    /// Print the refused edges with their reasons too (a JSON plan holds them anyway).
    #[arg(long, conflicts_with = "no_refusals")]
    pub refusals: bool,
    /// Leave the refused edges out of the JSON plan: there may be millions.
    #[arg(long)]
    pub no_refusals: bool,
    #[command(flatten)]
    pub what_if: WhatIfArguments,
}

#[derive(Debug, Args)]
#[group(id = "what-if", multiple = true)]
pub struct WhatIfArguments {
    /// What if this participant were not there? May be given several times.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// The paper's: participants by level of potential, each takes all it may.
    Greedy,
    /// The largest welfare that the rule allows, with proof.
    Optimal,
    /// Everybody with everybody in cliques without competitors, as few as can be.
    Cliques,
    /// The collaboration equilibrium inside those cliques.
    Coalitions,
    /// Coalitions without competitors or free riders.
    Egoists,
    /// Everybody alone.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ObjectiveName {
    /// The largest sum of benefits.
    Welfare,
    /// Whoever gets least gets as much as can be, then the next, and so on.
    MaxMin,
    /// As many as can be get something, and the product of what they get is largest.
    Proportional,
}

impl From<ObjectiveName> for Objective {
    fn from(name: ObjectiveName) -> Self {
        match name {
            ObjectiveName::Welfare => Self::Welfare,
            ObjectiveName::MaxMin => Self::MaxMin,
            ObjectiveName::Proportional => Self::Proportional,
        }
    }
}

#[derive(Debug, Args)]
pub struct PolicyArguments {
    /// How to decide.
    #[arg(long, value_enum, default_value_t = PolicyName::Greedy)]
    pub policy: PolicyName,
    /// What `optimal` aims at.
    #[arg(long, value_enum, default_value_t = ObjectiveName::Welfare)]
    pub objective: ObjectiveName,
    #[command(flatten)]
    pub effort: EffortArguments,
}

#[derive(Debug, Args)]
pub struct EffortArguments {
    /// Seconds after which `optimal` stops with the best plan so far and its bound; so
    /// does Ctrl-C (a second one ends the program at once, with status 130). Where
    /// several plans are made, they share the time.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: f64,
    /// `optimal` stops once no plan can be better by more than this part (0.01 = 1 %).
    #[arg(long, value_name = "PART", default_value_t = 0.0, allow_negative_numbers = true, value_parser = part)]
    pub gap: f64,
    /// The seed of `optimal`'s search.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
}

impl EffortArguments {
    /// The effort, beginning now, for so many seconds.
    pub fn effort<'a>(&self, seconds: f64, stop: &'a AtomicBool) -> Effort<'a> {
        let deadline = Instant::now().checked_add(Duration::from_secs_f64(seconds));
        Effort { deadline, stop: Some(stop), gap: self.gap, seed: self.seed }
    }
}

#[derive(Debug, Args)]
pub struct ChangeArguments {
    /// The plan so far, with its provenance.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    #[command(flatten)]
    pub files: GraphFiles,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// A file to write the new plan to; it may be that of the old one.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Nobody has trained by the plan so far: nothing has flowed along it.
    #[arg(long)]
    pub untrained: bool,
    /// A participant that begins again from its own data, so that its model carries
    /// nobody else's; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub restart: Vec<String>,
    /// These two no longer compete: the plan remembers competitions, so that none is lost
    /// with a line of the competing file. May be given several times.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub reconciled: Vec<String>,
}

#[derive(Debug, Args)]
pub struct JoinArguments {
    #[command(flatten)]
    pub change: ChangeArguments,
    /// Who.
    #[arg(required = true)]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DeclareArguments {
    #[command(flatten)]
    pub change: ChangeArguments,
    /// Who declares it.
    pub a: String,
    /// With whom.
    pub b: String,
}

#[derive(Debug, Args)]
pub struct PriceArguments {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The participants, one name a line; fixes their order.
    #[arg(long, value_name = "FILE")]
    pub participants: Option<PathBuf>,
    /// How to decide; by `optimal` the price is the competition's own, not a heuristic's.
    #[arg(long, value_enum, default_value_t = PolicyName::Optimal)]
    pub policy: PolicyName,
    #[command(flatten)]
    pub effort: EffortArguments,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct CompareArguments {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The participants, one name a line; fixes their order.
    #[arg(long, value_name = "FILE")]
    pub participants: Option<PathBuf>,
    /// What `optimal` aims at.
    #[arg(long, value_enum, default_value_t = ObjectiveName::Welfare)]
    pub objective: ObjectiveName,
    #[command(flatten)]
    pub effort: EffortArguments,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// A table for people.
    Text,
    /// The plan, as --out writes it.
    Json,
    /// One line for each edge.
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Who competes with whom: CSV with header `a,b`, or an n × n .npy matrix.
    #[arg(long, value_name = "FILE")]
    pub competing: PathBuf,
    /// The plan, as `select --out` wrote it.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// A file to write the certificate to.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// A certificate to check against the plan, instead of making one.
    #[arg(long, value_name = "FILE", conflicts_with = "certificate")]
    pub against: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct ExplainArguments {
    #[command(flatten)]
    pub files: GraphFiles,
    /// The plan, as `select --out` wrote it.
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// The participant whose data would help.
    pub from: String,
    /// The participant that would learn.
    pub to: String,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// How many participants.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=MOST_PARTICIPANTS as i64))]
    pub participants: u32,
    /// With which probability two participants compete.
    #[arg(long, value_name = "P", default_value_t = 0.2, allow_negative_numbers = true, value_parser = probability)]
    pub competing_density: f64,
    /// With which probability one participant helps another.
    #[arg(long, value_name = "P", default_value_t = 0.5, allow_negative_numbers = true, value_parser = probability)]
    pub benefit_density: f64,
    /// The same seed gives the same federation.
    #[arg(long, value_name = "SEED", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// The folder to write to; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The form of the two graphs.
    #[arg(long, value_enum, default_value_t = GraphFormat::Csv)]
    pub format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// competing.csv and benefit.csv.
    Csv,
    /// competing.npy and benefit.npy, for researchers.
    Npy,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("a time is a number of seconds that is at least 0".into()),
    }
}

fn part(text: &str) -> Result<f64, String> {
    probability(text).map_err(|_| "a part is a number from 0 to 1, such as 0.05 for 5 %".into())
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("a probability is a number from 0 to 1".into()),
    }
}
