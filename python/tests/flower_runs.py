"""Five hospitals on a fake grid, for tests of the Flower strategy."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
from fake_grid import FakeGrid, Node, said
from fedcompetitors.flower import FedCompetitors, FedCompetitorsResult, client_app
from flwr.app import ArrayRecord, Message
from learners import five

NAMES = list(five())
RIVALS = {"a": ["c"], "d": ["b"]}


def nodes(
    rivals: dict[str, list[str]] = RIVALS, learners: dict[str, Any] | None = None
) -> dict[int, Node]:
    everybody = learners or five()
    app = client_app(lambda context: everybody[str(context.node_config["participant"])])
    return {
        at: Node(
            app,
            {"participant": name, "competitors": ", ".join(rivals.get(name, []))},
            name=f"{name} hospital",
        )
        for at, name in enumerate(NAMES, start=11)
    }


def strategy(folder: Path, **options: Any) -> FedCompetitors:
    settings = fc.Settings(probe_steps=200, **options.pop("settings", {}))
    given = {
        "participants": {name: f"{name} hospital" for name in NAMES},
        "run_dir": folder,
        "deadline": 0.2,
        "poll_interval": 0.01,
        "settings": settings,
    }
    return FedCompetitors(**{**given, **options})


def start(of: FedCompetitors, grid: FakeGrid, rounds: int = 6) -> FedCompetitorsResult:
    return of.start(grid, ArrayRecord([np.zeros((5, 1), np.float32)]), num_rounds=rounds)


def incidents(folder: Path) -> list[tuple[int, str, str]]:
    with sqlite3.connect(folder / "run.sqlite") as database:
        rows = database.execute(
            "SELECT round, name, kind FROM incidents JOIN participants"
            " ON participants.id = participant ORDER BY incidents.id"
        )
        return list(rows)


def in_round(number: int, what: Any) -> Callable[[int, Message], Any]:
    def fault(asked: int, message: Message) -> Any:
        record = said(message)
        is_there = record["stage"] == "round" and record["server-round"] == number
        return what if is_there else None

    return fault


def with_b_coming_in(number: int) -> FakeGrid:
    """A grid on which b is not there until that round."""
    grid = FakeGrid(nodes())
    grid.nodes[12].online = False

    def comes(asked: int, message: Message) -> None:
        if said(message)["server-round"] == number and said(message)["stage"] == "round":
            grid.nodes[12].online = True

    grid.nodes[11].fault = comes
    return grid
