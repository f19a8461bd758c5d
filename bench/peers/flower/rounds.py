"""Whole rounds over TLS on one machine, with FedCompetitors and with Flower's FedAvg, in turns.

The same nodes, models of the same size, hardly any training, one exchange a round on both sides. A
round is from one message of training to the next, all that strategy, link, network and nodes do.

    python bench/peers/flower/rounds.py [--save DIR] [--nodes 5] [--parameters 1000000]
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
from pathlib import Path

import flwr
from fedcompetitors.flower import LocalDeployment

sys.path.insert(0, str(Path(__file__).parents[1]))
import stored

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, help="a folder for flower-rounds.csv")
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--parameters", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--turns", type=int, default=2)
    arguments = parser.parse_args()
    # Whoever ends this ends the link and the nodes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = [f"n{at}" for at in range(1, arguments.nodes + 1)]
    what = f"Flower round, {arguments.nodes} nodes, {arguments.parameters} parameters"
    # FedAvg looks for answers every three seconds. With as many looks as ours what is left between the two is work.
    sides = {"ours": "fedcompetitors", "FedAvg": "fedavg", "FedAvg, as many looks": "fedavg-eager"}
    rows: list[stored.Row] = []
    with tempfile.TemporaryDirectory() as folder, LocalDeployment(folder) as local:
        for name in names:
            local.add_node(name, {"output": str(Path(folder) / f"of-{name}")})
        local.wait_for_nodes(names)
        for turn in range(arguments.turns):
            for side, strategy in sides.items():
                times = Path(folder) / f"{strategy}-{turn}.json"
                run = local.submit(
                    HERE / "app",
                    {
                        "strategy": strategy,
                        "participants": ",".join(names),
                        "parameters": arguments.parameters,
                        "rounds": arguments.rounds,
                        "run-dir": str(Path(folder) / f"run-{turn}"),
                        "times": str(times),
                    },
                )
                local.wait(run)
                began = json.loads(times.read_text())
                # The first round pays for whatever is done once.
                taken = [b - a for a, b in zip(began[1:], began[2:], strict=False)]
                print(side, [round(one, 2) for one in taken], flush=True)
                rows += [(what, side, len(rows) + at, one) for at, one in enumerate(taken)]
    for side in sides:
        print(f"{side}: {statistics.median(row[3] for row in rows if row[1] == side):.2f} s")
    if arguments.save:
        told = {
            "command": f"python bench/peers/flower/rounds.py --nodes {arguments.nodes} "
            f"--parameters {arguments.parameters} --rounds {arguments.rounds} "
            f"--turns {arguments.turns}",
            "commit": stored.commit(),
            "Flower": flwr.__version__,
            "processor": stored.processor(),
            "threads": "2",
        }
        stored.save(arguments.save, "flower-rounds", rows, told)


if __name__ == "__main__":
    main()
