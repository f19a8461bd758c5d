//! The command line.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use fedcompetitors_files::MOST_PARTICIPANTS;
use fedcompetitors_select::{Effort, Objective};

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
pub struct DemoArguments {
    /// The folder to write models, record and report to; it is made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "demo-run")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder to write models, record and report to; it is made if it is not there.
    /// Without it `NAME-run`, for a federation file `NAME.toml` or `NAME/federation.toml`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was interrupted; it ends with the same bytes.
    #[arg(long)]
    pub resume: bool,
    /// The folder with the participants' data files, instead of the federation file's own.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A script of participants that drop out, come late or send garbage.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Do everything so many times, with the seeds that follow, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeats: Option<u64>,
    /// Exchange models so many times, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<usize>,
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds @ 1..=1_000_000) => Ok(rounds),
        _ => Err("a number from 1 to 1000000".into()),
    }
}

#[derive(Debug, Args)]
pub struct InitArguments {
    /// The folder with one data file (.csv, .csv.gz, .data, .parquet) for each participant.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The column to predict; the last one, if it is not said.
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The file to write; without it `federation.toml` in the folder.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write over a file that is already there.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder with the participants' data files, instead of the federation file's own.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FolderArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Who competes is what this federation file says, not what the run says.
    #[arg(long, value_name = "FILE")]
    pub federation: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Write the page to this file instead of report.html in the folder of the run.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The folder of a run, or one whose folders are runs.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Where to listen. Beyond this machine everything needs the link that is printed; what is
    /// sent is not encrypted.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8765")]
    pub listen: SocketAddr,
    /// Print a link for this participant too. It opens a page of its own, with nothing of whom
    /// others compete with, and nothing else; everything then needs a link. May be given several
    /// times.
    #[arg(long = "as", value_name = "NAME")]
    pub participants: Vec<String>,
    /// Make the links of this secret, so that they stay the same from one start to the next;
    /// without it they are new each time.
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MetricsArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = MetricsFormat::Csv)]
    pub format: MetricsFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricsFormat {
    /// One figure a line.
    Csv,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The folder to write to; without it `export` in the run's own.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
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
pub struct ReproduceArguments {
    /// Which experiment.
    #[arg(value_enum)]
    pub setting: SettingName,
    /// How many federations to draw, or with `eicu` how often to cross-validate, with the seeds
    /// 901, 902, … (`cifar10`: 931, …); 5 if not said, 10 with `eicu`, 2 with `cifar10 --budget short`.
    #[arg(long, visible_aliases = ["repeats", "graphs"], value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: Option<u64>,
    /// The folder with the tables of eICU or the files of CIFAR-10, which only `eicu` and
    /// `cifar10` take and need.
    #[arg(long, value_name = "DIR", required_if_eq_any = [("setting", "eicu"), ("setting", "cifar10")])]
    pub data: Option<PathBuf>,
    /// How much `cifar10` spends on each method; `short` if not said.
    #[arg(long, value_enum)]
    pub budget: Option<BudgetName>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
    /// A folder to write the table and the results to; it is made if it is not there. `cifar10`
    /// also keeps each training that is done, and goes on with what it finds there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Gradients that each method may take for each participant, estimation included; at least
    /// 500, of which the estimates take up to 450; 2000 if not said. `cifar10` has its budgets.
    #[arg(long, value_name = "N", value_parser = evaluations)]
    pub evaluations: Option<usize>,
    /// The learning rate of Adam, for every method, together with a decay; without them
    /// validation data chooses, for FedProx also the pull, which is 0.01 otherwise.
    #[arg(long, value_name = "RATE", requires = "decay", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    pub rate: Option<f32>,
    /// How much of each parameter is added to its gradient.
    #[arg(long, value_name = "PART", requires = "rate", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    pub decay: Option<f32>,
    /// Also measure what everybody gains from everybody, and say how well the estimates
    /// rank helpers.
    #[arg(long)]
    pub measure: bool,
    /// Threads, as many as there are processors if not said; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SettingName {
    /// Nearly one task, four participants with many samples and four with few.
    SyntheticWeak,
    /// Two tasks of opposite sign.
    SyntheticStrong,
    /// Deaths in hospitals, from the tables of eICU: ten hospitals of the full database, or
    /// groups of the demo's.
    Eicu,
    /// Small images, two classes for each participant, from the files of CIFAR-10.
    Cifar10,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BudgetName {
    /// Twice through the images: minutes.
    Short,
    /// Eight times: an hour or two.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
    /// For a page.
    Markdown,
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

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Say which data sets there are: what they are, their licence, files and sizes, where from.
    List(DataListArguments),
    /// Fetch the files of a data set from their publisher and check them.
    ///
    /// A call that was interrupted is taken up where it ended; files that are there are kept.
    Fetch(DataFetchArguments),
    /// Write a federation of lenders from the loans of the U.S. Small Business Administration.
    Banks(BanksArguments),
}

#[derive(Debug, Args)]
pub struct BanksArguments {
    /// The folder with the loans.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The folder to write federation.toml and competing.csv to.
    #[arg(long, value_name = "DIR", default_value = "banks")]
    pub out: PathBuf,
    /// Two lenders compete where the cosine of their loans by state is above this.
    #[arg(long, value_name = "PART", default_value_t = 0.8, value_parser = part)]
    pub overlap: f64,
    /// Look among so many of the largest lenders.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub largest: usize,
    /// Take those with at least so many loans of each outcome.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub least: u64,
}

#[derive(Debug, Args)]
pub struct DataListArguments {
    /// A catalogue of data sets, instead of the program's own.
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// What to print; as JSON it is a catalogue, to begin one's own with.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DataFetchArguments {
    /// Which: heart, sba, eicu-demo, cifar10, or one of the catalogue.
    pub name: String,
    /// The folder to write to, data/NAME if not said; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// A web server to take the files from instead, as URL/NAME/FILE; checksums still hold.
    #[arg(long, value_name = "URL", env = "FEDCOMPETITORS_DATA_MIRROR", hide_env_values = true)]
    pub mirror: Option<String>,
    /// A catalogue of data sets, instead of the program's own (`data list --format json`).
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// competing.csv and benefit.csv.
    Csv,
    /// competing.npy and benefit.npy, for researchers.
    Npy,
}

/// Fewer would not even pay for an estimate.
const FEWEST_EVALUATIONS: usize = 500;

fn evaluations(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= FEWEST_EVALUATIONS => Ok(count),
        _ => Err(format!("a number that is at least {FEWEST_EVALUATIONS}")),
    }
}

fn positive(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number above 0".into()),
    }
}

fn not_negative(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number that is at least 0".into()),
    }
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
