"""The coordinator: from reports to everybody's own model, wherever the participants are.

Stages: everybody trains alone from a common start and says with whom it competes; mixtures
show who would help whom; a plan is selected and proven; then rounds, in which each participant
gets its own mixture along the plan. All that is sent and delivered passes
``_native.Ledger``: the same guard, ledger and store as those of ``fedcompetitors run``, so
``fedcompetitors audit`` reads it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from fedcompetitors import _native
from fedcompetitors._exchange import ATTEMPTS, Carrier, Exchange
from fedcompetitors._graphs import BenefitGraph, CompetingGraph
from fedcompetitors._mixing import mix
from fedcompetitors._participants import Answer, Parameters, Request
from fedcompetitors._plans import Certificate, Plan, select, verify
from fedcompetitors._search import Search
from fedcompetitors._settings import Settings
from fedcompetitors.errors import FedCompetitorsWarning, RunExists

__all__ = ["Outcome", "coordinate"]


@dataclass
class Outcome:
    """The result of a run.

    Attributes
    ----------
    models : dict
        The model of each participant.
    metrics : dict
        The final figures of each participant, as (split, name): value.
    history : dict
        The figures after each round.
    plan, certificate : Plan, Certificate
        The final plan and its proof.
    competing, benefit : CompetingGraph, BenefitGraph
        The graphs from which the plan was made.
    carries : dict
        The participants whose data each model may carry.
    had_incidents : bool
        True if a participant was missing or sent something unusable.
    """

    models: dict[str, Parameters]
    metrics: dict[str, dict[tuple[str, str], float]]
    history: dict[int, dict[str, dict[tuple[str, str], float]]]
    plan: Plan
    certificate: Certificate
    competing: CompetingGraph
    benefit: BenefitGraph
    carries: dict[str, tuple[str, ...]]
    had_incidents: bool


def coordinate(
    names: Sequence[str],
    start: Parameters,
    tensors: Sequence[tuple[str, list[int]]],
    settings: Settings,
    carrier: Carrier,
    run_dir: str | PathLike[str],
    *,
    resume: bool = False,
    tell: Any = lambda text: None,
) -> Outcome:
    """Runs a federation to its end.

    Parameters
    ----------
    names : sequence of str
        Who may take part.
    start : array
        The common start, flat.
    tensors : sequence
        Names and shapes of the tensors that the parameters are, in order.
    settings : Settings
        How to go about it.
    carrier : Carrier
        Asks participants.
    run_dir : path
        The run directory.
    resume : bool, default False
        Resume an existing run?
    tell : callable
        Called with a sentence for each event.
    """
    work = Coordinator(names, start, tensors, settings, carrier, fspath(run_dir), tell)
    return work.run(resume)


class Coordinator(Exchange):
    """Decides what participants are asked and receive; the ledger records it."""

    def run(self, resume: bool) -> Outcome:
        found = _native.Ledger.resume(self.run_dir, self.about())
        if found is not None and not resume:
            raise RunExists(
                f"{self.run_dir} already contains a run",
                "continue it with `resume=True`, or choose another `run_dir`",
            )
        plan: str | None = None
        if found is not None:
            plan = self.recall(found)
        if plan is None:
            self.begin(found)
        else:
            self.plan = Plan.from_json(plan)
            # It may have been interrupted between a plan and what follows from it.
            left = [self.names.index(name) for name in self.plan.left]
            self.state.out += [who for who in left if who not in self.state.out]
            self.weigh()
            self.tell(f"resumes after round {self.state.done} of {self.settings.rounds}")
        for number in range(self.state.done + 1, self.settings.rounds + 1):
            self.round(number)
        return self.end()

    # The beginning: who is there, who competes, who would help whom

    def begin(self, ledger: _native.Ledger | None) -> None:
        self.tell("every participant trains alone and declares its competitors")
        probe = Request("probe", 1, [self.start], steps=self.settings.probe_steps)
        there = self.carrier.present(self.needed)
        answers = self.ask({who: probe for who in sorted(there)}, keep=False)
        self.silent = there - set(answers)
        if ledger is None:
            sources = [
                ("with the participant", answers[who].samples if who in answers else 0)
                for who in range(len(self.names))
            ]
            ledger = _native.Ledger.begin(
                self.run_dir, self.about(), self.competing._native, sources
            )
        self.opened = ledger
        self.benefit = self.estimate(answers, 1)
        self.follow(
            select(
                self.competing,
                self.benefit,
                self.settings.policy,
                objective=self.settings.objective,
                samples=self.sample_counts(),
                time_limit=self.settings.time_limit,
                seed=self.settings.seed,
            ),
            "the first plan",
        )

    def sample_counts(self) -> dict[str, float]:
        """The samples of each participant; 1 for those who have not answered yet."""
        counts = self.state.samples
        return {name: float(max(counts.get(who, 0), 1)) for who, name in enumerate(self.names)}

    def estimate(self, answers: Mapping[int, Answer], before: int) -> BenefitGraph:
        """Who would help whom: of what mixture of probes does validation data like most?"""
        self.tell("estimates who would help whom")
        steps = self.settings.probe_steps + self.settings.search_rounds
        while (benefit := self.try_estimate(answers, before)) is None:
            # What was shown until then stays on record, and is judged by what was known then.
            self.ledger.break_off_estimate()
        self.ledger.end_estimate(benefit._native, steps)
        return benefit

    def try_estimate(self, answers: Mapping[int, Answer], before: int) -> BenefitGraph | None:
        """The same; nothing, if somebody has declared a competition meanwhile."""
        count, known = len(self.names), self.competing
        # The training is set aside, and what is to be kept of it.
        self.keep_models()
        self.ledger.begin_estimate(before)
        self.ledger.begin_round(1)
        models = {who: answer.model for who, answer in answers.items() if answer.model is not None}
        entries = self.ledger.collect(
            "model",
            self.start.size,
            [(models[who], self.start) if who in models else None for who in range(count)],
        )
        probes = {
            who: (entry, models[who]) for who, entry in enumerate(entries) if entry is not None
        }
        for who in probes:
            # By whose count a mixture is made is the plan's to say: sizes are those of the
            # beginning.
            self.state.samples.setdefault(who, answers[who].samples)
        searches = {
            who: Search(who, probes, self.names, known, self.state.samples) for who in probes
        }
        told = {who for who in searches if answers[who].tells_gradients}
        for step in range(self.settings.search_rounds):
            asked = {who: searches[who] for who in sorted(told)} if step else searches
            if not asked:
                break
            self.ledger.begin_round(step + 2)
            requests = {
                who: search.request(step + 2, self.ledger, who in told)
                for who, search in asked.items()
            }
            self.ledger.keep_estimate()
            replies = self.ask(requests, keep=False, at_least=0)
            refused = self.collect_gradients(replies)
            for who, answer in replies.items():
                if who not in refused:
                    searches[who].learn(answer)
            if self.competing.pairs != known.pairs:
                # Whoever has a new competitor must not be shown any more of it.
                return None
            # Who is silent would have everybody wait each time.
            told &= set(replies)
        return self.found(searches)

    def found(self, searches: Mapping[int, Search]) -> BenefitGraph:
        """Who would help whom, by what was answered; of whom nothing was heard, as before."""
        heard = {self.names[who] for who, search in searches.items() if search.has_learned}
        probed = {self.names[who] for who in searches}
        edges = [edge for edge in self.benefit.edges if edge[0] not in probed or edge[1] not in heard]
        for search in searches.values():
            for a, b, value in search.benefits(self.settings.threshold):
                edges.append((self.names[a], self.names[b], value))
        return BenefitGraph(edges, participants=self.names)

    def collect_gradients(self, replies: Mapping[int, Answer]) -> set[int]:
        """Takes what participants have answered; says whose cannot be used."""
        submissions = [
            (replies[who].model, None) if who in replies and replies[who].model is not None else None
            for who in range(len(self.names))
        ]
        if not any(submissions):
            return set()
        entries = self.ledger.collect(
            "gradient",
            self.start.size,
            submissions,  # type: ignore[arg-type]
        )
        pairs = enumerate(zip(submissions, entries, strict=True))
        return {who for who, (submission, entry) in pairs if submission is not None and entry is None}

    def follow(self, plan: Plan, why: str) -> None:
        """Follows a plan, which is proven first by what does not know who made it."""
        certificate = verify(self.competing, plan, plan.certificate)
        self.ledger.follow(plan.to_json(), certificate.to_json(), why, self.benefit._native)
        self.plan = plan
        self.weigh()
        self.state.planned = list(self.competing.reports)
        self.ledger.keep(self.state.to_bytes())
        self.tell(f"{why}: {len(plan.edges)} edges, welfare {plan.welfare:g}")

    def weigh(self) -> None:
        """Takes from the plan what everybody's mixtures are made of."""
        everybody = range(len(self.names))
        self.weights = {to: parts for to in everybody if len(parts := self.parts(to)) > 1}

    def parts(self, to: int) -> dict[int, float]:
        """For a participant and its collaborators the part of each."""
        helpers = [self.names.index(name) for name in self.plan.helpers(self.names[to])]
        if self.settings.weights == "samples":
            parts = {who: float(max(self.state.samples.get(who, 0), 1)) for who in [to, *helpers]}
        else:
            parts = {to: 0.0}
            for who in helpers:
                parts[who] = self.benefit.benefit(self.names[who], self.names[to])
            parts[to] = max(1.0 - sum(parts.values()), 1e-3)
        own, rest = self.settings.own_part, sum(parts.values()) - parts[to]
        if own is not None and rest > 0:
            parts = {who: (1 - own) * part / rest for who, part in parts.items()} | {to: own}
        total = sum(parts.values())
        return {who: part / total for who, part in parts.items()}

    # Rounds

    def round(self, number: int) -> None:
        # A plan that is made now is that of this round.
        self.ledger.begin_round(number - 1)
        there = self.carrier.present(self.needed, self.state.out) - set(self.state.out)
        self.welcome(number, there - set(self.state.samples) - self.silent)
        self.change([])
        self.ledger.begin_round(number)
        requests, given = self.mixtures(number, there - set(self.state.out))
        # Nothing is on its way that the ledger does not know.
        self.state.at = number
        self.ledger.keep(self.state.to_bytes())
        answers = self.ask(requests)
        before = self.state.fresh
        self.accept(answers, given)
        if len(self.fresh) < self.needed:
            # What came is on record, and the round is not done.
            count, self.state.fresh = len(self.fresh), before
            self.ledger.keep(self.state.to_bytes())
            raise self.too_few(count, "sent a usable model")
        self.silent -= {who for who in self.fresh if self.tries[who] < ATTEMPTS}
        figures = {
            self.names[who]: {
                # Other figures are those of the end.
                (split, name): value
                for (split, name), value in answers[who].metrics.items()
                if split == "validation"
            }
            for who in answers
            if who in self.fresh
        }
        self.history[number] = figures
        self.ledger.tell(self.figures(figures))
        self.state.done = number
        self.ledger.keep(self.state.to_bytes())
        self.are_kept = False
        self.tell(f"round {number} of {self.settings.rounds}: {len(self.fresh)} models")
        self.change([who for who, answer in answers.items() if answer.leaves])

    def mixtures(
        self, number: int, there: set[int]
    ) -> tuple[dict[int, Request], dict[int, Parameters]]:
        """What everybody gets: its mixture, its own last model, or the start."""
        mixed = {
            to: {
                who: part
                for who, part in self.weights[to].items()
                if who == to or (who in self.fresh and who in self.kept)
            }
            for to in sorted(there)
            if to in self.weights and to in self.kept
        }
        mixed = {to: parts for to, parts in mixed.items() if len(parts) > 1}
        order = sorted({who for parts in mixed.values() for who in parts})
        table = np.zeros((len(mixed), len(order)), np.float32)
        for row, parts in enumerate(mixed.values()):
            total = sum(parts.values())
            for who, part in parts.items():
                table[row, order.index(who)] = part / total
        made = mix(table, [self.kept[who][1] for who in order]) if mixed else []
        given: dict[int, Parameters] = {}
        for (to, parts), mixture in zip(mixed.items(), made, strict=True):
            self.ledger.deliver(to, "model", mixture, [self.kept[who][0] for who in parts])
            given[to] = mixture
        for to in sorted(there - set(mixed)):
            # The common start carries nobody's data, and the ledger does not speak of it.
            given[to] = self.start
            if to in self.kept:
                # Its own last one, in case that it has lost its memory.
                entry, given[to] = self.kept[to]
                self.ledger.deliver(to, "model", given[to], [entry])
        steps = self.settings.local_steps
        requests = {
            to: Request("round", number, [given[to]], is_mixture=to in mixed, steps=steps)
            for to in sorted(there)
        }
        return requests, given

    # Change

    def welcome(self, number: int, new: set[int]) -> None:
        """Somebody is there for the first time: benefits are estimated anew, with all."""
        if not new:
            return
        probe = Request("probe", 1, [self.start], steps=self.settings.probe_steps)
        answers = self.ask({who: probe for who in sorted(new)}, keep=False, at_least=0)
        # Whoever is silent is asked again once it has answered anything.
        self.tries.update(new)
        self.silent |= new
        if not answers:
            return
        others = self.carrier.present() & set(self.state.samples) - set(self.state.out)
        answers |= self.ask({who: probe for who in sorted(others)}, keep=False, at_least=0)
        self.benefit = self.estimate(answers, number)
        come = new & set(self.state.samples)
        self.silent -= come
        for who in sorted(come):
            self.ledger.found(who, "with the participant", self.state.samples[who])
        if come:
            self.replan(f"{', '.join(self.names[who] for who in sorted(come))} joined")

    def change(self, leaving: Sequence[int]) -> None:
        """Whoever leaves or has declared a competition changes the plan."""
        why = []
        leaving = [who for who in leaving if who not in self.state.out]
        if leaving:
            self.state.out += leaving
            why.append(f"{', '.join(self.names[who] for who in leaving)} left")
        known = set(self.state.planned)
        new = [pair for pair in self.competing.reports if pair not in known]
        if new:
            why.append(", ".join(f"{a} now competes with {b}" for a, b in new))
        if why:
            self.replan("; ".join(why))

    def replan(self, why: str) -> None:
        for who in self.late():
            if who not in self.state.out:
                # What a model carries no plan can undo: it goes no further.
                why += f"; {self.too_late(who)}"
                self.state.out.append(who)
        past = self.past()
        options: dict[str, Any] = {
            "competing": self.competing,
            "benefit": self.benefit,
            "policy": self.settings.policy,
            "objective": self.settings.objective,
            "samples": self.sample_counts(),
            "time_limit": self.settings.time_limit,
            "seed": self.settings.seed,
            # What has flowed is in the past already.
            "trained": False,
        }
        gone = [self.names[who] for who in self.state.out if self.names[who] not in past.left]
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", FedCompetitorsWarning)
            plan = past.leave(*gone, **options) if gone else past.replan(**options)
        for one in noted:
            self.tell(str(one.message))
        self.follow(plan, why)

    def past(self) -> Plan:
        """The plan with what has really flowed, by the ledger, and not with all that could have."""
        about = json.loads(self.plan.to_json())
        about["provenance"] = [
            {
                "participant": name,
                "carries": [self.names[a] for a in self.ledger.carries(who) if a != who],
            }
            for who, name in enumerate(self.names)
            if len(self.ledger.carries(who)) > 1
        ]
        about.setdefault("left", [])
        about.setdefault("competing", [list(pair) for pair in self.state.planned])
        return Plan.from_json(json.dumps(about, ensure_ascii=False))

    def too_late(self, who: int) -> str:
        """What there is to say to somebody whose model carries a competitor's data."""
        found = []
        for rival in self.rivals(who):
            since = self.ledger.carries_since(who, rival)
            if since is not None:
                found.append(f"{self.names[rival]} since round {since}")
        # The last of its models may not be kept yet.
        self.keep_models()
        clean = self.ledger.last_without(who, self.rivals(who))
        return (
            f"declared too late: the model of {self.names[who]} carries data of its competitor "
            f"{' and '.join(found)}; it receives and sends no more models; "
            + (
                f"its last model without that data is from round {clean[1]}"
                if clean is not None
                else "no model without that data is stored"
            )
        )

    # The end

    def learned(self, who: int, carried: Sequence[int]) -> list[tuple[int, float]]:
        """From whom a participant has learned, with the part of each, of those it carries."""
        parts = self.parts(who) if who in self.state.taken and len(carried) > 1 else {who: 1.0}
        return [(a, part) for a, part in parts.items() if a in carried]

    def told(self, who: int, entry: int | None, is_late: bool) -> str:
        """What a participant is told of the plan: what concerns it, and nothing from which it
        could read with whom others compete, or who has named it as a competitor."""
        name = self.names[who]
        refused = []
        for one in self.plan.refused:
            if one.helped != name:
                continue
            why = "data would reach a competitor"
            if one.path is None:
                why = "the plan does not need it"
            elif name == one.path[-1] and (name, one.path[0]) in self.competing.reports:
                why = f"you compete with {one.path[0]}: {' → '.join(one.path)}"
            refused.append({"from": one.helper, "why": why})
        carried = [] if entry is None else self.ledger.provenance(entry)
        everybody = range(len(self.names))
        about: dict[str, Any] = {
            "participant": name,
            "learns_from": {self.names[a]: round(part, 4) for a, part in self.learned(who, carried)},
            "carries_data_of": [self.names[a] for a in carried],
            "data_reaches": [
                self.names[a] for a in everybody if who in self.ledger.carries(a)
            ],
            "refused": refused,
        }
        if self.strangers.get(who):
            about["unknown_competitors"] = sorted(self.strangers[who])
        if is_late:
            # Whom it has not named itself it is not told of.
            carried = self.ledger.carries(who)
            known = [self.names[rival] for rival in self.rivals(who) if rival in carried]
            named = [rival for rival in known if (name, rival) in self.competing.reports]
            about["too_late"] = "your later models carry data that must not be in them" + (
                f": you compete with {' and '.join(named)}" if named else ""
            )
        return json.dumps(about, indent=2, ensure_ascii=False)

    def end(self) -> Outcome:
        # What was declared before an interruption; what is declared with the last answers has
        # nothing left to change.
        self.change([])
        certificate = verify(self.competing, self.plan)
        late = self.late()
        ends: dict[int, tuple[int | None, Parameters]] = {**self.kept}
        for who in late:
            # What it has now is not handed to it once more.
            clean = self.ledger.last_without(who, self.rivals(who))
            ends[who] = (clean[0], clean[2]) if clean is not None else (None, self.start)
        requests = {}
        for who in sorted(self.carrier.present(self.needed, self.state.out) & set(ends)):
            came_with, model = ends[who]
            if came_with is not None:
                self.ledger.deliver(who, "model", model, [came_with])
            requests[who] = Request(
                "end",
                self.settings.rounds,
                [model],
                plan=self.told(who, came_with, who in late),
                replaces=who in late,
            )
        self.ledger.keep(self.state.to_bytes())
        answers = self.ask(requests)
        before = {who: values for who, (_, values) in ends.items()}
        self.accept({who: answers[who] for who in answers if who not in late}, before)
        ends |= {who: one for who, one in self.kept.items() if who not in late}
        heard = self.fresh | set(late)
        figures = {self.names[who]: dict(answers[who].metrics) for who in answers if who in heard}
        models, carries = {}, {}
        final: list[tuple[Parameters, list[tuple[int, float]], int | None]] = []
        for who, name in enumerate(self.names):
            entry, values = ends.get(who, (None, self.start))
            carried = self.ledger.provenance(entry) if entry is not None else []
            final.append((values, self.learned(who, carried), entry))
            models[name] = values
            carries[name] = tuple(self.names[a] for a in carried)
        steps = self.settings.probe_steps + self.settings.search_rounds
        steps += self.settings.rounds * self.settings.local_steps
        # Figures of the last round are of the model that was trained then; those of the end
        # are of the one that was kept.
        ended = [line for line in self.figures(figures) if line[1] != "validation"]
        had_incidents = self.ledger.finish(final, self.tensors, ended, steps)
        return Outcome(
            models=models,
            metrics=figures,
            history=self.history,
            plan=self.plan,
            certificate=certificate,
            competing=self.competing,
            benefit=self.benefit,
            carries=carries,
            had_incidents=had_incidents,
        )
