//! Readers and writers: files in, graphs and tables out, and plans and certificates back into files.
//!
//! Everything from outside is checked here once. An error names the file, the line
//! and the participant and comes with a hint; a file is written whole or not at all.
//!
//! | file | form |
//! |---|---|
//! | competing graph | CSV with header `a,b` (each line a report: `a` says it competes with `b`), or an n × n `.npy` matrix of 0 and 1, row = who reports |
//! | benefit graph | CSV with header `from,to,benefit`, or an n × n `.npy` matrix, row = from, column = to |
//! | participants | text, one name a line; fixes the order |
//! | samples | CSV with header `participant,samples`: how many samples each participant has |
//! | assignments | CSV with header `participant,repeat,row,fold`: in which fold each row is tested |
//! | federation | TOML, see [`federation::Settings`] |
//! | data | CSV, plain or compressed with gzip, with a line of names or without, read by [`DataRules`] |
//! | CIFAR-10 | its official binary files |
//! | eICU | the database's own tables in a folder, see [`read_eicu`] |
//! | plan | JSON, `fedcompetitors-plan/1` |
//! | certificate | JSON, `fedcompetitors-certificate/1` |
//! | catalogue of data sets | JSON, `fedcompetitors-catalogue/1` |

#![forbid(unsafe_code)]

mod assignments;
mod catalogue;
mod certificate;
mod cifar10;
mod data;
mod eicu;
mod error;
pub mod federation;
mod graphs;
mod json;
mod npy;
mod plan;
mod tables;
mod write;

pub use assignments::{Assignments, parse_assignments, read_assignments};
pub use catalogue::{
    Catalogue, CatalogueProblem, Checksum, ChecksumList, DataFile, DataSet, Member, is_web_address,
    parse_catalogue, read_catalogue, write_catalogue,
};
pub use certificate::{parse_certificate, read_certificate, write_certificate};
pub use cifar10::{CIFAR10_CLASSES, Cifar10Problem, read_cifar10};
pub use data::{
    ColumnSurvey, DataProblem, DataRules, Impression, Incomplete, ReadTable, Survey, TargetMeaning,
    count_values, parse_survey, parse_table, read_table, survey,
};
pub use eicu::{Cohort, Eicu, EicuProblem, Hospitals, PAPER_HOSPITALS, read_eicu};
pub use error::{FileError, NpyProblem, Problem};
pub use federation::{
    FederationFile, FederationProblem, parse_federation, read_federation, read_federation_under,
};
pub use graphs::{
    Graphs, MOST_PARTICIPANTS, lookalikes, parse_graphs, parse_participants, parse_samples,
    read_benefit, read_competing, read_graphs, read_participants, read_samples,
};
pub use json::to_writer as write_json;
pub use npy::{write_benefit_matrix, write_competing_matrix};
pub use plan::{PlanDocument, StatedPlan, parse_plan, plan_json, read_plan, write_plan};
pub use tables::{write_benefit, write_competing, write_participants, write_table};
pub use write::{atomically, make_folder, remove_leftovers, remove_temporaries, sync_folder};
