"""What plans consist of, and what `explain` and `compare` give."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Certificate", "Comparison", "Comparisons", "Edge", "Explanation", "Refusal"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One participant learns from another.

    Attributes
    ----------
    helper, helped : str
        Information flows from the helper to the helped.
    benefit : float
        How much it helps.
    """

    helper: str
    helped: str
    benefit: float


@dataclass(frozen=True, slots=True)
class Refusal:
    """A useful edge that a plan leaves out.

    Attributes
    ----------
    helper, helped : str
        Who would have helped whom.
    benefit : float
        How much it would have helped.
    path : tuple of str or None
        The path by which data would have reached a competitor, the refused edge included;
        None if the rule would allow the edge.
    """

    helper: str
    helped: str
    benefit: float
    path: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Certificate:
    """Proof that a plan keeps the rule.

    It can be checked without knowing how the plan was made: each set holds its owner, is
    closed under the plan's edges and holds no competitor of its owner.
    """

    _json: str = field(repr=False)
    _text: str = field(default="", repr=False, compare=False)

    @property
    def reaches(self) -> dict[str, tuple[str, ...]]:
        """For each participant those whom its data reaches, itself included."""
        sets = json.loads(self._json)["sets"]
        return {one["participant"]: tuple(one["reaches"]) for one in sets}

    def to_json(self) -> str:
        """The text of the file that ``fedcompetitors verify --against`` reads."""
        return self._json

    def __str__(self) -> str:
        return self._text or self._json


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one participant learns from another, or does not.

    Attributes
    ----------
    verdict : str
        ``used``, ``refused``, ``no-benefit``, ``left-out`` or ``left``.
    benefit : float
        How much the helper's data would help.
    sentence : str
        The explanation in words; also what `str` gives.
    path : tuple of str or None
        For a refusal, the path by which data would reach a competitor.
    """

    verdict: str
    benefit: float
    sentence: str
    path: tuple[str, ...] | None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Comparison:
    """Figures of the plan of one policy.

    Attributes
    ----------
    policy : str
    welfare, upper_bound : float
        The sum of the benefits, and a proven upper bound on it for any plan.
    edges, with_nothing, longest_chain : int
        The edges used, the participants that get nothing, and the edges of the longest chain
        of information.
    least, geometric_mean : float
        The smallest benefit that a participant gets, of those that can be helped, and the
        geometric mean over those that get something.
    seconds : float
    keeps_the_rule : bool
    note : str or None
    """

    policy: str
    welfare: float
    upper_bound: float
    edges: int
    with_nothing: int
    least: float
    geometric_mean: float
    longest_chain: int
    seconds: float
    keeps_the_rule: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class Comparisons(Sequence[Comparison]):
    """The plans of all policies, `optimal` first; `str` gives a table.

    Attributes
    ----------
    rows : tuple of Comparison
        One for each policy.
    """

    rows: tuple[Comparison, ...]
    _text: str = field(repr=False)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.rows)

    def __str__(self) -> str:
        return self._text
