"""A hospital's own patients, from its own file."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FEATURES = ["age", "pressure", "sugar", "stay_days", "visits_before"]
LABEL = "came_back"
# Agreed in advance, so that no hospital reveals its own.
MEAN = np.array([60, 135, 105, 6, 2], np.float32)
SPREAD = np.array([15, 18, 25, 3, 1.5], np.float32)
# Of each twelve consecutive patients, the numbers for training and for validation.
TRAINING, VALIDATION, ALL = 3, 3, 12

Rows = tuple[NDArray[np.float32], NDArray[np.float32]]


def read(path: str) -> dict[str, Rows]:
    """Inputs and labels for training, validation and test."""
    file = Path(path)
    if not path or not file.is_file():
        raise FileNotFoundError(
            f'there is no file "{path}": say in the node-config where the data is, data="PATH"'
        )
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    inputs = np.array([[float(row[name]) for name in FEATURES] for row in rows], np.float32)
    labels = np.array([float(row[LABEL]) for row in rows], np.float32)
    inputs = (inputs - MEAN) / SPREAD
    place = np.arange(len(rows)) % ALL
    parts = {
        "training": place < TRAINING,
        "validation": (place >= TRAINING) & (place < TRAINING + VALIDATION),
        "test": place >= TRAINING + VALIDATION,
    }
    return {name: (inputs[chosen], labels[chosen]) for name, chosen in parts.items()}
