"""Small learners for tests."""

import numpy as np
from numpy.typing import NDArray

PARTS = ("training", "validation", "test")


class Linear:
    """Least squares on points drawn around a line of its own."""

    def __init__(self, seed: int, slope: float, samples: int, features: int = 5) -> None:
        numbers = np.random.default_rng(seed)
        self.parts = {}
        for part, count in zip(PARTS, (samples, samples, 200), strict=True):
            inputs = numbers.normal(size=(count, features)).astype(np.float32)
            noise = 0.5 * numbers.normal(size=count)
            outputs = inputs @ np.full(features, slope) + noise
            self.parts[part] = inputs, outputs.astype(np.float32)

    def samples(self, split: str) -> int:
        return len(self.parts[split][0])

    def loss_and_gradient(self, parameters: NDArray[np.float32], split: str):
        inputs, outputs = self.parts[split]
        errors = inputs @ parameters - outputs
        return float(np.mean(errors**2)), 2 * inputs.T @ errors / len(errors)


class Trainer:
    """The same, as something that trains by itself."""

    def __init__(self, inner: Linear, rate: float = 0.02) -> None:
        self.inner, self.rate = inner, rate

    def samples(self, split: str) -> int:
        return self.inner.samples(split)

    def train(self, parameters: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
        for _ in range(steps):
            parameters = parameters - self.rate * self.inner.loss_and_gradient(
                parameters, "training"
            )[1].astype(np.float32)
        return parameters

    def loss(self, parameters: NDArray[np.float32], split: str) -> float:
        return self.inner.loss_and_gradient(parameters, split)[0]

    def metrics(self, parameters: NDArray[np.float32], split: str) -> dict[str, float]:
        return {"root": self.loss(parameters, split) ** 0.5}


def five() -> dict[str, Linear]:
    """Three of a kind, one large and two small, and two of another kind."""
    return {
        "a": Linear(1, 1.0, 200),
        "b": Linear(2, 1.0, 10),
        "c": Linear(3, 1.0, 10),
        "d": Linear(4, -1.0, 100),
        "e": Linear(5, -1.0, 12),
    }
