"""How a federation from Python goes about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from fedcompetitors import _native
from fedcompetitors._registry import default, default_settings
from fedcompetitors.errors import NotASetting

__all__ = ["Settings"]

# A federation from Python estimates by mixtures and trains by mixing.
_ESTIMATOR = default_settings("estimator", "mixture")
_TRAINER = default_settings("trainer", "mixing")


@dataclass(frozen=True)
class Settings:
    """Settings of a federation.

    Attributes
    ----------
    name : str
        The name of the federation.
    rounds, local_steps : int
        The number of rounds, and of training steps in a round.
    policy, objective, time_limit
        As in `fedcompetitors.select`.
    weights : str
        What the weights in a mixture are proportional to: ``samples`` or ``benefit``.
    own_part : float or None
        The weight of a participant's own model in its mixtures. Default: it follows from
        `weights`.
    probe_steps, search_rounds : int
        Steps that each participant trains alone before benefits are estimated, and the number
        of mixtures that it then evaluates.
    threshold : float
        Helpers whose weight is below this fraction of their weight by samples are dropped.
    min_participants : int
        The number of participants that must answer for a round to count.
    metric : str
        The figure that is reported.
    direction : str or None
        Whether ``higher`` or ``lower`` values of the metric are better. Default: as in
        ``fc.entries("metric")``; for other metrics ``lower`` if the name ends with ``loss``,
        otherwise ``higher``.
    seed : int
        The seed of the search for the plan.
    """

    name: str = "federation"
    rounds: int = 10
    local_steps: int = 10
    policy: str = default("policy")
    objective: str = default("objective")
    time_limit: float | None = 10.0
    weights: str = _TRAINER["weights"]
    own_part: float | None = _TRAINER["own_part"]
    probe_steps: int = _ESTIMATOR["probe_steps"]
    search_rounds: int = 5
    threshold: float = _ESTIMATOR["threshold"]
    min_participants: int = 2
    metric: str = "loss"
    direction: str | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise NotASetting(f"{name} is less than {least}", f"give {least} or more")
        _native.direction(self.metric, self.direction)
        if self.weights not in ("samples", "benefit"):
            raise NotASetting(f'weights "{self.weights}" are unknown', "give samples or benefit")
        if self.own_part is not None and not 0 < self.own_part <= 1:
            raise NotASetting(
                "own_part is out of range", "give a number above 0 and up to 1, or None"
            )

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
