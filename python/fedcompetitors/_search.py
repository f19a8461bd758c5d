"""Who would help whom: a participant's search for the mixture with the lowest validation loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedcompetitors import _native
from fedcompetitors._graphs import CompetingGraph
from fedcompetitors._mixing import mix
from fedcompetitors._participants import Answer, Parameters, Request

__all__ = ["Search"]

# Steps that the coordinator makes by itself between two questions, and the longest of them.
_INNER_STEPS = 600
_INNER_RATE = 0.2


class Search:
    """A participant that searches for the mixture with its lowest validation loss."""

    def __init__(
        self,
        who: int,
        probes: Mapping[int, tuple[int, Parameters]],
        names: Sequence[str],
        competing: CompetingGraph,
        samples: Mapping[int, int],
    ) -> None:
        self.who, self.probes = who, probes
        others = [
            other
            for other in probes
            if other != who and not competing.competes(names[other], names[who])
        ]
        self.members = [who, *others]
        counts = np.array([max(samples.get(one, 1), 1) for one in self.members], float)
        self.prior = counts / counts.sum()
        self.weights = self.prior.copy()
        self.gains: NDArray[np.float64] | None = None
        # What was answered: the loss, its slopes, and where.
        self.asked: list[tuple[float, NDArray[np.float64], NDArray[np.float64]]] = []

    def request(
        self, number: int, ledger: _native.Ledger, tells_gradients: bool
    ) -> Request:
        entries = [self.probes[one][0] for one in self.members]
        models = [self.probes[one][1] for one in self.members]
        if tells_gradients:
            table = self.weights[np.newaxis].astype(np.float32)
            (mixture,) = mix(table, models)
            ledger.deliver(self.who, "model", mixture, entries)
            return Request("weigh", number, [mixture], is_mixture=True)
        # Without gradients: its own model, and its mixture with each of the others.
        halves = [models[0]]
        for entry, model in zip(entries[1:], models[1:], strict=True):
            (half,) = mix([[0.5, 0.5]], [models[0], model])
            ledger.deliver(self.who, "model", half, [entries[0], entry])
            halves.append(half)
        return Request("weigh", number, halves, is_mixture=True)

    def learn(self, answer: Answer) -> None:
        if answer.model is None:
            losses = np.array(answer.losses, float)
            if len(losses) == len(self.members) and np.isfinite(losses).all():
                # Nobody can help by more than all, whatever losses somebody tells.
                with np.errstate(over="ignore"):
                    self.gains = np.clip(1.0 - losses[1:] / max(losses[0], 1e-30), 0.0, 1.0)
            return
        if not answer.losses:
            return
        loss = max(float(answer.losses[0]), 1e-30)
        slopes = [float(np.dot(answer.model, self.probes[one][1])) for one in self.members]
        if not np.isfinite([loss, *slopes]).all():
            return
        self.asked.append((loss, np.array(slopes), self.weights))
        self.weights = self.best()

    @property
    def has_learned(self) -> bool:
        """Was anything answered that can be used?"""
        return bool(self.asked) or self.gains is not None

    def best(self) -> NDArray[np.float64]:
        """Where all that was answered so far says that the best mixture is.

        Every answer is a plane that the loss lies above, as far as it is convex. The weights
        are sought where the logarithm of the highest of the planes, plus how far they are (by
        relative entropy) from the sample counts, is lowest: the same place that the estimator
        in one process goes to, with a step for each of thirty answers. An exchange over a
        network takes seconds; this takes none.
        """
        points = np.array([point for _, _, point in self.asked])
        slopes = np.array([slope for _, slope, _ in self.asked])
        losses = np.array([loss for loss, _, _ in self.asked])
        at_zero, least = losses - (slopes * points).sum(1), 0.1 * losses.min()
        weights, mean = points[-1], np.zeros(len(self.members))
        total = 0.0
        for step in range(1, _INNER_STEPS + 1):
            rate = _INNER_RATE / np.sqrt(step)
            planes = at_zero + slopes @ weights
            highest = int(np.argmax(planes))
            slope = slopes[highest] / max(planes[highest], least)
            exponents = (1 - rate) * np.log(np.maximum(weights, 1e-30))
            exponents += rate * (np.log(self.prior) - slope)
            weights = np.exp(exponents - exponents.max())
            weights /= weights.sum()
            if 2 * step > _INNER_STEPS:
                mean, total = mean + rate * weights, total + rate
        return mean / total

    def benefits(self, threshold: float) -> list[tuple[int, int, float]]:
        if not self.has_learned:
            # Its weights are still the sample counts, which say nothing.
            return []
        if self.gains is not None:
            values = self.gains
        else:
            helps = self.weights >= threshold * self.prior
            values = np.where(helps, self.weights, 0.0)[1:]
        return [
            (one, self.who, float(value))
            for one, value in zip(self.members[1:], values, strict=True)
            if value > 0
        ]
