"""The same steps with `Federation` and in a plain PyTorch loop, on one device, in turns.

Ten participants train the network of `examples/pytorch` on CIFAR-10. The loop lets each of them
train alone, as everybody writes it: a network, Adam, batches, nothing else. `Federation` takes the
same number of steps, and besides finds out who helps whom, mixes, looks at validation data in every
round, and keeps the ledger and all models. What this costs is told in three lines: the whole, the
whole against a loop that looks at validation data as often, and steps alone.

    python bench/peers/pytorch/device.py --data DIR [--save DIR] [--turns 5] [--device cuda]
"""

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

REPOSITORY = Path(__file__).parents[3]
sys.path[:0] = [str(REPOSITORY / "examples/pytorch"), str(REPOSITORY / "bench/peers")]
import cifar10
import stored

import fedcompetitors as fc

ROUNDS, LOCAL_STEPS, PROBE_STEPS = 8, 50, 100


class Alone:
    """A participant of the plain loop."""

    def __init__(self, data: dict, device: str) -> None:
        self.data = {split: (x.to(device), y.to(device)) for split, (x, y) in data.items()}
        self.model = cifar10.network().to(device)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=True)
        self.order, self.done = torch.empty(0, dtype=torch.long), 0

    def train(self, steps: int) -> None:
        images, labels = self.data["training"]
        for _ in range(steps):
            if self.done + cifar10.BATCH > len(self.order):
                self.order, self.done = torch.randperm(len(labels), device=labels.device), 0
            rows = self.order[self.done : self.done + cifar10.BATCH]
            self.done += cifar10.BATCH
            self.adam.zero_grad()
            outputs = self.model(cifar10.augmented(images[rows]))
            functional.cross_entropy(outputs, labels[rows]).backward()
            self.adam.step()

    @torch.no_grad()
    def look(self) -> tuple[float, float]:
        images, labels = self.data["validation"]
        outputs = self.model(images)
        is_right = (outputs.argmax(1) == labels).float().mean()
        return float(functional.cross_entropy(outputs, labels)), float(is_right)


def alone(data: list, device: str, *, looks: bool) -> None:
    everybody = [Alone(own, device) for own in data]
    for steps in [PROBE_STEPS] + ROUNDS * [LOCAL_STEPS]:
        for one in everybody:
            one.train(steps)
            if looks:
                one.look()


def federated(data: list, device: str) -> fc.Outcome:
    learners = {f"v{who + 1}": cifar10.Images(own, device) for who, own in enumerate(data)}
    federation = fc.Federation(learners, {"v1": ["v3"], "v2": ["v3"], "v6": ["v8"]})
    start = nn.utils.parameters_to_vector(cifar10.network().parameters()).detach().numpy()
    with tempfile.TemporaryDirectory() as folder:
        outcome = federation.run(
            start,
            Path(folder) / "run",
            rounds=ROUNDS,
            local_steps=LOCAL_STEPS,
            probe_steps=PROBE_STEPS,
            own_part=0.7,
            metric="accuracy",
        )
        assert fc.audit(Path(folder) / "run").is_clean
    return outcome


def steps_alone(data: list, device: str) -> Callable[[], object]:
    learners = [cifar10.Images(own, device) for own in data]

    def work() -> None:
        for one in learners:
            one.train(one.flat.detach().cpu().numpy(), LOCAL_STEPS)

    return work


def seconds(work: Callable[[], object]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--save", type=Path, help="a folder for device.csv")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--images", type=int, help="use so many images of each kind and no more")
    parser.add_argument("--commit", default="", help="for machines without the repository's history")
    arguments = parser.parse_args()
    device = arguments.device
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.processor()
    torch.manual_seed(1)
    data = cifar10.dealt(arguments.data, 10, seed=1, most=arguments.images)
    plain = [Alone(own, device) for own in data]
    outcomes: list[fc.Outcome] = []
    steps = PROBE_STEPS + ROUNDS * LOCAL_STEPS
    contests: dict[str, dict[str, Callable[[], object]]] = {
        f"CIFAR-10, 10 × {LOCAL_STEPS} steps": {
            "ours": steps_alone(data, device),
            "PyTorch": lambda: [one.train(LOCAL_STEPS) for one in plain],
        },
        f"CIFAR-10, the whole federation, 10 × {steps} steps": {
            "ours": lambda: outcomes.append(federated(data, device)),
            "PyTorch, everybody alone": lambda: alone(data, device, looks=False),
            "PyTorch, alone, validating": lambda: alone(data, device, looks=True),
        },
    }
    rows = []
    for turn in range(-1, arguments.turns):
        for contest, sides in contests.items():
            for side, work in sides.items():
                taken = seconds(work)
                print(f"turn {turn}: {contest}, {side}: {taken:.3f} s", flush=True)
                # The first turn warms up.
                if turn >= 0:
                    rows.append((contest, side, turn, taken))
    outcome = outcomes[-1]
    accuracies = [figures["test", "accuracy"] for figures in outcome.metrics.values()]
    print(f"{name}: {len(outcome.plan.edges)} edges, accuracy {sum(accuracies) / 10:.3f}")
    if arguments.save:
        told = {
            "command": f"python bench/peers/pytorch/device.py --data DIR --turns {arguments.turns}",
            "commit": arguments.commit or stored.commit(),
            "PyTorch": torch.__version__,
            "processor": name,
            "threads": str(torch.get_num_threads()),
            "images": str(sum(len(labels) for own in data for _, labels in own.values())),
        }
        stored.save(arguments.save, "device", rows, told)


if __name__ == "__main__":
    main()
