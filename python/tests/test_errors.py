"""Every kind of error, with its words and its hint."""

import inspect
import pickle
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from conftest import Graphs
from fedcompetitors import _native, errors
from learners import Linear

A = fc.CompetingGraph([], ["a", "b"])
B = fc.BenefitGraph([("a", "b", 1.0)], ["a", "b"])
PLAN = fc.select(A, B)
JSON = PLAN.to_json()
ONE = np.ones(3, np.float32)


def plan(text: str, by: str) -> Callable[[], object]:
    assert text in JSON
    return lambda: fc.Plan.from_json(JSON.replace(text, by))


def file(content: bytes) -> Callable[[], object]:
    def read() -> object:
        Path("competing.csv").write_bytes(b"a,b\n")
        Path("benefit.csv").write_bytes(content)
        return fc.read_graphs("competing.csv", "benefit.csv")

    return read


def federation() -> fc.Federation:
    return fc.Federation({name: Linear(1, 1.0, 5, features=1) for name in ("a", "b")})


def about() -> Any:
    return {
        "name": "two",
        "everything": "",
        "metric": "loss",
        "seed": 1,
        "rounds": 1,
        "policy": "optimal",
        "direction": "lower",
    }


def damaged() -> object:
    Path("run").mkdir()
    Path("run/run.sqlite").write_bytes(b"nothing of ours")
    return fc.audit("run")


def other_format() -> object:
    _native.Ledger.begin("run", about(), A._native, [("", 1)] * 2)
    record = sqlite3.connect("run/run.sqlite")
    record.execute("PRAGMA user_version = 8")
    record.close()
    return fc.audit("run")


def not_writable() -> object:
    Path("run/run.sqlite").mkdir(parents=True)
    return _native.Ledger.begin("run", about(), A._native, [("", 1)] * 2)


def busy() -> object:
    ledger = _native.Ledger.begin("run", about(), A._native, [("", 1)] * 2)
    return ledger, federation().run(np.zeros(1), "run", rounds=1)


def guarded() -> object:
    """What carries b's data must not go to a, whoever asks for it."""
    rivals = fc.CompetingGraph([("a", "b")], ["a", "b"])
    ledger = _native.Ledger.begin("run", about(), rivals._native, [("", 1)] * 2)
    entries = ledger.collect("model", 3, [(ONE, None), (ONE, None)])
    return ledger.deliver(0, "model", ONE, [entry for entry in entries if entry is not None])


CASES: dict[str, Callable[[], object]] = {
    "EmptyName": lambda: fc.CompetingGraph([("", "b")]),
    "NameNotTrimmed": lambda: fc.CompetingGraph([(" a", "b")]),
    "DoubledParticipant": lambda: fc.CompetingGraph([], ["a", "a"]),
    "UnknownParticipant": lambda: fc.CompetingGraph([("a", "x")], ["a", "b"]),
    "CompetesWithItself": lambda: fc.CompetingGraph({"a": ["a"]}),
    "NegativeBenefit": lambda: fc.BenefitGraph([("a", "b", -1)]),
    "NotFiniteBenefit": lambda: fc.BenefitGraph([("a", "b", float("nan"))]),
    "TooLargeBenefit": lambda: fc.BenefitGraph([("a", "b", 1e300)]),
    "BenefitToItself": lambda: fc.BenefitGraph(np.eye(2)),
    "DoubledBenefit": lambda: fc.BenefitGraph([("a", "b", 1), ("a", "b", 1)]),
    "UsesItself": plan('"from": "a"', '"from": "b"'),
    "DoubledUsage": plan(
        '{"from": "a", "to": "b", "benefit": 1.0}',
        '{"from": "a", "to": "b"}, {"from": "a", "to": "b"}',
    ),
    "NotAGraph": lambda: fc.CompetingGraph(7),
    "NoParticipants": lambda: fc.select(fc.CompetingGraph(), fc.BenefitGraph()),
    "TooManyParticipants": lambda: fc.CompetingGraph([], [str(at) for at in range(200_000)]),
    "WrongShape": lambda: fc.BenefitGraph(np.zeros((2, 3))),
    "OtherSize": lambda: fc.BenefitGraph(np.zeros((2, 2)), ["a"]),
    "OtherNames": lambda: fc.BenefitGraph(pd.DataFrame(np.zeros((1, 1)), ["a"], ["b"])),
    "NotABit": lambda: fc.CompetingGraph(np.full((2, 2), 0.5)),
    "UnusableMatrix": file(b"\x93NUMPY\x01\x00nothing"),
    "Unreadable": lambda: fc.read_graphs("no.csv", "no.csv"),
    "NotUtf8": file(b"from,to,benefit\n\xff,b,1\n"),
    "EmptyFile": file(b""),
    "OpenQuote": file(b'from,to,benefit\n"a,b,1\n'),
    "WrongHeader": file(b"a,b\nx,y\n"),
    "WrongFields": file(b"from,to,benefit\na,b\n"),
    "NotANumber": file(b"from,to,benefit\na,b,much\n"),
    "NotJson": lambda: fc.Plan.from_json("[]"),
    "OtherFormat": plan("fedcompetitors-plan/1", "fedcompetitors-plan/9"),
    "WrongSets": lambda: fc.verify(A, PLAN, '{"format": "fedcompetitors-certificate/1", "sets": []}'),
    "UnknownPolicy": lambda: fc.select(A, B, "optimum"),  # type: ignore[arg-type]
    "UnknownObjective": lambda: fc.select(A, B, objective="fair"),  # type: ignore[arg-type]
    "ObjectiveNotServed": lambda: fc.select(A, B, "greedy", objective="max-min"),
    "SamplesMissing": lambda: fc.select(A, B, objective="diminishing"),
    "NotSampleCounts": lambda: fc.select(A, B, objective="diminishing", samples={"a": 10}),
    "NotASetting": lambda: fc.select(A, B, time_limit=-1),
    "TakesPartAlready": lambda: PLAN.join("a", competing=A, benefit=B),
    "HasLeftAlready": lambda: PLAN.leave("a", "a", competing=A, benefit=B),
    "StillCompete": lambda: PLAN.replan(
        competing=fc.CompetingGraph([("a", "b")]), benefit=B, reconciled=[("a", "b")]
    ),
    "RuleBroken": lambda: fc.verify(fc.CompetingGraph([("b", "a")]), PLAN),
    "PastBreaksRule": lambda: PLAN.declare("b", "a", competing=A, benefit=B),
    "CertificateRefused": lambda: fc.verify(
        A, PLAN, fc.select(A, fc.BenefitGraph([], ["a", "b"])).certificate
    ),
    "WrongType": lambda: fc.mix([[1.0]], [np.ones(3)]),  # type: ignore[list-item]
    "NotContiguous": lambda: fc.mix([[1.0]], [np.ones(6, np.float32)[::2]]),
    "Overlap": lambda: fc.mix([[1.0]], [ONE], out=[ONE]),
    "UnusableLearner": lambda: fc.Participant(3),  # type: ignore[arg-type]
    "NoRun": lambda: fc.audit("."),
    "DamagedRun": damaged,
    "OtherRunFormat": other_format,
    "RunExists": lambda: [federation().run(np.zeros(1), "run", rounds=1) for _ in range(2)],
    "OtherRun": lambda: [
        federation().run(np.zeros(1), "run", rounds=rounds, resume=True) for rounds in (1, 2)
    ],
    "RunBusy": busy,
    "RunNotWritable": not_writable,
    "GuardStopped": guarded,
}

# What only Flower can bring about is tested there.
ELSEWHERE = {"DeploymentFailed", "NotAnApp", "TooFewAnswers", "UnknownNode"}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_is_its_own(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fc.FedCompetitorsError) as caught:
        CASES[kind]()
    error = caught.value
    assert type(error).__name__ == kind
    assert isinstance(error, ValueError)
    assert error.hint and str(error)
    assert f"hint: {error.hint}" in "".join(traceback.format_exception(error))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_no_kind_is_untested() -> None:
    kinds = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, fc.FedCompetitorsError)
    }
    # Memory cannot be made scarce for one test.
    assert kinds - set(CASES) - ELSEWHERE == {"FedCompetitorsError", "TooLittleMemory"}


def test_a_leak_is_named_whole(three: Graphs) -> None:
    competing, benefit = three
    nobody = fc.CompetingGraph([], benefit.participants)
    careless = fc.select(nobody, benefit)
    with pytest.raises(fc.errors.RuleBroken) as caught:
        fc.verify(competing, careless)
    assert caught.value.path == ("St Mary", "University", "General")
    assert caught.value.connected_pairs == 1
    assert "St Mary contributes to its competitor General (St Mary says so)" in str(caught.value)
    with pytest.raises(fc.errors.RuleBroken):
        fc.explain(competing, benefit, careless, "St Mary", "University")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fc.CompetingGraph({"a": "bc"}), 'the competitors of "a" are a text'),
        (lambda: fc.CompetingGraph([], "ab"), "the participants are one text"),
        (lambda: fc.CompetingGraph([("a", 3)]), r"expected pairs of names, not \('a', 3\)"),
        (lambda: fc.CompetingGraph({"a": {"b": 0.5}}), "is 0.5 instead of 0 or 1"),
        (lambda: fc.BenefitGraph([("a", "b", "much")]), "is not a number: 'much'"),
        (lambda: fc.BenefitGraph(np.zeros(3)), "is not a matrix of numbers"),
        (lambda: fc.BenefitGraph(nx.Graph([("a", "b")])), "is undirected"),
        (lambda: fc.BenefitGraph(nx.DiGraph([("a", "b")])), "has no benefit"),
    ],
)
def test_what_no_graph_can_be_made_of(make: Callable[[], object], words: str) -> None:
    with pytest.raises(fc.errors.NotAGraph, match=words):
        make()
