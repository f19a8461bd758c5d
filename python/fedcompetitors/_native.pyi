"""The native part: see `crates/python`."""

from os import PathLike
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

class CompetingGraph:
    def __init__(
        self, participants: list[str] | None, reports: list[tuple[str, str]]
    ) -> None: ...
    @staticmethod
    def from_matrix(names: list[str] | None, matrix: NDArray[np.float64]) -> CompetingGraph: ...
    @property
    def participants(self) -> list[str]: ...
    @property
    def reports(self) -> list[tuple[str, str]]: ...
    @property
    def pairs(self) -> list[tuple[str, str]]: ...
    def competes(self, a: str, b: str) -> bool: ...

class BenefitGraph:
    def __init__(
        self, participants: list[str] | None, edges: list[tuple[str, str, float]]
    ) -> None: ...
    @staticmethod
    def from_matrix(names: list[str] | None, matrix: NDArray[np.float64]) -> BenefitGraph: ...
    @property
    def participants(self) -> list[str]: ...
    @property
    def edges(self) -> list[tuple[str, str, float]]: ...
    def benefit(self, helper: str, helped: str) -> float: ...

class Choice(TypedDict):
    policy: str
    objective: str
    time_limit: float | None
    gap: float
    seed: int

class Step(TypedDict):
    joining: list[str]
    leaving: list[str]
    declared: list[tuple[str, str]]
    reconciled: list[tuple[str, str]]
    restarting: list[str]
    trained: bool

def read_graphs(
    competing: str | PathLike[str],
    benefit: str | PathLike[str],
    participants: str | PathLike[str] | None = None,
) -> tuple[CompetingGraph, BenefitGraph, list[str]]: ...
def unite(
    competing: CompetingGraph, benefit: BenefitGraph
) -> tuple[CompetingGraph, BenefitGraph, list[str]]: ...
def select(
    competing: CompetingGraph, benefit: BenefitGraph, choice: Choice, refusals: bool
) -> tuple[str, str]: ...
def check_plan(plan: str) -> None: ...
def verify(
    competing: CompetingGraph, plan: str, against: str | None = None
) -> tuple[str, str, list[str]]: ...
def explain(
    competing: CompetingGraph, benefit: BenefitGraph, plan: str, helper: str, helped: str
) -> tuple[str, float, str, list[str] | None]: ...
def compare(
    competing: CompetingGraph, benefit: BenefitGraph, choice: Choice
) -> tuple[
    list[tuple[str, float, float, int, int, float, float, int, float, bool, str | None]], str
]: ...
def change(
    plan: str, competing: CompetingGraph, benefit: BenefitGraph, choice: Choice, step: Step
) -> tuple[str, str, str, list[str]]: ...
def mix(
    weights: NDArray[np.float32],
    models: list[NDArray[np.float32]],
    out: list[NDArray[Any]] | None = None,
) -> list[NDArray[np.float32]]: ...
