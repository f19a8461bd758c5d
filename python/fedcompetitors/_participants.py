"""A participant: what it does with its own data, wherever it is.

The same object works in one process (`fedcompetitors.Federation`) and at the other end of a
network (`fedcompetitors.flower`). It is asked, and answers; nothing but its answers leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fedcompetitors.errors import UnusableLearner

__all__ = ["Adam", "Answer", "GradientLearner", "Participant", "Request", "TrainingLearner"]

Parameters = NDArray[np.float32]
Split = Literal["training", "validation", "test"]


@runtime_checkable
class GradientLearner(Protocol):
    """A learner that computes loss and gradient; the package makes the training steps.

    Optional besides: ``metrics(parameters, split) -> dict[str, float]``.
    """

    def loss_and_gradient(
        self, parameters: Parameters, split: Split, /
    ) -> tuple[float, NDArray[Any]]:
        """The mean loss on a part of the data, and its gradient.

        On training data a learner may draw a batch of its own choice.
        """

    def samples(self, split: Split, /) -> int:
        """How many samples a part of the data has."""


@runtime_checkable
class TrainingLearner(Protocol):
    """A learner that trains by itself, on any device.

    Optional besides: ``metrics(parameters, split) -> dict[str, float]``, and
    ``loss_and_gradient(parameters, split)`` as of a `GradientLearner`, which is then asked on
    validation data: gradients make the estimate of benefits more accurate.
    """

    def train(self, parameters: Parameters, steps: int, /) -> NDArray[Any]:
        """The parameters after `steps` steps on training data.

        They may share the learner's own memory, if nothing but training changes it.
        """

    def loss(self, parameters: Parameters, split: Split, /) -> float:
        """The mean loss on a part of the data."""

    def samples(self, split: Split, /) -> int:
        """How many samples a part of the data has."""


Learner = GradientLearner | TrainingLearner


@dataclass(frozen=True)
class Adam:
    """The Adam optimizer, for learners that compute gradients.

    Attributes
    ----------
    rate : float
        The learning rate: about how far a step moves each parameter.
    first, second : float
        How much of the running means of gradients, and of their squares, stays at each step;
        from 0 to below 1.
    """

    rate: float = 0.01
    first: float = 0.9
    second: float = 0.999

    def start(self, count: int) -> list[Parameters]:
        """What it remembers before the first step: two running means, and how many steps."""
        return [np.zeros(count, np.float32), np.zeros(count, np.float32), np.zeros(1, np.float32)]

    def step(
        self, memory: list[Parameters], parameters: Parameters, gradient: Parameters
    ) -> None:
        """Moves the parameters, in place."""
        mean, square, count = memory
        count += 1
        mean += (1 - self.first) * (gradient - mean)
        square += (1 - self.second) * (gradient * gradient - square)
        steps = float(count[0])
        length = self.rate * np.sqrt(1 - self.second**steps) / (1 - self.first**steps)
        parameters -= np.float32(length) * mean / (np.sqrt(square) + np.float32(1e-8))


@dataclass(frozen=True)
class Request:
    """What the coordinator asks of a participant.

    Attributes
    ----------
    stage : str
        ``probe``: train alone from these parameters, and throw the model away. ``weigh``: how
        good are these mixtures? ``round``: train on. ``end``: your model and its figures.
    number : int
        Which round, counted from 1.
    models : sequence of arrays
        What it is about: one model, but for ``weigh`` without gradients.
    is_mixture : bool
        Has anybody else a part in it? The participant may leave a mixture.
    steps : int
        How many steps to train.
    plan : str
        For ``end``: what the plan says about this participant, as JSON.
    replaces : bool
        For ``end``: take this model in place of your own, which carries a competitor's data.
    """

    stage: Literal["probe", "weigh", "round", "end"]
    number: int
    models: Sequence[Parameters]
    is_mixture: bool = False
    steps: int = 0
    plan: str = ""
    replaces: bool = False


@dataclass(frozen=True)
class Answer:
    """What a participant answers.

    Attributes
    ----------
    model : array or None
        Its model; for ``weigh`` the gradient, if its learner computes one.
    losses : tuple of float
        The validation losses of what it was asked about.
    metrics : dict
        Figures, as (split, name): value.
    samples : int
        How many samples it trains with.
    competitors : tuple of str or None
        The competitors that it declares; None: as before.
    tells_gradients : bool
        True if its learner computes gradients.
    has_taken : bool
        True if it has ever trained on from a mixture.
    leaves : bool
        True if it leaves the run.
    """

    model: Parameters | None = None
    losses: tuple[float, ...] = ()
    metrics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    samples: int = 0
    competitors: tuple[str, ...] | None = None
    tells_gradients: bool = False
    has_taken: bool = False
    leaves: bool = False


class Participant:
    """One participant: its learner and what it remembers.

    Parameters
    ----------
    learner : object
        A `GradientLearner` or a `TrainingLearner`.
    competitors : sequence of str
        Its competitors.
    rule : Adam
        The optimizer, for learners that compute gradients and do not train by themselves.
    checked : bool, default True
        If true, it rejects a mixture with a higher validation loss than its own model.
    is_asked_once : bool, default False
        True if this object gives only one answer, which is used before its learner trains
        again. Then the output of the learner is not copied.
    """

    def __init__(
        self,
        learner: Learner,
        competitors: Sequence[str] = (),
        *,
        rule: Adam | None = None,
        checked: bool = True,
        is_asked_once: bool = False,
    ) -> None:
        if not isinstance(learner, (GradientLearner, TrainingLearner)):
            raise UnusableLearner(
                f"a {type(learner).__name__} is not a learner",
                "it needs `samples(split)` and either `loss_and_gradient(parameters, split)`, "
                "or `train(parameters, steps)` and `loss(parameters, split)`",
            )
        self.learner = learner
        self.competitors = tuple(competitors)
        self.rule = rule or Adam()
        self.checked = checked
        self.is_asked_once = is_asked_once
        self.leaves = False
        self._own: Parameters | None = None
        self._best: Parameters | None = None
        self._best_loss = float("inf")
        self._memory: list[Parameters] | None = None
        self._has_taken = False

    def answer(self, request: Request) -> Answer:
        """Does what it is asked to do."""
        if request.stage == "probe":
            trained, _ = self._train(request.models[0], request.steps, None)
            return self._tell(trained)
        if request.stage == "weigh":
            return self._weigh(request)
        if request.stage == "round":
            return self._round(request)
        return self._end(request)

    def _tell(self, model: Parameters | None, **rest: Any) -> Answer:
        return Answer(
            model=model,
            samples=int(self.learner.samples("training")),
            competitors=self.competitors,
            tells_gradients=isinstance(self.learner, GradientLearner),
            has_taken=self._has_taken,
            leaves=self.leaves,
            **rest,
        )

    def _weigh(self, request: Request) -> Answer:
        if isinstance(self.learner, GradientLearner) and len(request.models) == 1:
            loss, gradient = self._loss_and_gradient(request.models[0], "validation")
            return self._tell(gradient.copy(), losses=(loss,))
        losses = tuple(self._loss(model, "validation") for model in request.models)
        return self._tell(None, losses=losses)

    def _round(self, request: Request) -> Answer:
        given = np.asarray(request.models[0], np.float32)
        own = self._own
        if own is None:
            # New here, or back after its memory was lost: what it is given is all there is.
            start, taken = given, request.is_mixture
        elif not request.is_mixture:
            start, taken = own, False
        else:
            # Between equals chance decides, which does no harm.
            taken = not self.checked or self._loss(given, "validation") <= self._loss(
                own, "validation"
            )
            start = given if taken else own
        self._has_taken |= taken
        self._own, self._memory = self._train(start, request.steps, self._memory)
        loss = self._loss(self._own, "validation")
        if self._best is None or loss < self._best_loss or math.isnan(self._best_loss):
            self._best, self._best_loss = self._own, loss
        metrics = {("validation", "loss"): loss, **self._metrics(self._own, "validation")}
        return self._tell(self._own, losses=(loss,), metrics=metrics)

    def _end(self, request: Request) -> Answer:
        if self._best is None or request.replaces:
            self._best = self._own = np.array(request.models[0], np.float32)
            self._memory = None
        best = self._best
        metrics: dict[tuple[str, str], float] = {}
        for split in ("validation", "test"):
            if self.learner.samples(split):
                metrics[split, "loss"] = self._loss(best, split)
                metrics.update(self._metrics(best, split))
        return self._tell(best, metrics=metrics)

    @property
    def model(self) -> Parameters | None:
        """Its own model: of all rounds the one with the lowest validation loss."""
        return self._best

    def _train(
        self, start: Parameters, steps: int, memory: list[Parameters] | None
    ) -> tuple[Parameters, list[Parameters] | None]:
        parameters = np.array(start, np.float32)
        if isinstance(self.learner, TrainingLearner):
            trained = np.asarray(self.learner.train(parameters, steps), np.float32).ravel()
            if not self.is_asked_once:
                # A learner may well give the memory that it trains in.
                trained = trained.copy()
            return self._checked_length(trained, parameters), None
        if memory is None or memory[0].shape != parameters.shape:
            memory = self.rule.start(parameters.size)
        else:
            # What was recalled lies in files, and steps are made in place.
            memory = [np.array(one) for one in memory]
        for _ in range(steps):
            _, gradient = self._loss_and_gradient(parameters, "training")
            self.rule.step(memory, parameters, gradient)
        return parameters, memory

    def _loss_and_gradient(self, parameters: Parameters, split: Split) -> tuple[float, Parameters]:
        assert isinstance(self.learner, GradientLearner)
        loss, gradient = self.learner.loss_and_gradient(parameters, split)
        gradient = np.asarray(gradient, np.float32).ravel()
        return float(loss), self._checked_length(gradient, parameters)

    def _checked_length(self, found: Parameters, expected: Parameters) -> Parameters:
        if found.size != expected.size:
            raise UnusableLearner(
                f"a {type(self.learner).__name__} returns {found.size} numbers for "
                f"{expected.size} parameters",
                "gradients and trained parameters need one number for each parameter",
            )
        return np.ascontiguousarray(found)

    def _loss(self, parameters: Parameters, split: Split) -> float:
        if isinstance(self.learner, TrainingLearner):
            return float(self.learner.loss(parameters, split))
        return float(self.learner.loss_and_gradient(parameters, split)[0])

    def _metrics(self, parameters: Parameters, split: Split) -> dict[tuple[str, str], float]:
        metrics = getattr(self.learner, "metrics", None)
        if metrics is None:
            return {}
        return {(split, str(name)): float(v) for name, v in metrics(parameters, split).items()}

    def save(self) -> tuple[list[Parameters], dict[str, float]]:
        """What it remembers, for `recall`: arrays, and a few numbers."""
        numbers = {
            "best-loss": self._best_loss,
            "has-taken": float(self._has_taken),
            # Mostly it is, and need not be kept twice.
            "best-is-own": float(self._best is self._own),
        }
        if self._own is None or self._best is None:
            return [], numbers
        models = [self._own] if self._best is self._own else [self._own, self._best]
        return models + (self._memory or []), numbers

    def recall(self, arrays: Sequence[Parameters], numbers: Mapping[str, float]) -> None:
        """Goes on from what `save` gave."""
        if arrays:
            count = 1 if numbers["best-is-own"] else 2
            self._own, self._best = arrays[0], arrays[count - 1]
            self._memory = list(arrays[count:]) or None
        self._best_loss = float(numbers["best-loss"])
        self._has_taken = bool(numbers["has-taken"])
