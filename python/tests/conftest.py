"""What the tests share."""

from pathlib import Path

import fedcompetitors as fc
import pytest

ROOT = Path(__file__).parents[2]

Graphs = tuple[fc.CompetingGraph, fc.BenefitGraph]


@pytest.fixture
def hospitals() -> Graphs:
    """The example with eight hospitals."""
    folder = ROOT / "examples/hospitals"
    return fc.read_graphs(folder / "competing.csv", folder / "benefit.csv")


@pytest.fixture
def three() -> Graphs:
    """St Mary and General compete; University could carry data from one to the other."""
    competing = fc.CompetingGraph([("St Mary", "General")])
    benefit = fc.BenefitGraph(
        [
            ("St Mary", "University", 0.4),
            ("General", "University", 0.2),
            ("University", "General", 0.3),
        ]
    )
    return competing, benefit
