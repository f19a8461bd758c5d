"""The same in PyTorch: it trains by itself, on whatever device there is."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from hospitals.data import Rows

Parameters = NDArray[np.float32]


class TorchRegression:
    """Parameters come and go as one row of numbers, in the order of the common start."""

    def __init__(self, parts: dict[str, Rows], rate: float = 0.03) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.parts = {
            name: tuple(torch.from_numpy(rows).to(self.device) for rows in part)
            for name, part in parts.items()
        }
        self.model = torch.nn.Linear(parts["training"][0].shape[1], 1).to(self.device)
        self.rate = rate

    def samples(self, split: str) -> int:
        return len(self.parts[split][1])

    def train(self, parameters: Parameters, steps: int) -> Parameters:
        self._take(parameters)
        rule = torch.optim.Adam(self.model.parameters(), self.rate)
        for _ in range(steps):
            rule.zero_grad()
            self._loss("training").backward()
            rule.step()
        return parameters_to_vector(self.model.parameters()).detach().cpu().numpy()

    def loss(self, parameters: Parameters, split: str) -> float:
        self._take(parameters)
        with torch.no_grad():
            return float(self._loss(split))

    def metrics(self, parameters: Parameters, split: str) -> dict[str, float]:
        self._take(parameters)
        inputs, labels = self.parts[split]
        with torch.no_grad():
            is_yes = self.model(inputs).squeeze(1) > 0
        return {"accuracy": float((is_yes == (labels > 0.5)).float().mean())}

    def _take(self, parameters: Parameters) -> None:
        row = torch.from_numpy(np.array(parameters, np.float32)).to(self.device)
        vector_to_parameters(row, self.model.parameters())

    def _loss(self, split: str) -> torch.Tensor:
        inputs, labels = self.parts[split]
        odds = self.model(inputs).squeeze(1)
        return torch.nn.functional.binary_cross_entropy_with_logits(odds, labels)
