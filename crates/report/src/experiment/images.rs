//! The experiment with small images.

use fedcompetitors_record::Spread;

use super::{ExperimentRow, ExperimentTable, standings::Comparing};

/// What came out for small images.
#[derive(Debug)]
pub struct ImageFigures {
    /// What the budget is called.
    pub budget: String,
    /// Gradients that each method may take for each participant.
    pub gradients: usize,
    /// Images in a gradient.
    pub batch: usize,
    /// How many rates were tried.
    pub rates: usize,
    /// Images of each class that a participant has; all where absent.
    pub images: Option<usize>,
    /// How many graphs were drawn.
    pub graphs: usize,
    /// The methods.
    pub methods: Vec<ImageMethod>,
}

/// A method, and what came out for it.
#[derive(Debug)]
pub struct ImageMethod {
    /// What it is called.
    pub name: String,
    /// For each graph the test accuracy of each participant, up to 1.
    pub cells: Vec<Vec<f64>>,
    /// The paper's mean and deviation, if it has any.
    pub paper: Option<(f64, f64)>,
    /// Gradients, on average over the participants and graphs.
    pub gradients: f64,
    /// How many of those were taken to estimate benefits.
    pub estimation: f64,
    /// Edges of its plans, on average.
    pub edges: f64,
    /// The rate that validation data chose.
    pub rate: f32,
}

/// Who has which images in a draw, and who competes.
#[derive(Debug)]
pub struct ImageDraw {
    /// Its seed.
    pub seed: u64,
    /// The hash of the split.
    pub hash: String,
    /// The participants.
    pub holdings: Vec<Holding>,
    /// Who competes.
    pub competing: Vec<(String, String)>,
}

/// The images of a participant.
#[derive(Debug)]
pub struct Holding {
    /// The participant.
    pub name: String,
    /// Its classes.
    pub classes: Vec<&'static str>,
    /// How many images it has for training, validation and the test.
    pub images: [usize; 3],
}

const COMPARING: Comparing = Comparing {
    lower_is_better: false,
    once: "with one graph",
    each: "graph by graph",
    by_interval: false,
    digits: 2,
};

impl ImageMethod {
    /// The mean over the participants, graph by graph, in percent.
    fn means(&self) -> Vec<f64> {
        let mean = |cells: &Vec<f64>| 100.0 * cells.iter().sum::<f64>() / cells.len() as f64;
        self.cells.iter().map(mean).collect()
    }
}

impl ImageFigures {
    /// Its table.
    pub fn table(&self) -> ExperimentTable {
        let images = self
            .images
            .map_or(String::new(), |images| format!(", {images} images of a class for each"));
        let graphs = match self.graphs {
            1 => "one graph: spread unknown".to_owned(),
            count => format!("{count} graphs"),
        };
        let rows = self.methods.iter().map(|method| {
            let spread = Spread::of(&method.means());
            ExperimentRow {
                method: method.name.clone(),
                cells: vec![(spread.mean, spread.deviation)],
                paper: method.paper.map(|(mean, d)| (mean, Some(d))).into_iter().collect(),
                mean: (spread.mean, spread.error),
            }
        });
        ExperimentTable {
            title: format!("cifar10, {} budget{images}, {graphs}.", self.budget),
            metric: "Test accuracy in percent, mean over the participants: ± its deviation over the graphs, and ± the\nstandard error of its mean."
                .into(),
            columns: vec!["over the graphs".into()],
            rows: rows.collect(),
            remarks: self.remarks(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let named: Vec<(&str, Vec<f64>)> =
            self.methods.iter().map(|one| (one.name.as_str(), one.means())).collect();
        let mut remarks = vec![COMPARING.standings(&named)];
        remarks.push(format!(
            "Every method: at most {} gradients of {} images for each participant on average, estimation included;\nrates chosen among {} by validation data of a draw that is not in the table.",
            self.gradients, self.batch, self.rates
        ));
        remarks.extend(self.methods.iter().map(|method| {
            let ImageMethod { name, gradients, estimation, rate, edges, .. } = method;
            format!(
                "  {name}: {gradients:.0} gradients, {estimation:.0} of them to estimate benefits; rate {rate}; {edges:.0} of 90 edges."
            )
        }));
        remarks
    }
}

/// Who has what and who competes, in a draw.
pub fn image_draw_text(draw: &ImageDraw) -> String {
    let holdings: Vec<String> = draw
        .holdings
        .iter()
        .map(|Holding { name, classes, images: [own, validation, test] }| {
            format!("  {name}: {}: {own} + {validation} + {test}", classes.join(", "))
        })
        .collect();
    let pairs: Vec<_> = draw.competing.iter().map(|(a, b)| format!("{a} and {b}")).collect();
    let competing = if pairs.is_empty() { "nobody".to_owned() } else { pairs.join(", ") };
    format!(
        "seed {}: images for training, validation and the test (split {}…):\n{}\n  competing: {competing}",
        draw.seed,
        draw.hash.get(..16).unwrap_or(&draw.hash),
        holdings.join("\n")
    )
}
