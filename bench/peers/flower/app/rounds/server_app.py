"""The server: either strategy, and when each of its rounds of training went out."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
from fedcompetitors.flower import FedCompetitors
from flwr.app import ArrayRecord, Context, Message
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


class Watched:
    """A grid that notes when messages of training are pushed."""

    def __init__(self, grid: Grid) -> None:
        self.grid, self.times = grid, list[float]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.grid, name)

    def note(self, messages: Iterable[Message]) -> list[Message]:
        messages = list(messages)
        if messages:
            said = next(iter(messages[0].content.config_records.values()))
            if said.get("stage", "round") in ("round", "end"):
                self.times.append(time.time())
        return messages

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self.grid.push_messages(self.note(messages))

    def send_and_receive(self, messages: Iterable[Message], **rest: Any) -> Iterable[Message]:
        return self.grid.send_and_receive(self.note(messages), **rest)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run all rounds, and write down when each began."""
    config = context.run_config
    names = str(config["participants"]).split(",")
    arrays = ArrayRecord([np.zeros(int(config["parameters"]), np.float32)])
    rounds = int(config["rounds"])
    watched = Watched(grid)
    if config["strategy"] == "fedavg":
        strategy: FedAvg = FedAvg(
            fraction_evaluate=0.0, min_train_nodes=len(names), min_available_nodes=len(names)
        )
        # Its last round is followed by another one's beginning, as ours is by the end's.
        strategy.start(watched, arrays, num_rounds=rounds + 1)  # type: ignore[arg-type]
    else:
        strategy = FedCompetitors(
            min_train_nodes=len(names),
            min_available_nodes=len(names),
            participants=names,
            run_dir=str(config["run-dir"]),
            settings=fc.Settings(search_rounds=1),
        )
        result = strategy.start(watched, arrays, num_rounds=rounds)  # type: ignore[arg-type]
        assert result.plan is not None and result.plan.edges, "nothing is mixed"
    Path(str(config["times"])).write_text(json.dumps(watched.times))
