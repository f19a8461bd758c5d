"""Personalised mixing beside NumPy: 10 models of 10 million parameters for 10 receivers.

Both sides use two threads and take turns in one run. NumPy multiplies a matrix of the models, which
it must have in one piece: what that costs is a row of its own, and not part of its product.

    python bench/peers/numpy/mixing.py [--save DIR] [--turns 9] [--parameters 10000000]
"""

import os

# Before NumPy is loaded, which reads them once.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "2"

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fedcompetitors
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import stored


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, help="a folder for mixing.csv")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--receivers", type=int, default=10)
    parser.add_argument("--parameters", type=int, default=10_000_000)
    arguments = parser.parse_args()

    chance = np.random.default_rng(1)
    models = [
        chance.standard_normal(arguments.parameters, dtype=np.float32)
        for _ in range(arguments.models)
    ]
    weights = chance.dirichlet(np.ones(arguments.models), arguments.receivers).astype(np.float32)
    stack = np.stack(models)
    ours = [np.zeros(arguments.parameters, np.float32) for _ in range(arguments.receivers)]
    theirs = np.zeros((arguments.receivers, arguments.parameters), np.float32)

    what = f"mix {arguments.models} models of {arguments.parameters} for {arguments.receivers}"
    contests: dict[str, dict[str, Callable[[], object]]] = {
        f"{what}, new memory": {
            "ours": lambda: fedcompetitors.mix(weights, models),
            "NumPy": lambda: weights @ stack,
        },
        f"{what}, into given memory": {
            "ours": lambda: fedcompetitors.mix(weights, models, out=ours),
            "NumPy": lambda: np.matmul(weights, stack, out=theirs),
        },
        "stack the models": {"NumPy": lambda: np.stack(models)},
    }
    rows = []
    for turn in range(-1, arguments.turns):
        for contest, sides in contests.items():
            for side, work in sides.items():
                taken = seconds(work)
                # The first turn warms up.
                if turn >= 0:
                    rows.append((contest, side, turn, taken))
    difference = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    print(f"largest difference {difference:.1e}; seconds, median of {arguments.turns} (least)")
    for contest, sides in contests.items():
        for side in sides:
            times = [row[3] for row in rows if row[:2] == (contest, side)]
            print(f"{contest}, {side}: {statistics.median(times):.4f} ({min(times):.4f})")
    if arguments.save:
        told = {
            "command": " ".join(["python", *sys.argv]),
            "commit": stored.commit(),
            "compiler": stored.command("rustc", "--version"),
            "NumPy": np.__version__,
            "processor": stored.processor(),
            "threads": "2",
        }
        stored.save(arguments.save, "mixing", rows, told)


if __name__ == "__main__":
    main()
