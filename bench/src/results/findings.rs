//! What stored figures say: who is ahead, what agrees with the paper, what does not, and why
//! as far as figures show it. Every sentence is computed.

use super::{
    kinds::Better,
    stored::{Method, Paper, Stored},
};

/// A method fails if its error is so many times that of Local.
const FAILURE: f64 = 10.0;

/// Sentences about one experiment.
#[derive(Debug, Default)]
pub struct Findings {
    /// Who is ahead.
    pub standing: Vec<String>,
    /// What is as in the paper.
    pub agrees: Vec<String>,
    /// What is not.
    pub differs: Vec<String>,
    /// Why, as far as figures show it.
    pub why: Vec<String>,
}

/// All that is to say.
pub fn findings(stored: &Stored) -> Findings {
    let mut findings = Findings::default();
    let (Some(best), Some(local)) = (stored.best(), stored.local()) else {
        return findings;
    };
    let teller = Teller { stored, best, local };
    findings.standing.push(teller.standing());
    if stored.is_comparable() {
        teller.leader(&mut findings);
        teller.order(&mut findings);
        teller.levels(&mut findings);
        teller.failures(&mut findings);
        findings.why.extend(teller.local_and_papers());
        findings.why.extend(teller.rules_of_the_better());
    } else {
        findings.standing.extend(teller.behind_the_best());
        findings.standing.extend(teller.against_local());
    }
    findings.why.extend(teller.equal_rows());
    findings
}

/// Names or sentences with commas, the last with "and".
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// A method's name inside a sentence: without the comma, which would read as another method.
pub fn name(method: &Method) -> String {
    match method.name.split_once(", ") {
        Some((family, way)) => format!("{family} ({way})"),
        None => method.name.clone(),
    }
}

struct Teller<'a> {
    stored: &'a Stored,
    best: &'a Method,
    local: &'a Method,
}

impl Teller<'_> {
    fn others<'a>(&'a self, than: &'a Method) -> impl Iterator<Item = &'a Method> {
        self.stored.methods.iter().filter(|method| method.name != than.name)
    }

    /// With our digits.
    fn ours(&self, value: f64) -> String {
        format!("{value:.*}", self.stored.kind.digits.0)
    }

    /// With the paper's digits.
    fn papers(&self, value: f64) -> String {
        format!("{value:.*}", self.stored.kind.digits.1)
    }

    /// A difference and how far it must be from 0 to count. Differences are smaller than
    /// figures: one digit more.
    fn difference(&self, mean: f64, reach: f64) -> String {
        let digits = self.stored.kind.digits.0 + 1;
        format!("{mean:.digits$} ± {reach:.digits$}")
    }

    /// Whether the paper has the first method ahead of the second, with the digits that it
    /// has; `None` if those are equal.
    fn is_ahead_in_paper(&self, a: &Paper, b: &Paper) -> Option<bool> {
        (self.papers(a.mean) != self.papers(b.mean))
            .then(|| self.stored.kind.better.is_worse(b.mean, a.mean))
    }

    /// How far the first is behind the second, and how far it must be to count.
    fn behind(&self, a: &Method, b: &Method) -> (f64, f64) {
        let behind = self.stored.behind(a, b);
        (behind.mean, self.stored.kind.sure.reach(&behind))
    }

    /// Who cannot be told from the best.
    fn ties(&self) -> Vec<&Method> {
        let is_tie = |other: &&Method| {
            let (behind, reach) = self.behind(other, self.best);
            behind <= reach
        };
        self.others(self.best).filter(is_tie).collect()
    }

    fn standing(&self) -> String {
        let (best, kind) = (self.best, self.stored.kind);
        let first = format!(
            "The {} mean is that of {}, {}",
            kind.better.best(),
            name(best),
            self.ours(best.mean().mean)
        );
        if self.stored.seeds.len() == 1 {
            return format!("{first}, with one seed: spread unknown.");
        }
        let tie = |other: &Method| {
            let (behind, reach) = self.behind(other, best);
            format!("{} (behind by {})", name(other), self.difference(behind, reach))
        };
        let ties: Vec<String> = self.ties().into_iter().map(tie).collect();
        let within = format!("{} of the difference", kind.sure.words());
        if ties.is_empty() {
            format!("{first}; no other is within {within}.")
        } else {
            format!("{first}; a tie, within {within}, with {}.", listed(&ties))
        }
    }

    /// Whether the best here is the best there.
    fn leader(&self, findings: &mut Findings) {
        let best_word = self.stored.kind.better.best();
        let known = || self.stored.methods.iter().filter(|method| method.is_papers());
        let papers = |method: &Method| method.paper.clone();
        let is_leader = |paper: &Paper| {
            let others = known().filter_map(papers);
            !others.into_iter().any(|other| self.is_ahead_in_paper(&other, paper) == Some(true))
        };
        let leaders: Vec<(&Method, Paper)> = known()
            .filter_map(|method| Some((method, papers(method)?)))
            .filter(|(_, paper)| is_leader(paper))
            .collect();
        let Some((_, paper)) = leaders.first() else { return };
        let names: Vec<String> = leaders.iter().map(|(method, _)| name(method)).collect();
        let in_paper = format!("{} ({})", listed(&names), self.papers(paper.mean));
        let leads = |method: &Method| leaders.iter().any(|(one, _)| one.name == method.family());
        let ties = self.ties();
        if leads(self.best) {
            let tied: Vec<String> = ties.iter().map(|tied| name(tied)).collect();
            let tie = if tied.is_empty() {
                String::new()
            } else {
                format!(", in a tie with {}", listed(&tied))
            };
            findings.agrees.push(format!(
                "{} has the {best_word} mean{tie}; in the paper it is {in_paper}.",
                name(self.best)
            ));
            findings.differs.extend(self.papers_own_way(&ties));
            return;
        }
        if let Some(tied) = ties.into_iter().find(|method| leads(method)) {
            findings.agrees.push(format!(
                "{} is in a tie with the {best_word} mean; in the paper the {best_word} is {in_paper}.",
                name(tied)
            ));
            return;
        }
        let ways = self.stored.methods.iter().filter(|method| leads(method)).map(|method| {
            let (behind, reach) = self.behind(method, self.best);
            format!("{} by {}", name(method), self.difference(behind, reach))
        });
        findings.differs.push(format!(
            "{} has the {best_word} mean, while in the paper it is {in_paper}; behind it here: {}.",
            name(self.best),
            listed(&ways.collect::<Vec<_>>())
        ));
    }

    /// If our way to train along a plan is the best: how far the paper's own is behind.
    fn papers_own_way(&self, ties: &[&Method]) -> Option<String> {
        let best = self.best;
        let is_own = |method: &&Method| method.is_papers() && method.name == best.family();
        let own = self.others(best).find(is_own)?;
        if ties.iter().any(|tied| tied.name == own.name) {
            return None;
        }
        let (behind, reach) = self.behind(own, best);
        let by = self.difference(behind, reach);
        Some(format!(
            "{} does not train as in the paper; {}, which does, is behind it by {by}.",
            name(best),
            name(own)
        ))
    }

    /// Whether the paper's methods are in the paper's order, pair by pair.
    fn order(&self, findings: &mut Findings) {
        let known: Vec<(&Method, &Paper)> = self
            .stored
            .methods
            .iter()
            .filter(|method| method.is_papers())
            .filter_map(|method| Some((method, method.paper.as_ref()?)))
            .collect();
        let (mut same, mut tied, mut reversed) = (0, Vec::new(), Vec::new());
        for (at, &first) in known.iter().enumerate() {
            for &second in &known[at + 1..] {
                let Some(is_first) = self.is_ahead_in_paper(first.1, second.1) else { continue };
                let (ahead, after) = if is_first { (first, second) } else { (second, first) };
                let (behind, reach) = self.behind(ahead.0, after.0);
                if behind.abs() <= reach {
                    tied.push(format!("{} and {}", name(ahead.0), name(after.0)));
                } else if behind > 0.0 {
                    reversed.push(format!(
                        "{} is ahead of {} ({} and {}; the paper's {} and {})",
                        name(after.0),
                        name(ahead.0),
                        self.ours(after.0.mean().mean),
                        self.ours(ahead.0.mean().mean),
                        self.papers(after.1.mean),
                        self.papers(ahead.1.mean)
                    ));
                } else {
                    same += 1;
                }
            }
        }
        let all = same + tied.len() + reversed.len();
        if same > 0 {
            findings.agrees.push(format!(
                "Of the {all} pairs of the paper's methods whose means differ there, {same} are in the same order here."
            ));
        }
        if !reversed.is_empty() {
            findings.differs.push(format!("In the other order: {}.", reversed.join("; ")));
        }
        if !tied.is_empty() {
            findings.differs.push(format!("In a tie here: {}.", tied.join("; ")));
        }
    }

    /// Who is at the paper's figures or better, who is worse, and who is better by far.
    fn levels(&self, findings: &mut Findings) {
        let (mut good, mut worse) = (Vec::new(), Vec::new());
        for method in &self.stored.methods {
            let Some(paper) = &method.paper else { continue };
            let behind = self.worse_cells(method, paper);
            if behind.is_empty() {
                good.push(name(method));
            } else {
                worse.push(format!("{}: {}", name(method), behind.join(", ")));
            }
        }
        if !good.is_empty() {
            let whose = if self.has_cells() { "for every participant" } else { "in the mean" };
            findings
                .agrees
                .push(format!("At the paper's figure or better {whose}: {}.", listed(&good)));
        }
        if !worse.is_empty() {
            findings.differs.push(format!("Worse than the paper's: {}.", worse.join("; ")));
        }
        let both = |(method, paper): &(&Method, &Paper)| {
            let (ours, papers) = (self.ours(method.mean().mean), self.papers(paper.mean));
            format!("{} {ours} (the paper's {papers})", name(method))
        };
        let far: Vec<String> = self.better_by_far().iter().map(both).collect();
        if !far.is_empty() {
            findings
                .differs
                .push(format!("Less than half of the paper's error: {}.", listed(&far)));
        }
    }

    /// The methods with less than half of the paper's error.
    fn better_by_far(&self) -> Vec<(&Method, &Paper)> {
        let is_far = |(method, paper): &(&Method, &Paper)| {
            self.stored.kind.better == Better::Lower && method.mean().mean < paper.mean / 2.0
        };
        let methods = self.stored.methods.iter();
        let known = methods.filter_map(|method| Some((method, method.paper.as_ref()?)));
        known.filter(is_far).collect()
    }

    /// Whether the paper has figures for each participant.
    fn has_cells(&self) -> bool {
        let papers = self.stored.methods.iter().filter_map(|method| method.paper.as_ref());
        papers.into_iter().any(|paper| !paper.cells.is_empty())
    }

    /// The participants whose figure is worse than the paper's, or the mean if the paper only
    /// has that.
    fn worse_cells(&self, method: &Method, paper: &Paper) -> Vec<String> {
        let is_worse = |ours, papers| self.stored.kind.better.is_worse(ours, papers);
        let told = |who: &str, ours: f64, papers: f64, deviation: Option<f64>| {
            let spread = deviation.map(|of| format!(" ± {}", self.papers(of))).unwrap_or_default();
            format!("{who} {} (the paper's {}{spread})", self.ours(ours), self.papers(papers))
        };
        if paper.cells.is_empty() {
            let mean = method.mean().mean;
            let is_worse = is_worse(mean, paper.mean);
            return is_worse
                .then(|| told("mean", mean, paper.mean, paper.deviation))
                .into_iter()
                .collect();
        }
        let cells = paper.cells.iter().enumerate().map(|(a, &paper)| {
            (self.stored.participants[a].as_str(), method.of_participant(a).mean, paper)
        });
        cells
            .filter(|&(_, ours, (papers, _))| is_worse(ours, papers))
            .map(|(who, ours, (papers, deviation))| told(who, ours, papers, deviation))
            .collect()
    }

    /// Which methods have many times the error of Local, here and there.
    fn failures(&self, findings: &mut Findings) {
        let Some(paper_local) = &self.local.paper else { return };
        if self.stored.kind.better != Better::Lower {
            return;
        }
        let local = self.local.mean().mean;
        let (mut both, mut here, mut there) = (Vec::new(), Vec::new(), Vec::new());
        for method in self.others(self.local) {
            let Some(paper) = &method.paper else { continue };
            let (times, papers) = (method.mean().mean / local, paper.mean / paper_local.mean);
            let list = match (times > FAILURE, papers > FAILURE) {
                (true, true) => &mut both,
                (true, false) => &mut here,
                (false, true) => &mut there,
                (false, false) => continue,
            };
            list.push(format!("{} {times:.1} times (the paper's {papers:.1})", name(method)));
        }
        let failure = format!("error over {FAILURE} times that of Local");
        if !both.is_empty() {
            findings.agrees.push(format!("These fail, {failure}: {}.", listed(&both)));
        }
        if !here.is_empty() {
            findings.differs.push(format!("Fail only here, {failure}: {}.", listed(&here)));
        }
        if !there.is_empty() {
            findings
                .differs
                .push(format!("Fail only in the paper, {failure}: {}.", listed(&there)));
        }
    }

    /// How Local differs from the paper's: whatever that is, it is not who learns from whom.
    fn local_and_papers(&self) -> Option<String> {
        let paper = self.local.paper.as_ref()?;
        let kind = self.stored.kind;
        let mean = self.local.mean().mean;
        let worse: Vec<&str> = paper
            .cells
            .iter()
            .enumerate()
            .filter(|&(a, cell)| kind.better.is_worse(self.local.of_participant(a).mean, cell.0))
            .map(|(a, _)| self.stored.participants[a].as_str())
            .collect();
        let by = self.ours((mean - paper.mean).abs());
        let verdict = if kind.better.is_worse(mean, paper.mean) { "worse" } else { "better" };
        let whom = if worse.is_empty() || worse.len() == paper.cells.len() {
            String::new()
        } else {
            format!("; worse for {}, better for the others", listed(&worse))
        };
        let rule = &self.local.rule;
        let chosen = match self.stored.rules {
            Some(rules) => format!(
                "Its optimizer settings were chosen by validation data among {rules}: {rule}."
            ),
            None => {
                format!("Its optimizer settings: {rule}; the number of candidates is not recorded.")
            }
        };
        Some(format!(
            "Local is {verdict} than the paper's by {by}{whom}. In Local nobody learns from \
             others, so the difference comes from how models are trained and tested. {chosen}"
        ))
    }

    /// The rules of those that are better than the paper's by far.
    fn rules_of_the_better(&self) -> Option<String> {
        let rule = |(method, _): &(&Method, &Paper)| format!("{}: {}", name(method), method.rule);
        let rules: Vec<String> = self.better_by_far().iter().map(rule).collect();
        (!rules.is_empty()).then(|| {
            let rules = rules.join("; ");
            format!("The optimizer settings of those with less than half of the paper's error, chosen in the same way: {rules}.")
        })
    }

    /// Methods with the same figures, and whether they had the same plans.
    fn equal_rows(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (at, first) in self.stored.methods.iter().enumerate() {
            for second in &self.stored.methods[at + 1..] {
                if first.cells == second.cells {
                    let plans = if !first.plans.is_empty() && first.plans == second.plans {
                        ", as their plans are the same in each of the runs"
                    } else {
                        ""
                    };
                    told.push(format!(
                        "{} and {} have the same figures{plans}.",
                        name(first),
                        name(second)
                    ));
                }
            }
        }
        told
    }

    /// How far our method is behind, each way to train it.
    fn behind_the_best(&self) -> Option<String> {
        let ties: Vec<&str> = self.ties().into_iter().map(|tied| tied.name.as_str()).collect();
        let ways: Vec<String> = self
            .others(self.best)
            .filter(|method| method.family() == "FedCompetitors")
            .filter(|method| !ties.contains(&method.name.as_str()))
            .map(|method| {
                let (behind, reach) = self.behind(method, self.best);
                format!("{} by {}", name(method), self.difference(behind, reach))
            })
            .collect();
        (!ways.is_empty()).then(|| format!("Behind it: {}.", listed(&ways)))
    }

    /// Who gains over learning alone, and who does not.
    fn against_local(&self) -> Vec<String> {
        let (mut above, mut level, mut below) = (Vec::new(), Vec::new(), Vec::new());
        for method in self.others(self.local) {
            let (gain, reach) = self.behind(self.local, method);
            let list = if gain.abs() <= reach {
                &mut level
            } else if gain > 0.0 {
                &mut above
            } else {
                &mut below
            };
            list.push(format!("{} ({})", name(method), self.difference(gain, reach)));
        }
        let told = [
            ("Better than Local", above),
            ("In a tie with Local", level),
            ("Worse than Local", below),
        ];
        let told = told.into_iter().filter(|(_, methods)| !methods.is_empty());
        told.map(|(what, methods)| format!("{what}: {}.", listed(&methods))).collect()
    }
}
