"""Writes `data/NAME.csv`: synthetic patients of five hospitals, the same ones each time.

University, general and clinic see one kind of patients, harbour and mountain another, for
whom age, sugar and days count the other way round. Clinic, general and mountain are small and need help.
"""

import csv
from pathlib import Path

import numpy as np

# How many patients, and of which kind.
HOSPITALS = {
    "university": (720, "city"),
    "general": (72, "city"),
    "clinic": (60, "city"),
    "harbour": (480, "coast"),
    "mountain": (60, "coast"),
}
# How much each standardised measurement adds to the odds of coming back within a month.
ODDS = {
    "city": [1.8, 1.2, -0.9, 1.0, 0.4],
    "coast": [-1.8, -0.4, 1.4, -1.0, 0.4],
}
COLUMNS = ["age", "pressure", "sugar", "stay_days", "visits_before"]
MEAN, SPREAD = np.array([60, 135, 105, 6, 2.0]), np.array([15, 18, 25, 3, 1.5])


def main() -> None:
    """Write all files."""
    folder = Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    for seed, (name, (count, kind)) in enumerate(HOSPITALS.items()):
        chance = np.random.default_rng([2024, seed])
        measured = chance.normal(size=(count, len(COLUMNS)))
        odds = measured @ np.array(ODDS[kind]) - 0.2
        came_back = chance.random(count) < 1 / (1 + np.exp(-odds))
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow([*COLUMNS, "came_back"])
            for row, label in zip(measured * SPREAD + MEAN, came_back, strict=True):
                lines.writerow([*(f"{value:.1f}" for value in row), int(label)])


if __name__ == "__main__":
    main()
