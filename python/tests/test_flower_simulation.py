"""Ten participants in Flower's simulation, where nodes are believed who they are."""

from pathlib import Path

import fedcompetitors as fc
import numpy as np
import pytest
from learners import Linear

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")
pytest.importorskip(
    "ray", reason="Flower's simulation is not installed: pip install 'flwr[simulation]==1.41.*'"
)

from fedcompetitors.flower import FedCompetitors, FedCompetitorsResult, client_app
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

COUNT = 10
NAMES = [f"v{at}" for at in range(COUNT)]
RIVALS = {"v0": ["v2"], "v1": ["v4", "v6"], "v3": ["v9"]}


def name_of(context: Context) -> str:
    return NAMES[int(context.node_config["partition-id"])]


# Two kinds, large ones and small ones of each.
def learner_of(context: Context) -> Linear:
    at = int(context.node_config["partition-id"])
    return Linear(at, 1.0 if at % 2 else -1.0, 100 if at < 4 else 10)


# Ray leaves files and sockets open.
@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning",
    "ignore:subprocess .* is still running:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)
def test_ten_participants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Ray warns of a change to come unless it is told which way it is to be.
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    results: list[FedCompetitorsResult] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = FedCompetitors(
            participants=NAMES,
            run_dir=tmp_path / "run",
            trust_claims=True,
            min_available_nodes=COUNT,
            # If Ray does not start, nobody ever answers.
            deadline=60,
            settings=fc.Settings(probe_steps=100, local_steps=5),
        )
        start = ArrayRecord([np.zeros(5, np.float32)])
        results.append(strategy.start(grid, start, num_rounds=3))

    run_simulation(
        server,
        client_app(
            learner_of,
            participant=name_of,
            competitors=lambda context: RIVALS.get(name_of(context), []),
        ),
        num_supernodes=COUNT,
    )
    (result,) = results
    assert set(result.models) == set(result.metrics) == set(NAMES)
    assert result.plan is not None and result.plan.edges
    found = fc.audit(tmp_path / "run", fc.CompetingGraph(RIVALS, NAMES))
    assert (found.status, found.findings) == ("complete", ())
