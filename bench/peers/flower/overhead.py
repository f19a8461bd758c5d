"""What the strategy costs beside Flower's own FedAvg: seconds of the server itself in a round.

Both strategies run on one grid in this process whose nodes answer at once; what is counted is the
time between a round's beginning and its end less what the grid takes, so neither training nor the
network is in it. What is done while nodes are at work is told apart. `rounds.py` has whole rounds.

    python bench/peers/flower/overhead.py [--nodes 10] [--parameters 10000000]
"""

import os

# Before NumPy is loaded, which reads them once.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "2"
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

sys.path.insert(0, str(Path(__file__).parents[3] / "python/tests"))
from fake_grid import FakeGrid, Node
from fedcompetitors.flower import FedCompetitors


class Timed(FakeGrid):
    """A grid whose nodes have their answers ready; it knows how long it was busy itself."""

    def __init__(self, count: int, parameters: int) -> None:
        super().__init__(
            {at: Node(lambda *_: None, {}, name=f"n{at}") for at in range(1, count + 1)}  # type: ignore[arg-type]
        )
        chance = np.random.default_rng(1)
        self.models = {
            at: chance.standard_normal(parameters, dtype=np.float32) for at in self.nodes
        }
        self.busy = 0.0
        self.sent: float | None = None
        self.meanwhile: list[float] = []
        # When a round of training goes out, and how long the grid was busy until then.
        self.rounds: list[tuple[float, float]] = []

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        messages = list(messages)
        if not messages:
            return []
        begin = time.perf_counter()
        config = next(iter(messages[0].content.config_records.values()))
        if config.get("stage", "round") in ("round", "end"):
            self.rounds.append((begin, self.busy))
        for message in messages:
            self.count += 1
            message.metadata.__dict__["_message_id"] = f"message {self.count}"
            self.replies[message.metadata.message_id] = self.reply(message)
        sent = [message.metadata.message_id for message in messages]
        self.busy += time.perf_counter() - begin
        self.sent = time.perf_counter()
        return sent

    def reply(self, message: Message) -> Message:
        at = message.metadata.dst_node_id
        said = ConfigRecord({"competitors": [f"n{1 + at % len(self.nodes)}"] if at % 3 == 0 else []})
        figures = MetricRecord({"num-examples": 100, "loss-0": 1.0 + at})
        for other in range(1, len(self.nodes)):
            figures[f"loss-{other}"] = 0.5 + at
        content = RecordDict({"config": said, "metrics": figures})
        model = self.models[at]
        if next(iter(message.content.config_records.values())).get("stage") != "weigh":
            # Another one each time, as training would make it.
            model[self.count % model.size] += 1
            content["arrays"] = ArrayRecord([model.copy()])
        return Message(content, reply_to=message)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        begin = time.perf_counter()
        if self.sent is not None:
            # What is done between sending and the first look for answers is done while nodes
            # are at work.
            self.meanwhile.append(begin - self.sent)
            self.busy += begin - self.sent
            self.sent = None
        found = list(super().pull_messages(message_ids))
        self.busy += time.perf_counter() - begin
        return found

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))

    def own_seconds(self) -> tuple[list[float], float]:
        """Of each round but the first: how long it took, less the grid; and what was done while
        nodes were at work, in the middle."""
        pairs = zip(self.rounds[:-1], self.rounds[1:], strict=True)
        own = [end - begin - (busy - before) for (begin, before), (end, busy) in pairs][1:]
        return own, statistics.median(self.meanwhile[-len(own) :])


def fedavg(count: int, parameters: int, rounds: int) -> tuple[list[float], float]:
    grid = Timed(count, parameters)
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=count)
    strategy.start(grid, ArrayRecord([np.zeros(parameters, np.float32)]), num_rounds=rounds + 2)
    return grid.own_seconds()


def fedcompetitors(count: int, parameters: int, rounds: int, folder: Path) -> tuple[list[float], float]:
    grid = Timed(count, parameters)
    strategy = FedCompetitors(
        participants=[f"n{at}" for at in grid.nodes],
        run_dir=folder,
        min_available_nodes=count,
        poll_interval=0.001,
        settings=fc.Settings(policy="greedy", search_rounds=1),
    )
    result = strategy.start(
        grid, ArrayRecord([np.zeros(parameters, np.float32)]), num_rounds=rounds + 1
    )
    assert result.plan is not None and len(result.plan.edges) > count, "hardly anything is mixed"
    return grid.own_seconds()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--parameters", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    shape: tuple[Any, ...] = (arguments.nodes, arguments.parameters, arguments.rounds)
    theirs = fedavg(*shape)
    with tempfile.TemporaryDirectory() as folder:
        ours = fedcompetitors(*shape, Path(folder) / "run")
    for name, (seconds, meanwhile) in (("FedAvg", theirs), ("FedCompetitors", ours)):
        middle, least = statistics.median(seconds), min(seconds)
        print(f"{name}: {middle:.4f} s a round ({least:.4f}), {meanwhile:.4f} s while nodes work")


if __name__ == "__main__":
    main()
