"""What the peers' programs measure, stored as the page of results reads it."""

import csv
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

Row = tuple[str, str, int, float]


def save(folder: Path, name: str, rows: Iterable[Row], told: Mapping[str, str]) -> None:
    """Writes the seconds of every turn to `NAME.csv`, and how they were made to `NAME.txt`."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("what", "side", "turn", "seconds"))
        table.writerows(rows)
    lines = "".join(f"{key}: {value}\n" for key, value in told.items())
    (folder / f"{name}.txt").write_text(lines)


def command(*words: str) -> str:
    """What a command says; nothing, where it cannot."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def commit() -> str:
    return command("git", "describe", "--always", "--dirty")


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(": ")[1] for line in lines if line.startswith("model name"))
