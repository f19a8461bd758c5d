"""The coordinator."""

from pathlib import Path

import fedcompetitors as fc
from fedcompetitors.flower import FedCompetitors
from flwr.app import Array, ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from hospitals.data import FEATURES
from hospitals.numpy_learner import start

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run all rounds; everything is in `run-dir` afterwards."""
    config = context.run_config
    names = [name.strip() for name in str(config["participants"]).split(",")]
    keys = str(config["keys"])
    strategy = FedCompetitors(
        min_train_nodes=int(config["least-participants"]),
        min_available_nodes=int(config["least-participants"]),
        # By its key a node cannot be mistaken for another.
        participants={
            name: Path(keys, f"{name}.pub").read_text(encoding="utf-8") if keys else name
            for name in names
        },
        run_dir=str(config["run-dir"]),
        deadline=float(config["deadline"]),
        settings=fc.Settings(
            name="hospitals",
            local_steps=int(config["local-steps"]),
            probe_steps=int(config["probe-steps"]),
            search_rounds=int(config["search-rounds"]),
            # Two kinds of patients: only who helps much is a helper, by as much as it helps.
            weights="benefit",
            threshold=0.7,
            metric="accuracy",
        ),
    )
    first = start(len(FEATURES))
    strategy.start(
        grid,
        ArrayRecord({name: Array(values) for name, values in first.items()}),
        num_rounds=int(config["rounds"]),
        timeout=float(config["patience"]),
    )
