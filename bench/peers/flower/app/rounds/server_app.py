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

# As FedCompetitors does.
LOOK_EVERY = 0.2


class Watched:
    """A grid that notes when messages of training are pushed, and may look for answers more often."""

    def __init__(self, grid: Grid, is_eager: bool) -> None:
        self.grid, self.times, self.is_eager = grid, list[float](), is_eager

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
        if not self.is_eager:
            return self.grid.send_and_receive(self.note(messages), **rest)
        waiting = set(self.push_messages(messages))
        answers: list[Message] = []
        while waiting:
            found = list(self.grid.pull_messages(waiting))
            answers += found
            waiting -= {answer.metadata.reply_to_message_id for answer in found}
            if waiting:
                time.sleep(LOOK_EVERY)
        return answers


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run all rounds, and write down when each began."""
    config = context.run_config
    names = str(config["participants"]).split(",")
    arrays = ArrayRecord([np.zeros(int(config["parameters"]), np.float32)])
    rounds = int(config["rounds"])
    watched = Watched(grid, config["strategy"] == "fedavg-eager")
    if str(config["strategy"]).startswith("fedavg"):
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
