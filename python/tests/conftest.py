"""What the tests share."""

import os
from collections.abc import Generator
from pathlib import Path

# Flower is to tell nobody of a test, and to ask nobody for a newer version.
os.environ.update(FLWR_TELEMETRY_ENABLED="0", FLWR_DISABLE_UPDATE_CHECK="1")

import fedcompetitors as fc
import pytest

ROOT = Path(__file__).parents[2]

# How many times as often random tests repeat with FEDCOMPETITORS_LONG=1, as in Rust.
LONG = 100


def repeat(count: int) -> int:
    """The number of repetitions: `count`, or `LONG` times as many for a long run."""
    return count * LONG if os.environ.get("FEDCOMPETITORS_LONG", "0") != "0" else count


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing is skipped for want of a part: such a test fails."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for whole modules."""
    report = yield
    if os.environ.get("CI") and report.skipped:
        report.outcome = "failed"
    return report
