//! Proof that a usage graph keeps the rule, and the check of such a proof.
//!
//! Nothing here knows how a plan was made: the certificate is computed from the usage
//! graph alone, and its check is three short conditions that anyone can program anew.

use fedcompetitors_record::Rule;

use crate::{
    CompetingGraph, Participants, Provenance, Reachability, UsageGraph,
    bits::{BitMatrix, common_ones, contains, insert, intersects, is_subset, ones, visit_new},
    participants::shown,
};

/// For each participant the set of those whom its data reaches along usage edges.
///
/// It proves the rule if each set holds its owner, is closed under the usage edges,
/// and holds no competitor of its owner: then no path leads from anybody to a
/// competitor. [`Certificate::check`] asks for these three, and last, though the proof
/// doesn't need it, that no set holds more than is really reached.
///
/// Where models carry data from before, each set must hold the carriers of its owner's
/// data too: [`Certificate::prove_after`], [`Certificate::check_after`].
///
/// All of that is for the rule [`Rule::Paths`]. Under [`Rule::Messages`] data goes no further
/// than one edge, because each message carries its sender's data alone: a set is its owner and
/// those who learn from it, and holds no competitor either ([`Certificate::prove_messages`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    rule: Rule,
    participants: Participants,
    reached: BitMatrix,
}

impl Certificate {
    /// The certificate of a usage graph that keeps the rule.
    ///
    /// # Errors
    /// A shortest leaking path, if the graph breaks the rule.
    ///
    /// # Panics
    /// If the two graphs are over different participants.
    pub fn prove(competing: &CompetingGraph, usage: &UsageGraph) -> Result<Self, Leak> {
        let participants = same_participants(competing, usage);
        let learners = usage.learners();
        let reach = Reachability::along(&learners);
        if let Some(leak) = shortest_leak(competing, &learners, &reach) {
            return Err(leak);
        }
        let mut reached = BitMatrix::new(participants.len());
        for owner in 0..participants.len() {
            reached.row_mut(owner).copy_from_slice(reach.set(owner));
        }
        Ok(Self { rule: Rule::Paths, participants: participants.clone(), reached })
    }

    /// The certificate of a usage graph along which messages go that carry their senders' data
    /// alone: no edge connects competitors.
    ///
    /// # Errors
    /// An edge between competitors.
    ///
    /// # Panics
    /// If the two graphs are over different participants.
    pub fn prove_messages(competing: &CompetingGraph, usage: &UsageGraph) -> Result<Self, Leak> {
        let participants = same_participants(competing, usage);
        let mut between = usage.edges().filter(|&(from, to)| competing.competes(from, to));
        if let Some((from, to)) = between.next() {
            let pairs = 1 + between.count();
            return Err(Leak { path: vec![from, to], pairs, from_before: false });
        }
        let reached = with_learners(usage);
        Ok(Self { rule: Rule::Messages, participants: participants.clone(), reached })
    }

    /// [`Certificate::prove`] or [`Certificate::prove_messages`].
    ///
    /// # Errors
    /// As those.
    ///
    /// # Panics
    /// As those.
    pub fn prove_by(
        rule: Rule,
        competing: &CompetingGraph,
        usage: &UsageGraph,
    ) -> Result<Self, Leak> {
        match rule {
            Rule::Paths => Self::prove(competing, usage),
            Rule::Messages => Self::prove_messages(competing, usage),
        }
    }

    /// The certificate of a usage graph that keeps the rule, given what models carry.
    ///
    /// # Errors
    /// A leaking path, if the graph breaks the rule, alone or with what is carried.
    ///
    /// # Panics
    /// If the graphs and the history are over different participants.
    pub fn prove_after(
        competing: &CompetingGraph,
        usage: &UsageGraph,
        history: &Provenance,
    ) -> Result<Self, Leak> {
        Self::prove(competing, usage)?;
        match find_breach(competing, usage, history) {
            Some(breach) => Err(breach),
            None => Ok(Self {
                rule: Rule::Paths,
                participants: competing.participants().clone(),
                reached: history.after(usage).carriers(),
            }),
        }
    }

    /// A certificate as somebody hands it in, right or wrong: row `p` of the matrix
    /// holds those whom `p` is said to reach.
    ///
    /// # Panics
    /// If the matrix has another size.
    pub fn claimed(rule: Rule, participants: &Participants, reached: BitMatrix) -> Self {
        assert_eq!(participants.len(), reached.size(), "one row for each participant");
        Self { rule, participants: participants.clone(), reached }
    }

    /// The rule that it is about.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// Those whom `owner` reaches, as a bit set.
    pub fn set(&self, owner: usize) -> &[u64] {
        self.reached.row(owner)
    }

    /// Does this certificate prove that the usage graph keeps the rule?
    ///
    /// "Closed" is asked of all sets at once: for an edge `a → b` everybody whose set
    /// holds `a` must hold `b`, which is one comparison of two columns.
    ///
    /// # Errors
    /// The first flaw.
    ///
    /// # Panics
    /// If the graphs and the certificate are over different participants.
    pub fn check(&self, competing: &CompetingGraph, usage: &UsageGraph) -> Result<(), Flaw> {
        self.check_after(competing, usage, &Provenance::own(competing.participants()))
    }

    /// The same, given what models carry: each set must hold the carriers too.
    ///
    /// # Errors
    /// The first flaw.
    ///
    /// # Panics
    /// If the graphs, the history and the certificate are over different participants.
    pub fn check_after(
        &self,
        competing: &CompetingGraph,
        usage: &UsageGraph,
        history: &Provenance,
    ) -> Result<(), Flaw> {
        let participants = same_participants(competing, usage);
        assert_eq!(participants, &self.participants, "one list of participants");
        if self.rule == Rule::Messages {
            return self.check_messages(competing, usage);
        }
        let carriers = history.carriers();
        for owner in 0..participants.len() {
            if !contains(self.set(owner), owner) {
                return Err(Flaw::OwnerMissing { owner });
            }
            if !is_subset(carriers.row(owner), self.set(owner)) {
                let carrier = ones(carriers.row(owner)).find(|&a| !contains(self.set(owner), a));
                return Err(Flaw::CarrierMissing { owner, carrier: carrier.unwrap_or(owner) });
            }
            if let Some(competitor) =
                common_ones(self.set(owner), competing.competitors(owner)).next()
            {
                return Err(Flaw::CompetitorInside { owner, competitor });
            }
        }
        let holders = self.reached.transposed();
        for (from, to) in usage.edges() {
            if !is_subset(holders.row(from), holders.row(to)) {
                let owner = ones(holders.row(from)).find(|&owner| !holders.get(to, owner));
                return Err(Flaw::NotClosed { owner: owner.unwrap_or(from), from, to });
            }
        }
        let reached = history.after(usage).carriers();
        for owner in 0..participants.len() {
            if !is_subset(self.set(owner), reached.row(owner)) {
                let claimed = ones(self.set(owner)).find(|&other| !reached.get(owner, other));
                return Err(Flaw::NotReached { owner, claimed: claimed.unwrap_or(owner) });
            }
        }
        Ok(())
    }

    /// Each set must be its owner and those who learn from it, and hold no competitor of its owner.
    fn check_messages(&self, competing: &CompetingGraph, usage: &UsageGraph) -> Result<(), Flaw> {
        let reached = with_learners(usage);
        for owner in 0..self.participants.len() {
            let (claimed, found) = (self.set(owner), reached.row(owner));
            if !contains(claimed, owner) {
                return Err(Flaw::OwnerMissing { owner });
            }
            if let Some(competitor) = common_ones(claimed, competing.competitors(owner)).next() {
                return Err(Flaw::CompetitorInside { owner, competitor });
            }
            if let Some(to) = ones(found).find(|&other| !contains(claimed, other)) {
                return Err(Flaw::NotClosed { owner, from: owner, to });
            }
            if let Some(claimed) = ones(claimed).find(|&other| !contains(found, other)) {
                return Err(Flaw::NotReached { owner, claimed });
            }
        }
        Ok(())
    }
}

/// For each participant itself and those who learn from it.
fn with_learners(usage: &UsageGraph) -> BitMatrix {
    let mut reached = usage.learners();
    (0..reached.size()).for_each(|owner| insert(reached.row_mut(owner), owner));
    reached
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is about another rule than the plan.
    OtherRule {
        /// The certificate's.
        certificate: Rule,
        /// The plan's.
        plan: Rule,
    },
    /// A set that does not hold its owner.
    OwnerMissing {
        /// The participant whose set it is.
        owner: usize,
    },
    /// A set that does not hold somebody who carries its owner's data from before.
    CarrierMissing {
        /// The participant whose set it is.
        owner: usize,
        /// Who carries its data.
        carrier: usize,
    },
    /// A set that holds a competitor of its owner.
    CompetitorInside {
        /// The participant whose set it is.
        owner: usize,
        /// The competitor.
        competitor: usize,
    },
    /// A set that holds `from` but not `to`, though `to` learns from `from`.
    NotClosed {
        /// The participant whose set it is.
        owner: usize,
        /// The helper.
        from: usize,
        /// The helped.
        to: usize,
    },
    /// A set that holds somebody whom its owner does not reach: the rule is kept all
    /// the same, but the certificate was made for another plan or altered.
    NotReached {
        /// The participant whose set it is.
        owner: usize,
        /// The one too many.
        claimed: usize,
    },
}

impl Flaw {
    /// The flaw in words.
    pub fn describe(&self, participants: &Participants) -> String {
        let name = |index| shown(participants.name(index));
        match *self {
            Self::OtherRule { certificate, plan } => {
                format!("it is about the rule `{certificate}`, and the plan about `{plan}`")
            }
            Self::OwnerMissing { owner } => {
                format!("the set of \"{0}\" does not contain \"{0}\" itself", name(owner))
            }
            Self::CarrierMissing { owner, carrier } => format!(
                "the set of \"{0}\" does not contain \"{1}\", whose model carries the data of \"{0}\" from before",
                name(owner),
                name(carrier)
            ),
            Self::CompetitorInside { owner, competitor } => {
                format!(
                    "the set of \"{}\" contains its competitor \"{}\"",
                    name(owner),
                    name(competitor)
                )
            }
            Self::NotClosed { owner, from, to } => format!(
                "the set of \"{}\" contains \"{}\" but not \"{2}\", though \"{2}\" learns from \"{1}\"",
                name(owner),
                name(from),
                name(to)
            ),
            Self::NotReached { owner, claimed } => format!(
                "the set of \"{0}\" contains \"{1}\", but \"{0}\" does not reach \"{1}\"",
                name(owner),
                name(claimed)
            ),
        }
    }
}

/// A path along usage edges from a participant to its competitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// From the participant whose data leaks to the competitor that gets it.
    pub path: Vec<usize>,
    /// How many (participant, competitor) pairs are connected in all, this one included.
    pub pairs: usize,
    /// Is the first step one of the past? Then it cannot be left out any more.
    pub from_before: bool,
}

/// A shortest path by which somebody contributes to a competitor, if there is one.
///
/// # Panics
/// If the two graphs are over different participants.
pub fn find_leak(competing: &CompetingGraph, usage: &UsageGraph) -> Option<Leak> {
    same_participants(competing, usage);
    let learners = usage.learners();
    shortest_leak(competing, &learners, &Reachability::along(&learners))
}

/// A way by which a participant's data would come to a competitor, given what models
/// carry from before: the first step of the path is of the past, the others are edges of
/// the usage graph (none, if the competitor carries the data already).
///
/// # Panics
/// If the graphs and the history are over different participants.
pub fn find_breach(
    competing: &CompetingGraph,
    usage: &UsageGraph,
    history: &Provenance,
) -> Option<Leak> {
    let participants = same_participants(competing, usage);
    let later = history.after(usage);
    let breaches: Vec<(usize, usize)> = later.breaches(competing).collect();
    let &(owner, rival) = breaches.first()?;
    let learners = usage.learners();
    let mut goal = vec![0; learners.row_words()];
    insert(&mut goal, owner);
    let way = |carrier: usize| {
        if carrier == owner {
            return Some(vec![owner]);
        }
        shortest_path(&learners, carrier, &goal, usize::MAX)
    };
    let carriers = (0..participants.len()).filter(|&carrier| history.carries(carrier, rival));
    let mut path = carriers.filter_map(way).min_by_key(Vec::len)?;
    let from_before = path[0] != rival;
    if from_before {
        path.insert(0, rival);
    }
    Some(Leak { path, pairs: breaches.len(), from_before })
}

fn same_participants<'a>(competing: &'a CompetingGraph, usage: &UsageGraph) -> &'a Participants {
    assert_eq!(competing.participants(), usage.participants(), "one list of participants");
    competing.participants()
}

fn shortest_leak(
    competing: &CompetingGraph,
    learners: &BitMatrix,
    reach: &Reachability,
) -> Option<Leak> {
    let mut shortest: Option<Vec<usize>> = None;
    let mut pairs = 0;
    for a in 0..competing.participants().len() {
        let (reached, rivals) = (reach.set(a), competing.competitors(a));
        if !intersects(reached, rivals) {
            continue;
        }
        pairs += common_ones(reached, rivals).count();
        let limit = shortest.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(path) = shortest_path(learners, a, rivals, limit) {
            shortest = Some(path);
        }
    }
    shortest.map(|path| Leak { path, pairs, from_before: false })
}

/// A shortest path from `start` to any of `goals` with fewer than `limit` nodes.
fn shortest_path(
    edges: &BitMatrix,
    start: usize,
    goals: &[u64],
    limit: usize,
) -> Option<Vec<usize>> {
    let mut parent = vec![usize::MAX; edges.size()];
    let mut seen = vec![0; edges.row_words()];
    insert(&mut seen, start);
    let mut level = vec![start];
    let mut nodes = 1;
    while !level.is_empty() && nodes + 1 < limit {
        nodes += 1;
        let mut next_level = Vec::new();
        for &node in &level {
            visit_new(edges.row(node), &mut seen, |next| {
                parent[next] = node;
                next_level.push(next);
            });
        }
        if let Some(&goal) = next_level.iter().find(|&&next| contains(goals, next)) {
            let mut path = vec![goal];
            while path[path.len() - 1] != start {
                path.push(parent[path[path.len() - 1]]);
            }
            path.reverse();
            return Some(path);
        }
        level = next_level;
    }
    None
}
