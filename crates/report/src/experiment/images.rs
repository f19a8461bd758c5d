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
    /// The numbers of networks that were tried for methods that train several.
    pub networks: Vec<usize>,
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
    /// The number of networks that validation data chose, if it trains several.
    pub networks: Option<usize>,
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
    /// What validation data chose for it.
    pub fn chosen(&self) -> String {
        let networks = self.networks.map(|networks| format!(", {networks} networks"));
        format!("rate {}{}", self.rate, networks.unwrap_or_default())
    }

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
            "Every method: at most {} gradients of {} images for each participant on average, estimation included;\nrates chosen among {} by validation data of a draw that is not in the table, with the whole budget{}.",
            self.gradients, self.batch, self.rates, self.numbers_of_networks()
        ));
        remarks.extend(self.methods.iter().map(|method| {
            let ImageMethod { name, gradients, estimation, edges, .. } = method;
            let chosen = method.chosen();
            format!(
                "  {name}: {gradients:.0} gradients, {estimation:.0} of them to estimate benefits; {chosen}; {edges:.0} of 90 edges."
            )
        }));
        remarks
    }

    /// Among which numbers of networks validation data chose, where there are methods of several.
    fn numbers_of_networks(&self) -> String {
        let [others @ .., last] = &self.networks[..] else { return String::new() };
        if self.methods.iter().all(|method| method.networks.is_none()) {
            return String::new();
        }
        let others: Vec<String> = others.iter().map(usize::to_string).collect();
        format!(",\nthen the number of networks among {} and {last}", others.join(", "))
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
