"""The golden cases that the tests in Rust read, too."""

import json
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import pytest
from conftest import ROOT

SELECTION = json.loads((ROOT / "cases/selection.json").read_text())
REFUSED = json.loads((ROOT / "cases/refused.json").read_text())


@pytest.mark.parametrize("case", SELECTION, ids=lambda case: case["title"])
def test_plans_are_as_written(case: dict[str, Any]) -> None:
    competing = fc.CompetingGraph(case["competing"], case["participants"])
    benefit = fc.BenefitGraph(case["benefit"], case["participants"])
    greedy = fc.select(competing, benefit, "greedy")
    assert {(edge.helper, edge.helped) for edge in greedy.edges} == {
        tuple(edge) for edge in case["greedy"]["usage"]
    }
    assert greedy.welfare == pytest.approx(case["greedy"]["welfare"])
    best = fc.select(competing, benefit, time_limit=None)
    assert best.welfare == pytest.approx(case["optimal_welfare"])
    assert best.upper_bound == pytest.approx(case["optimal_welfare"], rel=1e-6)
    for plan in (greedy, best):
        assert fc.verify(competing, plan, plan.certificate) == plan.certificate


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["title"])
def test_what_is_wrong_is_refused_as_written(
    case: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"competing": "competing.csv", "benefit": "benefit.csv", "participants": "participants.txt"}
    for part, name in names.items():
        if part in case:
            Path(name).write_bytes(case[part].encode())
    listed = names["participants"] if "participants" in case else None
    with pytest.raises(fc.FedCompetitorsError) as refused:
        fc.read_graphs(names["competing"], names["benefit"], listed)
    assert str(refused.value) == case["error"]
    assert refused.value.hint
    assert type(refused.value) is not fc.FedCompetitorsError, "each kind has its own"
