"""The coordinator: from reports to everybody's own model, wherever the participants are.

Stages: everybody trains alone from a common start and says with whom it competes; mixtures
show who would help whom; a plan is selected and proven; then rounds, in which each participant
gets its own mixture along the plan. Whatever comes and goes passes the book: the same guard,
ledger and store as those of ``fedcompetitors run``, so ``fedcompetitors audit`` reads it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Protocol

import numpy as np

from fedcompetitors import _native
from fedcompetitors._graphs import BenefitGraph, CompetingGraph
from fedcompetitors._mixing import mix
from fedcompetitors._participants import Answer, Parameters, Request
from fedcompetitors._plans import Certificate, Plan, select, verify
from fedcompetitors._search import Search
from fedcompetitors._settings import Settings
from fedcompetitors.errors import (
    FedCompetitorsWarning,
    PastBreaksRule,
    RunExists,
    TooFewAnswers,
)

__all__ = ["Outcome", "coordinate"]


class Carrier(Protocol):
    """Carries requests to participants and their answers back."""

    def present(self) -> set[int]:
        """Who can be asked now, or could be there though nobody has heard of it yet."""

    def ask(
        self, requests: Mapping[int, Request], meanwhile: Callable[[], None]
    ) -> dict[int, Answer | None]:
        """The answers that have come in time; None for what could not be read.

        Calls `meanwhile` once, as soon as participants are at work.
        """


@dataclass
class Outcome:
    """What came out.

    Attributes
    ----------
    models : dict
        Everybody's own model.
    metrics : dict
        Everybody's figures in the end, as (split, name): value.
    history : dict
        The same of each round.
    plan, certificate : Plan, Certificate
        Who learns from whom in the end, and the proof.
    competing, benefit : CompetingGraph, BenefitGraph
        What the plan was made of.
    carries : dict
        Whose data everybody's model may carry.
    had_incidents : bool
        Was anybody missing, or did anybody send what could not be used?
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


@dataclass
class _State:
    """What the coordinator must know again after an interruption."""

    done: int = 0
    samples: dict[int, int] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    out: list[int] = field(default_factory=list)
    weights: dict[int, dict[int, float]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return json.dumps(vars(self)).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> _State:
        known = json.loads(text)
        for key in ("samples", "weights"):
            known[key] = {int(who): value for who, value in known[key].items()}
        known["weights"] = {
            to: {int(who): part for who, part in parts.items()}
            for to, parts in known["weights"].items()
        }
        return cls(**known)


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
        Where everything is kept.
    resume : bool, default False
        Go on with a run that is there?
    tell : callable
        Is told what happens, in words.
    """
    work = _Coordination(names, start, tensors, settings, carrier, fspath(run_dir), tell)
    return work.run(resume)


class _Coordination:
    def __init__(
        self,
        names: Sequence[str],
        start: Parameters,
        tensors: Sequence[tuple[str, list[int]]],
        settings: Settings,
        carrier: Carrier,
        run_dir: str,
        tell: Any,
    ) -> None:
        self.names, self.start, self.tensors = list(names), start, list(tensors)
        self.settings, self.carrier, self.run_dir, self.tell = settings, carrier, run_dir, tell
        # Refuses names that nobody can have, before anybody is asked.
        self.competing = CompetingGraph([], participants=self.names)
        self.state = _State()
        self.history: dict[int, dict[str, dict[tuple[str, str], float]]] = {}
        # The last that was accepted of everybody, with its entry in the ledger.
        self.kept: dict[int, tuple[int, Parameters]] = {}
        # Whose is of the last round.
        self.fresh: set[int] = set()
        # Is that in the store?
        self.are_kept = True

    def about(self) -> _native.About:
        settings = self.settings
        return {
            "name": settings.name,
            "everything": settings.text(self.names, self.tensors),
            "metric": settings.metric,
            "seed": settings.seed,
            "rounds": settings.rounds,
            "policy": settings.policy,
            "estimator": "mixture",
        }

    def run(self, resume: bool) -> Outcome:
        found = _native.Coordinator.resume(self.run_dir, self.about())
        if found is not None and not resume:
            raise RunExists(
                f"{self.run_dir} already holds a run",
                "go on with it by `resume=True`, or choose another `run_dir`",
            )
        plan: str | None = None
        if found is not None:
            plan = self.recall(found)
        if plan is None:
            self.begin(found)
        else:
            self.plan = Plan.from_json(plan)
            self.tell(f"goes on behind round {self.state.done} of {self.settings.rounds}")
        for number in range(self.state.done + 1, self.settings.rounds + 1):
            self.round(number)
        return self.end()

    # How it stands

    def recall(self, book: _native.Coordinator) -> str | None:
        done, state, plan, benefit, is_complete = book.stand()
        if is_complete:
            raise RunExists(
                f"the run in {self.run_dir} is complete", "choose another `run_dir` for a new one"
            )
        self.book = book
        self.competing = CompetingGraph._wrap(book.competing())
        if plan is None or benefit is None or not state:
            # Nothing was decided yet: what had moved are probes, which are thrown away.
            return None
        self.benefit = BenefitGraph._wrap(benefit)
        self.state = _State.from_bytes(state)
        self.kept = {who: (entry, values) for who, entry, values in book.kept()}
        self.fresh = set(self.kept)
        return plan

    # The beginning: who is there, who competes, who would help whom

    def begin(self, book: _native.Coordinator | None) -> None:
        self.tell("everybody trains alone and says with whom it competes")
        probe = Request("probe", 1, [self.start], steps=self.settings.probe_steps)
        answers = self.ask({who: probe for who in self.carrier.present()}, keep=False)
        competing = self.declared(answers)
        for who, answer in answers.items():
            self.state.samples[who] = answer.samples
        if book is None:
            sources = [
                ("with the participant", self.state.samples.get(who, 0))
                for who in range(len(self.names))
            ]
            book = _native.Coordinator.begin(
                self.run_dir, self.about(), competing._native, sources
            )
        elif competing != self.competing:
            book.declare(competing._native)
        self.book, self.competing = book, competing
        self.benefit = self.estimate(answers, "mixture", 1)
        self.follow(
            select(
                self.competing,
                self.benefit,
                self.settings.policy,  # type: ignore[arg-type]
                objective=self.settings.objective,  # type: ignore[arg-type]
                time_limit=self.settings.time_limit,
                seed=self.settings.seed,
            ),
            "the first plan",
        )

    def declared(self, answers: Mapping[int, Answer]) -> CompetingGraph:
        """Who competes, by everybody's own account and by what is known."""
        reports = list(self.competing.reports)
        for who, answer in answers.items():
            for rival in answer.competitors or ():
                if rival not in self.names:
                    warnings.warn(
                        f'"{self.names[who]}" competes with "{rival}", who does not take part',
                        FedCompetitorsWarning,
                        stacklevel=2,
                    )
                elif (self.names[who], rival) not in reports:
                    reports.append((self.names[who], rival))
        return CompetingGraph(reports, participants=self.names)

    def estimate(self, answers: Mapping[int, Answer], label: str, before: int) -> BenefitGraph:
        """Who would help whom: of what mixture of probes does validation data like most?"""
        self.tell("finds out who would help whom")
        count = len(self.names)
        # The book sets the training aside, and what is to be kept of it.
        self.keep_models()
        self.book.begin_estimate()
        self.book.begin_round(1)
        models = {who: answer.model for who, answer in answers.items() if answer.model is not None}
        entries = self.book.collect(
            "model",
            self.start.size,
            [(models[who], self.start) if who in models else None for who in range(count)],
        )
        probes = {
            who: (entry, models[who]) for who, entry in enumerate(entries) if entry is not None
        }
        searches = {who: Search(who, probes, self.names, self.competing, self.state.samples) for who in probes}
        told = {who for who in searches if answers[who].tells_gradients}
        for step in range(self.settings.search_rounds):
            asked = {who: searches[who] for who in told} if step else searches
            if not asked:
                break
            self.book.begin_round(step + 2)
            requests = {
                who: search.request(step + 2, self.book, who in told)
                for who, search in asked.items()
            }
            replies = self.ask(requests, keep=False)
            self.collect_gradients(replies)
            for who, answer in replies.items():
                searches[who].learn(answer)
        edges = [edge for search in searches.values() for edge in search.benefits(self.settings.threshold)]
        benefit = BenefitGraph(
            [(self.names[a], self.names[b], value) for a, b, value in edges],
            participants=self.names,
        )
        steps = self.settings.probe_steps + self.settings.search_rounds
        self.book.end_estimate(label, benefit._native, steps, before)
        return benefit

    def collect_gradients(self, replies: Mapping[int, Answer]) -> None:
        offers = [
            (replies[who].model, None) if who in replies and replies[who].model is not None else None
            for who in range(len(self.names))
        ]
        if any(offers):
            self.book.collect("gradient", self.start.size, offers)  # type: ignore[arg-type]

    def follow(self, plan: Plan, why: str) -> None:
        """Follows a plan, which is proven first by what does not know who made it."""
        certificate = verify(self.competing, plan, plan.certificate)
        self.book.follow(plan.to_json(), certificate.to_json(), why, self.benefit._native)
        self.plan = plan
        self.state.weights = {
            to: parts for to in range(len(self.names)) if len(parts := self.parts(to)) > 1
        }
        self.book.keep(self.state.to_bytes())
        self.tell(f"{why}: {len(plan.edges)} edges, welfare {plan.welfare:g}")

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
        self.book.begin_round(number)
        there = {who for who in self.carrier.present() if who not in self.state.out}
        self.welcome(number, there - set(self.state.samples))
        requests, given = self.mixtures(number, there)
        # Nothing is on its way that the ledger does not know.
        self.book.keep(self.state.to_bytes())
        answers = self.ask(requests)
        self.accept(answers, given)
        figures = {
            self.names[who]: dict(answers[who].metrics) for who in answers if who in self.fresh
        }
        self.history[number] = figures
        self.book.tell(self.figures(figures))
        self.state.done = number
        self.book.keep(self.state.to_bytes())
        self.are_kept = False
        self.tell(f"round {number} of {self.settings.rounds}: {len(self.fresh)} models")
        self.change(answers)

    def keep_models(self) -> None:
        """Keeps everybody's last model, while participants are at work on the next.

        Hundreds of megabytes take seconds to write. A run that is interrupted before they are
        written goes on with the models of one round earlier.
        """
        if not self.are_kept:
            self.book.keep_models(list(self.kept.values()))
            self.are_kept = True

    def mixtures(
        self, number: int, there: set[int]
    ) -> tuple[dict[int, Request], dict[int, Parameters]]:
        """What everybody gets: its mixture, its own last model, or the start."""
        mixed = {
            to: {
                who: part
                for who, part in self.state.weights[to].items()
                if who == to or who in self.fresh
            }
            for to in there
            if to in self.state.weights and to in self.kept
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
            self.book.deliver(to, "model", mixture, [self.kept[who][0] for who in parts])
            given[to] = mixture
        for to in there - set(mixed):
            # Its own last one, in case that it has lost its memory.
            given[to] = self.kept[to][1] if to in self.kept else self.start
        steps = self.settings.local_steps
        requests = {
            to: Request("round", number, [given[to]], is_mixture=to in mixed, steps=steps)
            for to in sorted(there)
        }
        return requests, given

    def ask(self, requests: Mapping[int, Request], *, keep: bool = True) -> dict[int, Answer]:
        """Asks, until enough have answered; notes who was missing where that is kept."""
        for attempt in range(3):
            replies = self.carrier.ask(requests, self.keep_models)
            answers = {who: answer for who, answer in replies.items() if answer is not None}
            if len(answers) >= min(self.settings.min_participants, len(self.names)):
                break
            self.tell(
                f"{len(answers)} of at least {self.settings.min_participants} have answered; "
                f"waiting for {', '.join(self.names[who] for who in requests if who not in answers)}"
            )
            # Whoever is back by then is asked, too.
            requests = dict(requests)
        else:
            raise TooFewAnswers(
                f"{len(answers)} participants have answered, and {self.settings.min_participants} "
                "are needed",
                "see whether their nodes run; `resume=True` goes on from the last round",
            )
        if keep:
            for who in range(len(self.names)):
                if who in replies and replies[who] is None:
                    self.book.unreadable(who)
                elif who not in replies and who not in self.state.out:
                    self.book.missing(who)
        return answers

    def accept(self, answers: Mapping[int, Answer], given: Mapping[int, Parameters]) -> None:
        entries = self.book.collect(
            "model",
            self.start.size,
            [
                (np.asarray(answers[who].model), given.get(who))
                if who in answers and answers[who].model is not None
                else None
                for who in range(len(self.names))
            ],
        )
        self.fresh = {who for who, entry in enumerate(entries) if entry is not None}
        for who, entry in enumerate(entries):
            if entry is not None:
                self.kept[who] = (entry, np.asarray(answers[who].model))
                if answers[who].has_taken and who not in self.state.taken:
                    self.state.taken.append(who)
                # By whose count a mixture is made is the plan's to say: sizes are those of
                # the beginning.
                self.state.samples.setdefault(who, answers[who].samples)

    def figures(
        self, figures: Mapping[str, Mapping[tuple[str, str], float]]
    ) -> list[tuple[int, str, str, float | None]]:
        return [
            (self.names.index(name), split, metric, value if np.isfinite(value) else None)
            for name, all_of in figures.items()
            for (split, metric), value in all_of.items()
        ]

    # Change

    def welcome(self, number: int, new: set[int]) -> None:
        """Somebody is there for the first time: benefits are estimated anew, with all."""
        if not new:
            return
        names = ", ".join(self.names[who] for who in sorted(new))
        there = {who for who in self.carrier.present() if who not in self.state.out}
        probe = Request("probe", 1, [self.start], steps=self.settings.probe_steps)
        answers = self.ask({who: probe for who in there}, keep=False)
        come = new & set(answers)
        competing = self.declared(answers)
        for who in come:
            self.state.samples[who] = answers[who].samples
            self.book.found(who, "with the participant", answers[who].samples)
        if competing != self.competing:
            self.book.begin_round(number - 1)
            self.book.declare(competing._native)
            self.competing = competing
        self.benefit = self.estimate(answers, f"mixture before round {number}", number)
        if come:
            self.replan(f"{names} joined")
        self.book.begin_round(number)

    def change(self, answers: Mapping[int, Answer]) -> None:
        """Whoever leaves or declares a competition changes the plan."""
        why = []
        leaving = [who for who, answer in answers.items() if answer.leaves]
        if leaving:
            self.state.out += [who for who in leaving if who not in self.state.out]
            why.append(f"{', '.join(self.names[who] for who in leaving)} left")
        competing = self.declared(answers)
        if competing != self.competing:
            new = [pair for pair in competing.reports if pair not in self.competing.reports]
            self.book.declare(competing._native)
            self.competing = competing
            why.append(f"{', '.join(f'{a} now competes with {b}' for a, b in new)}")
        if why:
            self.replan("; ".join(why))

    def replan(self, why: str) -> None:
        options: dict[str, Any] = {
            "competing": self.competing,
            "benefit": self.benefit,
            "policy": self.settings.policy,
            "objective": self.settings.objective,
            "time_limit": self.settings.time_limit,
            "seed": self.settings.seed,
        }
        plan = self.plan
        gone = [self.names[who] for who in self.state.out if self.names[who] not in plan.left]
        while True:
            try:
                with warnings.catch_warnings(record=True) as noted:
                    warnings.simplefilter("always", FedCompetitorsWarning)
                    plan = plan.leave(*gone, **options) if gone else plan.replan(**options)
                for one in noted:
                    self.tell(str(one.message))
                break
            except PastBreaksRule as broken:
                # What a model carries no plan can undo: it goes no further.
                carriers = sorted({carrier for carrier, _ in broken.breaches})
                why += (
                    f"; too late for {', '.join(carriers)}, whose model carries a competitor's "
                    "data: it gets and gives nothing more"
                )
                gone += carriers
                self.state.out += [self.names.index(name) for name in carriers]
        self.follow(plan, why)

    # The end

    def told(self, who: int) -> str:
        """What a participant is told of the plan: what concerns it, and nothing from which it
        could read with whom others compete, or who has named it as a competitor."""
        name = self.names[who]
        refused = []
        for one in self.plan.refused:
            if one.helped != name:
                continue
            why = "it would bring somebody's data to a competitor"
            if one.path is None:
                why = "the plan does not need it"
            elif name == one.path[-1] and (name, one.path[0]) in self.competing.reports:
                why = f"you compete with {one.path[0]}: {' → '.join(one.path)}"
            refused.append({"from": one.helper, "why": why})
        has_taken = who in self.state.taken
        parts = self.parts(who) if has_taken else {who: 1.0}
        everybody = range(len(self.names))
        about = {
            "participant": name,
            "learns_from": {self.names[a]: round(part, 4) for a, part in parts.items()},
            "carries_data_of": [self.names[a] for a in self.book.carries(who)],
            "data_reaches": [self.names[a] for a in everybody if who in self.book.carries(a)],
            "refused": refused,
        }
        return json.dumps(about, indent=2, ensure_ascii=False)

    def end(self) -> Outcome:
        there = self.carrier.present()
        requests = {
            who: Request("end", self.settings.rounds, [self.kept[who][1]], plan=self.told(who))
            for who in sorted(there)
            if who in self.kept
        }
        answers = self.ask(requests)
        before = {who: values for who, (_, values) in self.kept.items()}
        self.accept(answers, before)
        figures = {
            self.names[who]: dict(answers[who].metrics) for who in answers if who in self.fresh
        }
        models, carries = {}, {}
        final = []
        for who, name in enumerate(self.names):
            values = self.kept[who][1] if who in self.kept else self.start
            parts = self.parts(who) if who in self.state.taken else {who: 1.0}
            carried = self.book.carries(who) if who in self.kept else []
            known = [(a, part) for a, part in parts.items() if a in carried]
            final.append((values, known, who in self.kept))
            models[name] = values
            carries[name] = tuple(self.names[a] for a in carried)
        steps = self.settings.probe_steps + self.settings.search_rounds
        steps += self.settings.rounds * self.settings.local_steps
        # Figures of the last round are of the model that was trained then; those of the end
        # are of the one that was kept.
        ended = [line for line in self.figures(figures) if line[1] != "validation"]
        had_incidents = self.book.finish(final, self.tensors, ended, steps)
        return Outcome(
            models=models,
            metrics=figures,
            history=self.history,
            plan=self.plan,
            certificate=verify(self.competing, self.plan),
            competing=self.competing,
            benefit=self.benefit,
            carries=carries,
            had_incidents=had_incidents,
        )
