//! Handles on the competing and the benefit graph.

use std::path::PathBuf;

use fedcompetitors_files::{self as files, FileError, MOST_PARTICIPANTS, Problem};
use fedcompetitors_graphs::{self as graphs, GraphError, Participants, ParticipantsBuilder};
use numpy::{PyReadonlyArray2, ndarray::ArrayView2};
use pyo3::prelude::*;

use crate::errors::Failure;

/// Who competes with whom.
#[pyclass(frozen, module = "fedcompetitors._native")]
pub struct CompetingGraph {
    pub graph: graphs::CompetingGraph,
    /// Were all participants listed, or only those that the edges name?
    listed: bool,
}

/// Who would help whom, and how much.
#[pyclass(frozen, module = "fedcompetitors._native")]
pub struct BenefitGraph {
    pub graph: graphs::BenefitGraph,
    listed: bool,
}

/// The participants, listed beforehand or in the order in which they appear.
enum Names {
    Listed(Participants),
    Growing(ParticipantsBuilder),
}

impl Names {
    fn new(listed: Option<Vec<String>>) -> Result<Self, Failure> {
        Ok(match listed {
            Some(names) => Self::Listed(Participants::new(names)?),
            None => Self::Growing(ParticipantsBuilder::default()),
        })
    }

    fn find(&mut self, name: &str) -> Result<usize, GraphError> {
        match self {
            Self::Listed(participants) => participants.find(name),
            Self::Growing(builder) => builder.find_or_add(name),
        }
    }

    fn finish(self) -> Result<Participants, Failure> {
        let participants = match self {
            Self::Listed(participants) => participants,
            Self::Growing(builder) => builder.build(),
        };
        let count = participants.len();
        if count > MOST_PARTICIPANTS {
            return Err(of_input(Problem::TooMany { count, most: MOST_PARTICIPANTS }));
        }
        Ok(participants)
    }
}

/// A problem with what is no file.
fn of_input(problem: Problem) -> Failure {
    FileError { path: "graph".into(), line: None, problem }.into()
}

/// The participants of a matrix: as they are named, or numbered.
fn of_matrix(
    names: Option<Vec<String>>,
    matrix: &ArrayView2<'_, f64>,
) -> Result<Participants, Failure> {
    let (rows, columns) = matrix.dim();
    if rows != columns {
        return Err(Failure::new(
            "WrongShape",
            format!("the matrix is {rows} × {columns} instead of n × n"),
            "one row and one column for each participant: row = from, column = to",
        ));
    }
    match names {
        None => Ok(Participants::numbered(rows)),
        Some(names) if names.len() == rows => Ok(Participants::new(names)?),
        Some(names) => {
            Err(of_input(Problem::OtherSize { matrix: rows, participants: names.len() }))
        }
    }
}

#[pymethods]
impl CompetingGraph {
    #[new]
    fn new(
        participants: Option<Vec<String>>,
        reports: Vec<(String, String)>,
    ) -> Result<Self, Failure> {
        let listed = participants.is_some();
        let mut names = Names::new(participants)?;
        let mut rows = Vec::with_capacity(reports.len());
        for (a, b) in &reports {
            rows.push((names.find(a)?, names.find(b)?));
        }
        let mut builder = graphs::CompetingGraph::builder(&names.finish()?);
        for (a, b) in rows {
            builder.report(a, b)?;
        }
        Ok(Self { graph: builder.build(), listed })
    }

    #[staticmethod]
    fn from_matrix(
        names: Option<Vec<String>>,
        matrix: PyReadonlyArray2<'_, f64>,
    ) -> Result<Self, Failure> {
        let matrix = matrix.as_array();
        let participants = of_matrix(names, &matrix)?;
        let mut builder = graphs::CompetingGraph::builder(&participants);
        for ((a, b), &value) in matrix.indexed_iter().filter(|(_, value)| **value != 0.0) {
            #[expect(clippy::float_cmp, reason = "exactly one is what is asked for")]
            if value != 1.0 {
                let name = |index| participants.name(index).to_owned();
                return Err(of_input(Problem::NotABit { a: name(a), b: name(b), value }));
            }
            builder.report(a, b)?;
        }
        Ok(Self { graph: builder.build(), listed: true })
    }

    #[getter]
    fn participants(&self) -> Vec<&str> {
        self.graph.participants().names().collect()
    }

    #[getter]
    fn reports(&self) -> Vec<(&str, &str)> {
        let name = |index| self.graph.participants().name(index);
        self.graph.all_reports().map(|(a, b)| (name(a), name(b))).collect()
    }

    #[getter]
    fn pairs(&self) -> Vec<(&str, &str)> {
        let name = |index| self.graph.participants().name(index);
        self.graph.pairs().map(|(a, b)| (name(a), name(b))).collect()
    }

    fn competes(&self, a: &str, b: &str) -> Result<bool, Failure> {
        let participants = self.graph.participants();
        Ok(self.graph.competes(participants.find(a)?, participants.find(b)?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.graph == other.graph
    }
}

impl CompetingGraph {
    /// A graph over everybody.
    pub fn listed(graph: graphs::CompetingGraph) -> Self {
        Self { graph, listed: true }
    }

    /// The same reports over a list of participants.
    pub fn over(&self, participants: &Participants) -> Result<graphs::CompetingGraph, GraphError> {
        if self.graph.participants() == participants {
            return Ok(self.graph.clone());
        }
        let places = places(self.graph.participants(), participants)?;
        let mut builder = graphs::CompetingGraph::builder(participants);
        for (a, b) in self.graph.all_reports() {
            builder.report(places[a], places[b])?;
        }
        Ok(builder.build())
    }
}

#[pymethods]
impl BenefitGraph {
    #[new]
    fn new(
        participants: Option<Vec<String>>,
        edges: Vec<(String, String, f64)>,
    ) -> Result<Self, Failure> {
        let listed = participants.is_some();
        let mut names = Names::new(participants)?;
        let mut rows = Vec::with_capacity(edges.len());
        for (from, to, value) in &edges {
            rows.push((names.find(from)?, names.find(to)?, *value));
        }
        let mut builder = graphs::BenefitGraph::builder(&names.finish()?);
        for (from, to, value) in rows {
            builder.add(from, to, value)?;
        }
        Ok(Self { graph: builder.build(), listed })
    }

    #[staticmethod]
    fn from_matrix(
        names: Option<Vec<String>>,
        matrix: PyReadonlyArray2<'_, f64>,
    ) -> Result<Self, Failure> {
        let matrix = matrix.as_array();
        let participants = of_matrix(names, &matrix)?;
        let mut builder = graphs::BenefitGraph::builder(&participants);
        for ((from, to), &value) in matrix.indexed_iter().filter(|(_, value)| **value != 0.0) {
            builder.add(from, to, value)?;
        }
        Ok(Self { graph: builder.build(), listed: true })
    }

    #[getter]
    fn participants(&self) -> Vec<&str> {
        self.graph.participants().names().collect()
    }

    #[getter]
    fn edges(&self) -> Vec<(&str, &str, f64)> {
        let name = |index| self.graph.participants().name(index);
        (0..self.graph.participants().len())
            .flat_map(|to| {
                self.graph.helpers(to).map(move |(from, value)| (name(from), name(to), value))
            })
            .collect()
    }

    fn benefit(&self, helper: &str, helped: &str) -> Result<f64, Failure> {
        let participants = self.graph.participants();
        Ok(self.graph.benefit(participants.find(helper)?, participants.find(helped)?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.graph == other.graph
    }
}

impl BenefitGraph {
    /// A graph over everybody.
    pub fn listed(graph: graphs::BenefitGraph) -> Self {
        Self { graph, listed: true }
    }

    /// The same edges over a list of participants.
    pub fn over(&self, participants: &Participants) -> Result<graphs::BenefitGraph, GraphError> {
        if self.graph.participants() == participants {
            return Ok(self.graph.clone());
        }
        let places = places(self.graph.participants(), participants)?;
        let mut builder = graphs::BenefitGraph::builder(participants);
        for to in 0..places.len() {
            for (from, value) in self.graph.helpers(to) {
                builder.add(places[from], places[to], value)?;
            }
        }
        Ok(builder.build())
    }
}

/// The place of each participant in another list.
fn places(these: &Participants, others: &Participants) -> Result<Vec<usize>, GraphError> {
    these.names().map(|name| others.find(name)).collect()
}

/// Both graphs over one list of participants, and what looks like a mistake: a list that was
/// given counts; without one they come in the order of the benefit graph, then of the other,
/// as the program reads them.
#[pyfunction]
pub fn unite(
    competing: PyRef<'_, CompetingGraph>,
    benefit: PyRef<'_, BenefitGraph>,
) -> Result<(CompetingGraph, BenefitGraph, Vec<String>), Failure> {
    let (rivals, helpers) = (competing.graph.participants(), benefit.graph.participants());
    let listed = competing.listed || benefit.listed;
    let mut warnings = Vec::new();
    let participants = if rivals == helpers || benefit.listed {
        helpers.clone()
    } else if competing.listed {
        rivals.clone()
    } else {
        let mut all = ParticipantsBuilder::default();
        for name in helpers.names().chain(rivals.names()) {
            all.find_or_add(name)?;
        }
        let all = all.build();
        let named = |by: &Participants| -> Vec<bool> {
            all.names().map(|name| by.find(name).is_ok()).collect()
        };
        if !rivals.is_empty() && !helpers.is_empty() {
            warnings = files::lookalikes(
                &all,
                ("the competing graph", &named(rivals)),
                ("the benefit graph", &named(helpers)),
            );
        }
        all
    };
    if participants.is_empty() {
        return Err(of_input(Problem::NoParticipants));
    }
    let competing = CompetingGraph { graph: competing.over(&participants)?, listed };
    let benefit = BenefitGraph { graph: benefit.over(&participants)?, listed };
    Ok((competing, benefit, warnings))
}

/// Reads both graphs as the program does, and says what looks like a mistake.
#[pyfunction]
#[pyo3(signature = (competing, benefit, participants=None))]
pub fn read_graphs(
    py: Python<'_>,
    competing: PathBuf,
    benefit: PathBuf,
    participants: Option<PathBuf>,
) -> Result<(CompetingGraph, BenefitGraph, Vec<String>), Failure> {
    py.detach(|| {
        let known = participants.map(|path| files::read_participants(&path)).transpose()?;
        let files::Graphs { competing, benefit, warnings } =
            files::read_graphs(&competing, &benefit, known)?;
        let competing = CompetingGraph { graph: competing, listed: true };
        Ok((competing, BenefitGraph { graph: benefit, listed: true }, warnings))
    })
}
