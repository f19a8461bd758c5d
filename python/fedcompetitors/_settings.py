"""How a federation from Python goes about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from fedcompetitors.errors import NotASetting

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """How to go about it.

    Attributes
    ----------
    name : str
        What the federation is called.
    rounds, local_steps : int
        Rounds, and steps of each participant in a round.
    policy, objective, time_limit
        As `fedcompetitors.select`.
    weights : str
        How much of each collaborator goes into a mixture: as it has ``samples``, or as much
        as it helps: ``benefit``.
    own_part : float or None
        A participant's own part in its mixtures, where it is not to follow from the weights.
    probe_steps, search_rounds : int
        Steps that everybody trains alone before benefits are estimated, and how many mixtures
        everybody is then asked about.
    threshold : float
        A helper whose weight falls below this part of what its samples would give it is none.
    min_participants : int
        So many must have answered for a round to count.
    metric : str
        Which figure is reported.
    seed : int
        For the search of the plan.
    """

    name: str = "federation"
    rounds: int = 10
    local_steps: int = 10
    policy: str = "optimal"
    objective: str = "welfare"
    time_limit: float | None = 10.0
    weights: str = "samples"
    own_part: float | None = None
    probe_steps: int = 60
    search_rounds: int = 5
    threshold: float = 0.2
    min_participants: int = 2
    metric: str = "loss"
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise NotASetting(f"{name} is less than {least}", f"give {least} or more")
        if self.weights not in ("samples", "benefit"):
            raise NotASetting(f'weights "{self.weights}" are unknown', "samples or benefit")
        if self.own_part is not None and not 0 < self.own_part <= 1:
            raise NotASetting("the own part is no part", "a number above 0, at most 1, or None")

    def text(self, names: Sequence[str], tensors: Sequence[tuple[str, list[int]]]) -> str:
        """Everything that must be the same for a run to go on, as TOML."""
        lines = [
            f"{key} = {json.dumps(value)}" for key, value in vars(self).items() if value is not None
        ]
        lines.append(f"participants = {json.dumps(list(names), ensure_ascii=False)}")
        lines.append(f"tensors = {json.dumps([[name, shape] for name, shape in tensors])}")
        return "\n".join(lines) + "\n"


_LEAST = {
    "rounds": 1,
    "local_steps": 1,
    "probe_steps": 1,
    "search_rounds": 1,
    "threshold": 0,
    "min_participants": 1,
    "seed": 0,
}
