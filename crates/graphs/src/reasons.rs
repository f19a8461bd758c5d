//! Why an edge had to be refused: whom it would connect, and how.

use fedcompetitors_record::Rule;

use crate::{
    BenefitGraph, CompetingGraph, Provenance, UsageGraph,
    bits::{BitMatrix, contains, insert, ones, visit_new},
};

/// The competing pair that a refused edge would connect, and a shortest way it would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// From the participant whose data would leak, over the refused edge, to its
    /// competitor.
    pub path: Vec<usize>,
    /// `path[helper]` → `path[helper + 1]` is the refused edge.
    pub helper: usize,
    /// Is the first step no edge of the plan but one of the past: the second on the path
    /// carries the data of the first from before?
    pub from_before: bool,
}

/// What flows onward, and what has flowed.
#[derive(Debug)]
pub struct Flows {
    learners: BitMatrix,
    /// Row `p`: those who carry the data of `p` from before, itself included.
    carriers: Option<BitMatrix>,
}

impl Flows {
    /// Along a usage graph under the rule `paths`, and as a history says.
    pub fn new(usage: &UsageGraph, history: Option<&Provenance>) -> Self {
        let count = usage.participants().len();
        let carriers = history.map(|history| {
            let mut carried = BitMatrix::new(count);
            for owner in 0..count {
                carried.row_mut(owner).copy_from_slice(history.carried(owner));
            }
            carried.transposed()
        });
        Self { learners: usage.learners(), carriers }
    }

    /// The same under any rule.
    ///
    /// Under `messages` a message carries its sender's data alone. Nothing flows onward then,
    /// whatever models carry, so that only a competition of the two ends refuses an edge.
    pub fn by(rule: Rule, usage: &UsageGraph, history: Option<&Provenance>) -> Self {
        match rule {
            Rule::Paths => Self::new(usage, history),
            Rule::Messages => {
                let learners = BitMatrix::new(usage.participants().len());
                Self { learners, carriers: None }
            }
        }
    }
}

impl Reason {
    /// The participant whose data would leak, and the competitor that would get it.
    pub fn pair(&self) -> (usize, usize) {
        (self.path[0], self.path[self.path.len() - 1])
    }

    /// Do the two ends of the refused edge themselves compete?
    pub fn is_direct(&self) -> bool {
        self.path.len() == 2
    }
}

const NOBODY: u32 = u32::MAX;

/// The reasons against every edge into one participant.
///
/// Under the rule `paths`, an edge `j → i` must be refused if and only if some ancestor-or-self `p` of `j`
/// competes with some descendant-or-self `q` of `i`. One search forward from `i` finds
/// the nearest `q` for every possible `p`; one search forward from all those `p`, each
/// entering as late as its `q` is far, finds the shortest detour for every `j` at once.
/// O(n²/64) a participant, where a search for each edge would take n times as long.
#[derive(Debug)]
pub struct Reasons {
    receiver: usize,
    /// The node before on the way from the receiver to q.
    toward_rival: Vec<u32>,
    /// For each p the nearest q.
    rival: Vec<u32>,
    /// For each j the node before on the way from p; `NOBODY` where the way begins.
    from_source: Vec<u32>,
    /// Where a way begins, the p whose data is carried there.
    origin: Vec<u32>,
    /// Those j from whom the receiver may not learn.
    refused: Vec<u64>,
}

impl Reasons {
    /// The reasons against edges into `receiver`, given what is used already.
    pub fn against(competing: &CompetingGraph, flows: &Flows, receiver: usize) -> Self {
        let learners = &flows.learners;
        let count = learners.size();
        let mut reasons = Self {
            receiver,
            toward_rival: vec![NOBODY; count],
            rival: vec![NOBODY; count],
            from_source: vec![NOBODY; count],
            origin: vec![NOBODY; count],
            refused: vec![0; learners.row_words()],
        };
        let entering = reasons.search_rivals(competing, learners);
        reasons.search_helpers(flows, &entering);
        reasons
    }

    /// Forward from the receiver. Returns, for each distance, those who have a
    /// competitor just that far away and none nearer.
    fn search_rivals(
        &mut self,
        competing: &CompetingGraph,
        learners: &BitMatrix,
    ) -> Vec<Vec<usize>> {
        let mut seen = vec![0; learners.row_words()];
        insert(&mut seen, self.receiver);
        let mut level = vec![self.receiver];
        let mut entering = Vec::new();
        while !level.is_empty() {
            let mut sources = Vec::new();
            let mut next_level = Vec::new();
            for &node in &level {
                for source in ones(competing.competitors(node)) {
                    if self.rival[source] == NOBODY {
                        self.rival[source] = node as u32;
                        sources.push(source);
                    }
                }
                visit_new(learners.row(node), &mut seen, |next| {
                    self.toward_rival[next] = node as u32;
                    next_level.push(next);
                });
            }
            entering.push(sources);
            level = next_level;
        }
        entering
    }

    /// Forward from those who have a competitor behind the receiver.
    fn search_helpers(&mut self, flows: &Flows, entering: &[Vec<usize>]) {
        let learners = &flows.learners;
        let mut level: Vec<usize> = Vec::new();
        let mut distance = 0;
        while distance < entering.len() || !level.is_empty() {
            // Those already reached this way keep their parent: both ways are equally long.
            for &source in entering.get(distance).map_or(&[][..], |sources| sources) {
                let mut begin = |at: usize| {
                    self.origin[at] = source as u32;
                    level.push(at);
                };
                match &flows.carriers {
                    Some(carriers) => visit_new(carriers.row(source), &mut self.refused, begin),
                    None if contains(&self.refused, source) => {}
                    None => {
                        insert(&mut self.refused, source);
                        begin(source);
                    }
                }
            }
            let mut next_level = Vec::new();
            for &node in &level {
                visit_new(learners.row(node), &mut self.refused, |next| {
                    self.from_source[next] = node as u32;
                    next_level.push(next);
                });
            }
            level = next_level;
            distance += 1;
        }
    }

    /// Must the edge from `helper` to the receiver be refused?
    pub fn refuses(&self, helper: usize) -> bool {
        contains(&self.refused, helper)
    }

    /// Why the edge from `helper` to the receiver must be refused; `None` if it need not.
    pub fn reason(&self, helper: usize) -> Option<Reason> {
        if !self.refuses(helper) {
            return None;
        }
        let mut path = vec![helper];
        let mut node = helper;
        while self.from_source[node] != NOBODY {
            node = self.from_source[node] as usize;
            path.push(node);
        }
        let origin = self.origin[node] as usize;
        let from_before = origin != node;
        if from_before {
            path.push(origin);
        }
        path.reverse();
        let helper = path.len() - 1;
        let mut behind = Vec::new();
        let mut node = self.rival[origin] as usize;
        while node != self.receiver {
            behind.push(node);
            node = self.toward_rival[node] as usize;
        }
        path.push(self.receiver);
        path.extend(behind.into_iter().rev());
        Some(Reason { path, helper, from_before })
    }
}

/// A benefit edge that the plan leaves out.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The helper.
    pub from: usize,
    /// The helped.
    pub to: usize,
    /// What the edge would have brought.
    pub benefit: f64,
    /// The pair it would connect; `None` if the rule would allow the edge, given the
    /// others (no plan of ours that aims at welfare leaves such an edge out).
    pub because: Option<Reason>,
}

/// Every benefit edge that is not in the usage graph, with its reason under the rule `paths`, ordered by
/// the helped, then by the helper. Computed on the way: there may be millions.
///
/// # Panics
/// If the graphs are over different participants.
pub fn refusals<'a>(
    competing: &'a CompetingGraph,
    benefit: &'a BenefitGraph,
    usage: &'a UsageGraph,
    history: Option<&Provenance>,
) -> impl Iterator<Item = Refusal> + 'a {
    refusals_by(Rule::Paths, competing, benefit, usage, history)
}

/// The same with the reasons of any rule.
///
/// # Panics
/// If the graphs are over different participants.
pub fn refusals_by<'a>(
    rule: Rule,
    competing: &'a CompetingGraph,
    benefit: &'a BenefitGraph,
    usage: &'a UsageGraph,
    history: Option<&Provenance>,
) -> impl Iterator<Item = Refusal> + 'a {
    assert_eq!(competing.participants(), usage.participants(), "one list of participants");
    assert_eq!(benefit.participants(), usage.participants(), "one list of participants");
    let flows = Flows::by(rule, usage, history);
    (0..usage.participants().len()).flat_map(move |to| {
        let left_out: Vec<_> =
            benefit.helpers(to).filter(|&(from, _)| !usage.uses(from, to)).collect();
        let reasons = (!left_out.is_empty()).then(|| Reasons::against(competing, &flows, to));
        left_out.into_iter().map(move |(from, benefit)| Refusal {
            from,
            to,
            benefit,
            because: reasons.as_ref().and_then(|reasons| reasons.reason(from)),
        })
    })
}
