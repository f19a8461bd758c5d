"""The exchange with participants: requests go out, answers come in, and both pass the guard.

What is decided with the answers is in `_coordinator`.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fedcompetitors import _native
from fedcompetitors._graphs import BenefitGraph, CompetingGraph
from fedcompetitors._participants import Answer, Parameters, Request
from fedcompetitors._settings import Settings
from fedcompetitors.errors import FedCompetitorsWarning, RunExists, TooFewAnswers

__all__ = ["ATTEMPTS", "Carrier", "Exchange"]

# How often whoever is silent is asked, where too few have answered.
ATTEMPTS = 3


class Carrier(Protocol):
    """Carries requests to participants and their answers back."""

    def present(self, at_least: int = 0, without: Collection[int] = ()) -> set[int]:
        """Who can be asked now; waits for so many, without these, as long as for an answer."""

    def ask(
        self, requests: Mapping[int, Request], meanwhile: Callable[[], None]
    ) -> dict[int, Answer | None]:
        """The answers that have come in time; None for what could not be read.

        Calls `meanwhile` once, as soon as participants are at work.
        """


@dataclass
class _State:
    """What the coordinator must know again after an interruption."""

    done: int = 0
    # The last round in which mixtures went out.
    at: int = 0
    samples: dict[int, int] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    # Who gets and gives nothing more.
    out: list[int] = field(default_factory=list)
    # Whose model is of the last round.
    fresh: list[int] = field(default_factory=list)
    # The competitions that the plan was made for.
    planned: list[tuple[str, str]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        return json.dumps(vars(self)).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> _State:
        known = json.loads(text)
        known["samples"] = {int(who): count for who, count in known["samples"].items()}
        known["planned"] = [(a, b) for a, b in known["planned"]]
        return cls(**known)


class Exchange:
    """Asks participants, and holds what they have answered."""

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
        self.opened: _native.Ledger | None = None
        # Refuses names that nobody can have, before anybody is asked.
        self.competing = CompetingGraph([], participants=self.names)
        self.state = _State()
        self.history: dict[int, dict[str, dict[tuple[str, str], float]]] = {}
        # The last that was accepted of everybody, with its entry in the ledger; and is that in
        # the store?
        self.kept: dict[int, tuple[int, Parameters]] = {}
        self.are_kept = True
        self.benefit = BenefitGraph([], participants=self.names)
        # For whoever has collaborators the part of each in its mixtures.
        self.weights: dict[int, dict[int, float]] = {}
        # Who is new, was asked for a probe and has not answered anything since; and how often.
        self.silent: set[int] = set()
        self.tries: Counter[int] = Counter()
        # Competitors by their own account who do not take part.
        self.strangers: dict[int, set[str]] = {}

    def about(self) -> _native.About:
        settings = self.settings
        return {
            "name": settings.name,
            "everything": settings.text(self.names, self.tensors),
            "metric": settings.metric,
            "direction": _native.direction(settings.metric, settings.direction),
            "seed": settings.seed,
            "rounds": settings.rounds,
            "policy": settings.policy,
        }

    def recall(self, ledger: _native.Ledger) -> str | None:
        """Resumes from a stored run; gives its plan, if there was one by then."""
        state, plan, benefit, is_complete = ledger.stand()
        if is_complete:
            raise RunExists(
                f"the run in {self.run_dir} is complete", "choose another `run_dir` for a new run"
            )
        self.opened = ledger
        self.competing = CompetingGraph._wrap(ledger.competing())
        if plan is None or benefit is None or not state:
            # Nothing was decided yet: what had moved are probes, which are thrown away.
            return None
        self.benefit = BenefitGraph._wrap(benefit)
        self.state = _State.from_bytes(state)
        self.kept = {who: (entry, values) for who, entry, values in ledger.kept()}
        for number, (who, split, metric, value) in ledger.told():
            of_round = self.history.setdefault(number, {}).setdefault(self.names[who], {})
            of_round[split, metric] = float("nan") if value is None else value
        return plan

    @property
    def ledger(self) -> _native.Ledger:
        """Guard, ledger and store, once everybody was asked who is there."""
        assert self.opened is not None
        return self.opened

    @property
    def fresh(self) -> set[int]:
        """Whose model is of the last round."""
        return set(self.state.fresh)

    @property
    def needed(self) -> int:
        """How many must have answered."""
        known = set(self.state.samples) or set(range(len(self.names)))
        return min(self.settings.min_participants, len(known - set(self.state.out)))

    def late(self) -> list[int]:
        """Whose model carries a competitor's data, as that was declared too late."""
        everybody = range(len(self.names))
        carries = self.ledger.carries
        return [who for who in everybody if set(carries(who)) & set(self.rivals(who))]

    def rivals(self, who: int) -> list[int]:
        """With whom a participant competes, by either one's account."""
        name = self.names[who]
        return [at for at, other in enumerate(self.names) if self.competing.competes(name, other)]

    def hear(self, answers: Mapping[int, Answer]) -> set[int]:
        """Takes notice of who competes by everybody's own account, at once, so that the guard
        knows of it. Says for whom that is new."""
        reports = list(self.competing.reports)
        before = len(reports)
        for who, answer in answers.items():
            name = self.names[who]
            for rival in answer.competitors or ():
                if rival not in self.names or rival == name:
                    self.puzzle(who, rival)
                elif (name, rival) not in reports:
                    reports.append((name, rival))
        new = reports[before:]
        if new:
            self.competing = CompetingGraph(reports, participants=self.names)
            if self.opened is not None:
                self.opened.declare(self.competing._native, self.state.at + 1)
        return {self.names.index(name) for pair in new for name in pair}

    def puzzle(self, who: int, rival: str) -> None:
        """Says once that a participant competes with nobody that takes part besides it."""
        strange = self.strangers.setdefault(who, set())
        if rival not in strange:
            strange.add(rival)
            is_itself = rival == self.names[who]
            text = f'"{self.names[who]}" competes with "{rival}", ' + (
                "which is itself" if is_itself else "which does not take part"
            )
            self.tell(text)
            warnings.warn(text, FedCompetitorsWarning, stacklevel=2)

    def keep_models(self) -> None:
        """Keeps everybody's last model, while participants are at work on the next.

        Hundreds of megabytes take seconds to write. A run that is interrupted before they are
        written goes on with the models of one round earlier.
        """
        if not self.are_kept:
            self.ledger.keep_models(list(self.kept.values()))
            self.are_kept = True

    def ask(
        self, requests: Mapping[int, Request], *, keep: bool = True, at_least: int | None = None
    ) -> dict[int, Answer]:
        """Asks, and whoever is silent again until enough have answered; notes who was missing
        where that is kept."""
        needed = self.needed if at_least is None else at_least
        replies: dict[int, Answer | None] = {}
        answers: dict[int, Answer] = {}
        silent = dict(requests)
        for attempt in range(ATTEMPTS):
            if attempt:
                names = ", ".join(self.names[who] for who in silent)
                self.tell(f"{len(answers)} of at least {needed} have answered; waiting for {names}")
                self.carrier.present(needed, self.state.out)
            replies.update(self.carrier.ask(silent, self.keep_models))
            answers = {who: answer for who, answer in replies.items() if answer is not None}
            new = self.hear(answers)
            silent = {
                who: one
                for who, one in silent.items()
                # What was made before somebody had a new competitor is not sent to it again.
                if who not in replies and (who not in new or one.stage == "probe")
            }
            if len(answers) >= needed or len(answers) + len(silent) < needed:
                break
        if len(answers) < needed:
            raise self.too_few(len(answers), "have answered")
        if keep:
            for who in range(len(self.names)):
                if who in replies and replies[who] is None:
                    self.ledger.unreadable(who)
                elif who not in replies and who not in self.state.out:
                    self.ledger.missing(who)
        return answers

    def too_few(self, count: int, have: str) -> TooFewAnswers:
        return TooFewAnswers(
            f"{count} participants {have}, and {self.needed} are needed",
            "check that their nodes run; continue from the last round with `resume=True`",
        )

    def accept(self, answers: Mapping[int, Answer], given: Mapping[int, Parameters]) -> None:
        for who, answer in answers.items():
            if answer.model is None:
                self.ledger.unreadable(who)
        entries = self.ledger.collect(
            "model",
            self.start.size,
            [
                (np.asarray(answers[who].model), given.get(who))
                if who in answers and answers[who].model is not None
                else None
                for who in range(len(self.names))
            ],
        )
        self.state.fresh = [who for who, entry in enumerate(entries) if entry is not None]
        for who, entry in enumerate(entries):
            if entry is not None:
                self.kept[who] = (entry, np.asarray(answers[who].model))
                if answers[who].has_taken and who not in self.state.taken:
                    self.state.taken.append(who)

    def figures(
        self, figures: Mapping[str, Mapping[tuple[str, str], float]]
    ) -> list[tuple[int, str, str, float | None]]:
        return [
            (self.names.index(name), split, metric, value if np.isfinite(value) else None)
            for name, all_of in figures.items()
            for (split, metric), value in all_of.items()
        ]
