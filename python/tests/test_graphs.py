"""Graphs from every form that they may come in."""

import pickle
from collections.abc import Callable

import fedcompetitors as fc
import networkx as nx
import numpy as np
import pandas as pd
import pytest

NAMES = ["a", "b", "c"]
COMPETING = fc.CompetingGraph([("c", "a")], NAMES)
BENEFIT = fc.BenefitGraph([("a", "b", 0.5), ("b", "c", 0.25)], NAMES)
BITS = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]])
VALUES = np.array([[0, 0.5, 0], [0, 0, 0.25], [0, 0, 0]])


@pytest.mark.parametrize(
    "data",
    [
        [("c", "a")],
        iter([["c", "a"]]),
        {"c": ["a"]},
        {"c": {"a": 1, "b": 0}},
        {"c": {"a": True}},
        BITS,
        BITS.astype(bool),
        BITS.astype(np.uint8).T.T,
        pd.DataFrame(BITS, NAMES, NAMES),
        pd.DataFrame(BITS, NAMES, NAMES)[["c", "a", "b"]],
        nx.DiGraph([("c", "a")]),
    ],
)
def test_competing_graphs(data: object) -> None:
    graph = fc.CompetingGraph(data, NAMES)
    assert graph == COMPETING
    assert graph.pairs == (("a", "c"),)
    assert graph.reports == (("c", "a"),)
    assert graph.competes("a", "c") and not graph.competes("a", "b")


@pytest.mark.parametrize(
    "data",
    [
        [("a", "b", 0.5), ("b", "c", 0.25)],
        np.array([("a", "b", 0.5), ("b", "c", 0.25)], dtype=object).tolist(),
        {("a", "b"): 0.5, ("b", "c"): 0.25},
        {"a": {"b": 0.5}, "b": {"c": np.float32(0.25)}},
        VALUES,
        VALUES.astype(np.float32),
        np.asfortranarray(VALUES),
        pd.DataFrame(VALUES, NAMES, NAMES),
        pd.DataFrame(VALUES, NAMES, NAMES)[["c", "a", "b"]],
        nx.DiGraph([("a", "b", {"benefit": 0.5}), ("b", "c", {"weight": 0.25})]),
    ],
)
def test_benefit_graphs(data: object) -> None:
    graph = fc.BenefitGraph(data, NAMES)
    assert graph == BENEFIT
    assert graph.edges == (("a", "b", 0.5), ("b", "c", 0.25))
    assert graph.benefit("a", "b") == 0.5 and graph.benefit("b", "a") == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fc.CompetingGraph(["ab"]), "expected pairs of names, not 'ab'"),
        (lambda: fc.CompetingGraph("ab"), "expected pairs of names, not 'a'"),
        (lambda: fc.CompetingGraph([{"a"}]), "expected pairs of names, not {'a'}"),
        (lambda: fc.CompetingGraph({"a": 1}), 'the competitors of "a" are not a list, but 1'),
        (lambda: fc.CompetingGraph({"a": [1]}), r"expected pairs of names, not \('a', 1\)"),
        (lambda: fc.CompetingGraph({1: {"b": 1}}), r"expected pairs of names, not \(1, 'b'\)"),
        (lambda: fc.CompetingGraph({1: []}), "1 is not the name of a participant"),
        (lambda: fc.CompetingGraph([], [1]), "1 is not the name of a participant"),  # type: ignore[list-item]
        (lambda: fc.CompetingGraph([], 1), "1 is not a list of participants"),  # type: ignore[arg-type]
        (lambda: fc.BenefitGraph(["abc"]), "expected triples .*, not 'abc'"),
        (lambda: fc.BenefitGraph({"ab": 0.5}), "'ab' is not a pair of names"),
        (lambda: fc.BenefitGraph({1: 0.5}), "1 is not a pair of names"),
        (lambda: fc.BenefitGraph({frozenset("a"): 0.5}), "is not a pair of names"),
        (lambda: fc.BenefitGraph({("a",): 0.5}), "expected triples "),
    ],
)
def test_what_is_no_pair_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(fc.errors.NotAGraph, match=words) as caught:
        make()
    assert caught.value.hint


def test_names_of_two_letters_are_names() -> None:
    assert fc.CompetingGraph([("ab", "cd")]).reports == (("ab", "cd"),)
    assert fc.CompetingGraph({"ab": ("cd",)}).reports == (("ab", "cd"),)
    assert fc.CompetingGraph({"ab": {"cd"}}).reports == (("ab", "cd"),)
    assert fc.BenefitGraph({("ab", "cd"): 0.5}).edges == (("ab", "cd", 0.5),)
    assert fc.BenefitGraph({"ab": {"cd": 0.5}}).edges == (("ab", "cd", 0.5),)


def test_names_are_taken_from_what_has_them() -> None:
    assert fc.CompetingGraph(BITS).participants == ("v1", "v2", "v3")
    assert fc.BenefitGraph(pd.DataFrame(VALUES, NAMES, NAMES)).participants == ("a", "b", "c")
    lonely = nx.Graph()
    lonely.add_nodes_from(["x", "y"])
    assert fc.CompetingGraph(lonely).participants == ("x", "y")
    assert fc.CompetingGraph({"x": [], "y": ["z"]}).participants == ("x", "y", "z")


def test_without_a_direction_both_report() -> None:
    assert fc.CompetingGraph(nx.Graph([("a", "b")])).reports == (("a", "b"), ("b", "a"))


def test_those_of_both_graphs_take_part() -> None:
    competing = fc.CompetingGraph([("c", "d")])
    plan = fc.select(competing, fc.BenefitGraph([("b", "a", 1), ("c", "d", 1), ("d", "a", 1)]))
    assert plan.participants == ("b", "a", "c", "d")
    listed = fc.BenefitGraph([("b", "a", 1)], ["a", "b"])
    with pytest.raises(fc.errors.UnknownParticipant, match='"c" is unknown'):
        fc.select(competing, listed)


def test_a_competitor_that_may_be_misspelt_is_warned_of() -> None:
    competing = fc.CompetingGraph([("Genral", "City")])
    benefit = fc.BenefitGraph([("General", "City", 0.5)])
    with pytest.warns(fc.FedCompetitorsWarning, match="Genral") as caught:
        fc.select(competing, benefit)
    assert caught[0].filename == __file__, "it points to the caller"


def test_graphs_can_be_pickled_and_are_keys() -> None:
    for graph in (COMPETING, BENEFIT):
        assert pickle.loads(pickle.dumps(graph)) == graph
        assert {graph: 1}[graph] == 1
    assert repr(COMPETING) == "<CompetingGraph: 3 participants, 1 pairs>"
    assert COMPETING != BENEFIT
