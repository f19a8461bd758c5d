"""Plans: made, proven, explained, compared and changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from fedcompetitors import _native
from fedcompetitors._graphs import BenefitGraph, CompetingGraph, united, warn
from fedcompetitors._plan_types import (
    Certificate,
    Comparison,
    Comparisons,
    Edge,
    Explanation,
    Refusal,
)
from fedcompetitors._registry import default

__all__ = [
    "Certificate",
    "Comparison",
    "Comparisons",
    "Edge",
    "Explanation",
    "Plan",
    "Refusal",
    "compare",
    "explain",
    "select",
    "verify",
]

_POLICY = default("policy")
_RULE = default("rule")
_OBJECTIVE = default("objective")


class Plan:
    """Who may learn from whom.

    Made by `select` or `Plan.from_json`; never changed. `join`, `leave`, `declare` and
    `replan` give a new plan that knows what has flowed along this one.
    """

    def __init__(
        self, text: str, certificate: Certificate | None = None, difference: str = ""
    ) -> None:
        self._text = text
        self._certificate = certificate
        self._difference = difference

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan in the text of a file, which may be the program's.

        Whether it keeps the rule is another question: `verify`.

        Raises
        ------
        NotJson, OtherFormat, UnknownParticipant, …
            If the text is no plan.
        """
        _native.check_plan(text)
        return cls(text)

    def to_json(self) -> str:
        """The text of the file that ``fedcompetitors … --plan`` reads."""
        return self._text

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads(self._text)
        return document

    @property
    def policy(self) -> str:
        """The policy that made it."""
        return str(self._document["policy"])

    @property
    def rule(self) -> str:
        """The rule that it keeps: ``paths`` or ``messages``."""
        return str(self._document.get("rule", _RULE))

    @property
    def participants(self) -> tuple[str, ...]:
        """The participants in their order, those who have left included."""
        return tuple(self._document["participants"])

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Who learns from whom, by the helped, the best helper first."""
        return tuple(
            Edge(edge["from"], edge["to"], edge.get("benefit", 0.0))
            for edge in self._document["usage"]
        )

    @cached_property
    def refused(self) -> tuple[Refusal, ...]:
        """The useful edges that the plan leaves out, each with its reason."""
        return tuple(
            Refusal(
                one["from"],
                one["to"],
                one["benefit"],
                tuple(one["because"]["path"]) if one["because"] else None,
            )
            for one in self._document.get("refused", ())
        )

    def helpers(self, helped: str) -> tuple[str, ...]:
        """Those from whom a participant learns, the best first."""
        return tuple(edge.helper for edge in self.edges if edge.helped == helped)

    @property
    def welfare(self) -> float:
        """The sum of the benefits over the edges."""
        return float(self._document["welfare"])

    @property
    def upper_bound(self) -> float:
        """No plan that keeps the rule has a larger welfare."""
        return float(self._document["upper_bound"])

    @property
    def note(self) -> str | None:
        """A note on how it was made, if any."""
        note = self._document.get("note")
        return None if note is None else str(note)

    @property
    def carries(self) -> dict[str, tuple[str, ...]]:
        """Whose data models carried before the plan, for those that carried others'."""
        rows = self._document.get("provenance") or ()
        return {row["participant"]: tuple(row["carries"]) for row in rows}

    @property
    def left(self) -> tuple[str, ...]:
        """Those who have left."""
        return tuple(self._document.get("left", ()))

    @property
    def certificate(self) -> Certificate | None:
        """The proof that the plan keeps the rule; None for a plan from a file: `verify`."""
        return self._certificate

    @property
    def difference(self) -> str:
        """How it differs from the plan before, in words; empty if there was none."""
        return self._difference

    def join(
        self, *names: str, competing: CompetingGraph, benefit: BenefitGraph, **options: Any
    ) -> Plan:
        """The plan after participants have joined or returned.

        Parameters
        ----------
        *names : str
            Who joins.
        competing, benefit : CompetingGraph, BenefitGraph
            The current graphs, newcomers included.
        **options
            As `replan`.
        """
        return self._changed(competing, benefit, options, joining=list(names))

    def leave(
        self, *names: str, competing: CompetingGraph, benefit: BenefitGraph, **options: Any
    ) -> Plan:
        """The plan after participants have left. Other models go on carrying their data.

        Parameters
        ----------
        *names : str
            Who leaves.
        competing, benefit : CompetingGraph, BenefitGraph
            The current graphs; they may still contain those who leave.
        **options
            As `replan`.
        """
        return self._changed(competing, benefit, options, leaving=list(names))

    def declare(
        self, a: str, b: str, *, competing: CompetingGraph, benefit: BenefitGraph, **options: Any
    ) -> Plan:
        """The plan after one participant has declared that it competes with another.

        The new plan remembers it, whatever later competing graphs say.

        Parameters
        ----------
        a, b : str
            Who declares it, and with whom.
        competing, benefit : CompetingGraph, BenefitGraph
            The current graphs.
        **options
            As `replan`.

        Raises
        ------
        PastBreaksRule
            If one carries the data of the other already.
        """
        return self._changed(competing, benefit, options, declared=[(a, b)])

    def replan(self, *, competing: CompetingGraph, benefit: BenefitGraph, **options: Any) -> Plan:
        """A new plan for the current graphs that takes into account what has flowed along this one.

        Parameters
        ----------
        competing, benefit : CompetingGraph, BenefitGraph
            The current graphs.
        trained : bool, default True
            False if nobody has trained along this plan, so that no data has flowed along it.
        restarting : sequence of str
            Participants that start again from their own data.
        reconciled : sequence of pairs
            Pairs that no longer compete; plans remember competitions.
        policy, objective, samples, time_limit, gap, seed
            As `select`.

        Returns
        -------
        Plan
            Its `difference` describes what has changed.

        Raises
        ------
        PastBreaksRule
            If models carry a competitor's data already.
        """
        return self._changed(competing, benefit, options)

    def _changed(
        self,
        competing: CompetingGraph,
        benefit: BenefitGraph,
        options: dict[str, Any],
        joining: Sequence[str] = (),
        leaving: Sequence[str] = (),
        declared: Sequence[tuple[str, str]] = (),
    ) -> Plan:
        def step(
            trained: bool = True,
            restarting: Sequence[str] = (),
            reconciled: Sequence[tuple[str, str]] = (),
            **choice: Any,
        ) -> tuple[_native.Step, _native.Choice]:
            return {
                "joining": list(joining),
                "leaving": list(leaving),
                "declared": list(declared),
                "reconciled": list(reconciled),
                "restarting": list(restarting),
                "trained": trained,
            }, _choice(**choice)

        what, how = step(**options)
        text, proof, difference, mistakes = _native.change(
            self._text, competing._native, benefit._native, how, what
        )
        warn(mistakes)
        return Plan(text, Certificate(proof), difference)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self._document == other._document

    def __hash__(self) -> int:
        return hash((self.participants, self.edges))

    def __repr__(self) -> str:
        return (
            f"<Plan by {self.policy}: {len(self.participants)} participants, "
            f"{len(self.edges)} edges, welfare {self.welfare:g}>"
        )


def _choice(
    policy: str = _POLICY,
    objective: str = _OBJECTIVE,
    time_limit: float | None = 10.0,
    gap: float = 0.0,
    seed: int = 1,
    samples: Mapping[str, float] | None = None,
) -> _native.Choice:
    return {
        "policy": policy,
        "objective": objective,
        "samples": None if samples is None else dict(samples),
        "time_limit": time_limit,
        "gap": gap,
        "seed": seed,
    }


def select(
    competing: CompetingGraph,
    benefit: BenefitGraph,
    policy: str | None = None,
    *,
    rule: str | None = None,
    objective: str = _OBJECTIVE,
    samples: Mapping[str, float] | None = None,
    time_limit: float | None = 10.0,
    gap: float = 0.0,
    seed: int = 1,
    refusals: bool = True,
) -> Plan:
    """Decide who may learn from whom, so that the rule about competitors is kept.

    Parameters
    ----------
    competing : CompetingGraph
        Who competes with whom.
    benefit : BenefitGraph
        Who would help whom.
    policy : str, optional
        A policy of ``fc.entries("policy")``. Default: ``optimal``; ``friends`` with
        ``rule="messages"``.
    rule : str, optional
        The rule that the plan must keep, of ``fc.entries("rule")``. Default: the rule of the policy.
        A policy that keeps ``paths`` also keeps ``messages``, and its plan names ``paths``.
    objective : str, default "welfare"
        The objective of ``optimal``, of ``fc.entries("objective")``.
    samples : mapping of str to float, optional
        For ``diminishing``: the number of samples of each participant. Benefits are then in
        samples, too.
    time_limit : float or None, default 10.0
        Seconds after which ``optimal`` stops with the best so far; None for no limit.
    gap : float, default 0.0
        ``optimal`` stops once no plan can be better by more than this fraction.
    seed : int, default 1
        The seed of the search of ``optimal``.
    refusals : bool, default True
        If true, the plan lists the refused edges with their reasons; there may be millions.

    Returns
    -------
    Plan
        With its certificate.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C, soon after it is pressed.
    FedCompetitorsError
        See `fedcompetitors.errors`.

    Notes
    -----
    Other Python threads run meanwhile. If a graph was made without a list of participants,
    those of both graphs take part, with a warning for names that may be misspelt.
    """
    if policy is None:
        policy = "friends" if rule == "messages" else _POLICY
    choice = _choice(policy, objective, time_limit, gap, seed, samples)
    text, proof = _native.select(*united(competing, benefit), choice, rule, refusals)
    return Plan(text, Certificate(proof))


def verify(
    competing: CompetingGraph,
    plan: Plan,
    certificate: Certificate | str | None = None,
    *,
    rule: str | None = None,
) -> Certificate:
    """Prove that a plan keeps the rule that it names, what models carry from before included.

    Parameters
    ----------
    competing : CompetingGraph
        Who competes with whom.
    plan : Plan
        The plan, whoever made it.
    certificate : Certificate or str, optional
        A certificate to check, or the text of its file. Default: make a new one.
    rule : str, optional
        Refuse a plan that does not promise this rule. A plan under ``paths`` keeps ``messages`` too.

    Returns
    -------
    Certificate
        The proof; `str` gives it in words.

    Raises
    ------
    RuleBroken
        If the plan breaks the rule, with a shortest leaking path.
    NotASetting
        If the plan names a weaker rule than `rule`.
    CertificateRefused
        If the given certificate does not hold for this plan.
    """
    claim = certificate.to_json() if isinstance(certificate, Certificate) else certificate
    proof, words, mistakes = _native.verify(competing._native, plan.to_json(), claim, rule)
    warn(mistakes, stacklevel=3)
    return Certificate(proof, words)


def explain(
    competing: CompetingGraph, benefit: BenefitGraph, plan: Plan, helper: str, helped: str
) -> Explanation:
    """Explain why one participant may or may not learn from another.

    Parameters
    ----------
    competing, benefit : CompetingGraph, BenefitGraph
        The graphs that the plan is about.
    plan : Plan
        The plan.
    helper, helped : str
        Who would help whom.

    Returns
    -------
    Explanation
        In the words of ``fedcompetitors explain``.

    Raises
    ------
    RuleBroken
        If the plan breaks the rule: such a plan explains nothing.
    """
    verdict, value, sentence, path = _native.explain(
        competing._native, benefit._native, plan.to_json(), helper, helped
    )
    return Explanation(verdict, value, sentence, None if path is None else tuple(path))


def compare(
    competing: CompetingGraph,
    benefit: BenefitGraph,
    *,
    objective: str = _OBJECTIVE,
    samples: Mapping[str, float] | None = None,
    time_limit: float | None = 10.0,
    gap: float = 0.0,
    seed: int = 1,
) -> Comparisons:
    """Compare the plans of all policies.

    Parameters
    ----------
    competing, benefit : CompetingGraph, BenefitGraph
        Who competes, who would help whom.
    objective, samples, time_limit, gap, seed
        As `select`.

    Returns
    -------
    Comparisons
        A sequence of `Comparison`; `str` gives the table of ``fedcompetitors compare``.
    """
    choice = _choice(_POLICY, objective, time_limit, gap, seed, samples)
    rows, text = _native.compare(*united(competing, benefit), choice)
    return Comparisons(tuple(Comparison(*row) for row in rows), text)
