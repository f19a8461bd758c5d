"""Ten participants with a few classes of CIFAR-10 each, and PyTorch models on whatever device.

    pip install torch fedcompetitors
    python examples/pytorch/cifar10.py --data DIR [--device cuda] [--run runs/cifar10]

DIR has the files of CIFAR-10's binary version; `fedcompetitors data fetch cifar10 DIR` gets them.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import fedcompetitors as fc

CLASSES, SIDE, MARGIN, BATCH = 10, 32, 4, 32


def network() -> nn.Module:
    """The convolutional network of the paper's line of work."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, CLASSES),
    )


def augmented(images: Tensor) -> Tensor:
    """Images moved by a few pixels, half of them mirrored: one gather for all."""
    count, side = len(images), torch.arange(SIDE, device=images.device)

    def moves() -> Tensor:
        return torch.randint(0, 2 * MARGIN + 1, (count, 1), device=images.device)

    is_mirrored = torch.rand(count, 1, device=images.device) < 0.5
    rows, columns = moves() + side, moves() + torch.where(is_mirrored, SIDE - 1 - side, side)
    wide = functional.pad(images, [MARGIN] * 4)
    which = torch.arange(count, device=images.device).view(-1, 1, 1)
    cut = wide.permute(0, 2, 3, 1)[which, rows.unsqueeze(2), columns.unsqueeze(1)]
    return cut.permute(0, 3, 1, 2)


class Images:
    """A participant: its images on the device, and a network that is trained there."""

    def __init__(
        self, data: Mapping[str, tuple[Tensor, Tensor]], device: str, rate: float = 0.001
    ) -> None:
        self.data = {split: (x.to(device), y.to(device)) for split, (x, y) in data.items()}
        self.device = device
        self.model = network().to(device)
        # One buffer for all parameters and one for their gradients, which the network's own
        # are views of: parameters come and go in one piece, and a step is one operation.
        own = list(self.model.parameters())
        self.flat = nn.utils.parameters_to_vector(own).detach().clone().requires_grad_()
        self.flat.grad = torch.zeros_like(self.flat)
        begin = 0
        for tensor in own:
            end = begin + tensor.numel()
            tensor.data = self.flat.data[begin:end].view_as(tensor)
            tensor.grad = self.flat.grad[begin:end].view_as(tensor)
            begin = end
        self.adam = torch.optim.Adam([self.flat], lr=rate, fused=True)
        self.order, self.done = torch.empty(0, dtype=torch.long), 0

    def samples(self, split: str) -> int:
        return len(self.data[split][1])

    def batch(self) -> tuple[Tensor, Tensor]:
        images, labels = self.data["training"]
        if self.done + BATCH > len(self.order):
            self.order, self.done = torch.randperm(len(labels), device=self.device), 0
        rows = self.order[self.done : self.done + BATCH]
        self.done += BATCH
        return augmented(images[rows]), labels[rows]

    def take(self, parameters: np.ndarray) -> None:
        with torch.no_grad():
            self.flat.copy_(torch.from_numpy(parameters))

    def train(self, parameters: np.ndarray, steps: int) -> np.ndarray:
        self.take(parameters)
        self.model.train()
        assert self.flat.grad is not None
        for _ in range(steps):
            images, labels = self.batch()
            self.flat.grad.zero_()
            functional.cross_entropy(self.model(images), labels).backward()
            self.adam.step()
        return self.flat.detach().cpu().numpy()

    @torch.no_grad()
    def outputs(self, parameters: np.ndarray, split: str) -> Tensor:
        self.take(parameters)
        self.model.eval()
        return torch.cat([self.model(part) for part in self.data[split][0].split(5000)])

    def loss(self, parameters: np.ndarray, split: str) -> float:
        outputs = self.outputs(parameters, split)
        return float(functional.cross_entropy(outputs, self.data[split][1]))

    def loss_and_gradient(self, parameters: np.ndarray, split: str) -> tuple[float, np.ndarray]:
        """Shows on validation data which mixtures help."""
        self.take(parameters)
        self.model.eval()
        assert self.flat.grad is not None
        self.flat.grad.zero_()
        images, labels = self.data[split]
        loss = 0.0
        for some, theirs in zip(images.split(5000), labels.split(5000), strict=True):
            part = functional.cross_entropy(self.model(some), theirs, reduction="sum")
            (part / len(labels)).backward()
            loss += float(part.detach()) / len(labels)
        return loss, self.flat.grad.cpu().numpy()

    def metrics(self, parameters: np.ndarray, split: str) -> dict[str, float]:
        found = self.outputs(parameters, split).argmax(1)
        return {"accuracy": float((found == self.data[split][1]).float().mean())}


def read(folder: Path, names: list[str], most: int | None) -> tuple[Tensor, Tensor]:
    """Images and classes of some files, at most `most`."""
    records = np.concatenate(
        [np.fromfile(folder / name, np.uint8).reshape(-1, 3073) for name in names]
    )[:most]
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, SIDE, SIDE).copy())
    return (images.float() / 255 - 0.5) / 0.25, torch.from_numpy(records[:, 0].astype(np.int64))


def dealt(
    folder: Path, participants: int, seed: int, most: int | None
) -> list[dict[str, tuple[Tensor, Tensor]]]:
    """Everybody's images: of two classes, half of the images of each."""
    chance = np.random.default_rng(seed)
    files = [f"data_batch_{number}.bin" for number in range(1, 6)]
    training = read(folder, [name for name in files if (folder / name).exists()], most)
    test = read(folder, ["test_batch.bin"], most)
    order = chance.permutation(CLASSES)
    all_of = {label: chance.permutation(np.flatnonzero(training[1] == label)) for label in order}
    data = []
    for who in range(participants):
        # Each class is at two neighbours of a ring.
        pair = [order[who % CLASSES], order[(who + 1) % CLASSES]]
        halves = [np.array_split(all_of[label], 2)[at] for at, label in enumerate(pair)]
        own = chance.permutation(np.concatenate(halves))
        cut = len(own) // 5
        tested = np.flatnonzero(np.isin(test[1], pair))
        rows = {"training": own[cut:], "validation": own[:cut]}
        some = {split: (training[0][at], training[1][at]) for split, at in rows.items()}
        data.append({**some, "test": (test[0][tested], test[1][tested])})
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--run", type=Path, default=Path("runs/cifar10"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--local-steps", type=int, default=50)
    parser.add_argument("--images", type=int, help="use at most N images of each kind")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    data = dealt(arguments.data, 10, seed=1, most=arguments.images)
    names = [f"v{who + 1}" for who in range(len(data))]
    learners = {name: Images(own, arguments.device) for name, own in zip(names, data, strict=True)}
    competitors = {"v1": ["v3"], "v2": ["v3"], "v6": ["v8"]}
    federation = fc.Federation(learners, competitors)
    start = nn.utils.parameters_to_vector(network().parameters()).detach().numpy()
    begin = time.perf_counter()
    outcome = federation.run(
        start,
        arguments.run,
        rounds=arguments.rounds,
        local_steps=arguments.local_steps,
        probe_steps=2 * arguments.local_steps,
        own_part=0.7,
        metric="accuracy",
        tell=print,
    )
    print(f"{time.perf_counter() - begin:.1f} s on {arguments.device}")
    for name in names:
        helpers = ", ".join(outcome.plan.helpers(name)) or "nobody"
        print(f"{name}: {outcome.metrics[name]['test', 'accuracy']:.3f}, learns from {helpers}")
    print(outcome.certificate)
    print(fc.audit(arguments.run))


if __name__ == "__main__":
    main()
