"""The competing and the benefit graph, made of whatever Python has at hand.

pandas and networkx are not needed: a table is what has ``index``, ``columns`` and
``to_numpy``, a graph what has ``nodes`` and ``edges``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedcompetitors import _native
from fedcompetitors._native import BenefitGraph as NativeBenefit
from fedcompetitors._native import CompetingGraph as NativeCompeting
from fedcompetitors.errors import FedCompetitorsWarning, NotAGraph, OtherNames

__all__ = ["BenefitGraph", "CompetingGraph", "read_graphs", "united", "warn"]


class CompetingGraph:
    """Who competes with whom: the union of everybody's own reports.

    Parameters
    ----------
    data
        One of

        * pairs of names, the first of which says that it competes with the second,
        * a dict with each participant's own list of competitors,
        * a dict of dicts, or a pandas ``DataFrame``, or a square NumPy matrix (row = who
          reports), of 0 and 1 or of booleans,
        * a networkx graph.
    participants : sequence of str, optional
        All participants, in their order; a name that is not among them is refused. For a
        matrix the names of its rows, without which they are v1, v2, …

    Raises
    ------
    FedCompetitorsError
        For names or edges that cannot be; see `fedcompetitors.errors`.
    """

    __slots__ = ("_native",)
    _native: _native.CompetingGraph

    def __init__(self, data: Any = (), participants: Sequence[str] | None = None) -> None:
        self._native = _competing(data, _listed(participants))

    @classmethod
    def _wrap(cls, native: NativeCompeting) -> CompetingGraph:
        graph = cls.__new__(cls)
        graph._native = native
        return graph

    @property
    def participants(self) -> tuple[str, ...]:
        """The participants, in their order."""
        return tuple(self._native.participants)

    @property
    def reports(self) -> tuple[tuple[str, str], ...]:
        """Every report: who made it, and about whom."""
        return tuple(self._native.reports)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every competing pair once."""
        return tuple(self._native.pairs)

    def competes(self, a: str, b: str) -> bool:
        """Do two participants compete, whoever of them reported it?"""
        return self._native.competes(a, b)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompetingGraph):
            return NotImplemented
        return self._native == other._native

    def __hash__(self) -> int:
        return hash((self.participants, self.reports))

    def __repr__(self) -> str:
        count = len(self._native.participants)
        return f"<CompetingGraph: {count} participants, {len(self._native.pairs)} pairs>"

    def __reduce__(self) -> tuple[object, ...]:
        return (CompetingGraph, (self.reports, self.participants))


class BenefitGraph:
    """Who would help whom, and how much.

    Parameters
    ----------
    data
        One of

        * triples (helper, helped, benefit),
        * a dict from (helper, helped) to the benefit,
        * a dict of dicts: ``data[helper][helped]``,
        * a pandas ``DataFrame`` or a square NumPy matrix: row = helper, column = helped,
        * a networkx ``DiGraph`` whose edges have a ``benefit`` or else a ``weight``.
    participants : sequence of str, optional
        All participants, in their order; a name that is not among them is refused. For a
        matrix the names of its rows, without which they are v1, v2, …

    Raises
    ------
    FedCompetitorsError
        For names or benefits that cannot be; see `fedcompetitors.errors`.
    """

    __slots__ = ("_native",)
    _native: _native.BenefitGraph

    def __init__(self, data: Any = (), participants: Sequence[str] | None = None) -> None:
        self._native = _benefit(data, _listed(participants))

    @classmethod
    def _wrap(cls, native: NativeBenefit) -> BenefitGraph:
        graph = cls.__new__(cls)
        graph._native = native
        return graph

    @property
    def participants(self) -> tuple[str, ...]:
        """The participants, in their order."""
        return tuple(self._native.participants)

    @property
    def edges(self) -> tuple[tuple[str, str, float], ...]:
        """Every edge as (helper, helped, benefit), by the helped."""
        return tuple(self._native.edges)

    def benefit(self, helper: str, helped: str) -> float:
        """What the data of one brings another; 0 where there is no edge."""
        return self._native.benefit(helper, helped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BenefitGraph):
            return NotImplemented
        return self._native == other._native

    def __hash__(self) -> int:
        return hash((self.participants, self.edges))

    def __repr__(self) -> str:
        count = len(self._native.participants)
        return f"<BenefitGraph: {count} participants, {len(self._native.edges)} edges>"

    def __reduce__(self) -> tuple[object, ...]:
        return (BenefitGraph, (self.edges, self.participants))


def read_graphs(
    competing: str | PathLike[str],
    benefit: str | PathLike[str],
    participants: str | PathLike[str] | None = None,
) -> tuple[CompetingGraph, BenefitGraph]:
    """Read both graphs from the files that the program reads: CSV or ``.npy``.

    Parameters
    ----------
    competing, benefit : path
        The files of the two graphs.
    participants : path, optional
        A list of the participants, one name a line; fixes their order.

    Returns
    -------
    competing : CompetingGraph
    benefit : BenefitGraph
    """
    rivals, helpers, mistakes = _native.read_graphs(competing, benefit, participants)
    warn(mistakes, stacklevel=3)
    return _wrapped(rivals, helpers)


def united(
    competing: CompetingGraph, benefit: BenefitGraph
) -> tuple[_native.CompetingGraph, _native.BenefitGraph]:
    """Both graphs over one list of participants; names that may be misspelt are warned of."""
    rivals, helpers, mistakes = _native.unite(competing._native, benefit._native)
    warn(mistakes)
    return rivals, helpers


def warn(mistakes: Iterable[str], stacklevel: int = 4) -> None:
    """Point out what looks like a mistake to whoever called this package, so many calls up."""
    for mistake in mistakes:
        warnings.warn(mistake, FedCompetitorsWarning, stacklevel=stacklevel)


def _wrapped(
    rivals: _native.CompetingGraph, helpers: _native.BenefitGraph
) -> tuple[CompetingGraph, BenefitGraph]:
    return CompetingGraph._wrap(rivals), BenefitGraph._wrap(helpers)


def _competing(data: Any, participants: list[str] | None) -> _native.CompetingGraph:
    if _is_table(data):
        names, matrix = _of_table(data)
        graph = _native.CompetingGraph.from_matrix(names, matrix)
        return _relisted(graph, participants)
    if isinstance(data, np.ndarray):
        return _native.CompetingGraph.from_matrix(participants, _matrix(data))
    if _is_networkx(data):
        nodes = participants if participants is not None else _names(data.nodes)
        # Without a direction nobody knows who said so: both did.
        both = not data.is_directed()
        reports = [(str(a), str(b)) for a, b in data.edges()]
        reports += [(b, a) for a, b in reports] if both else []
        return _native.CompetingGraph(nodes, reports)
    if isinstance(data, Mapping):
        reports = []
        for a, rivals in data.items():
            if isinstance(rivals, Mapping):
                reports += [(a, b) for b, competes in rivals.items() if _bit(a, b, competes)]
            elif isinstance(rivals, str):
                raise NotAGraph(
                    f'the competitors of "{a}" are a text', f'write {{"{a}": ["{rivals}"]}}'
                )
            elif isinstance(rivals, Iterable):
                reports += [(a, b) for b in rivals]
            else:
                raise NotAGraph(
                    f'the competitors of "{a}" are not a list, but {rivals!r}', "give a list of names"
                )
        reports = _tuples(reports, 2, "pairs of names")
        return _native.CompetingGraph(_listed(_and_keys(data, participants, reports)), reports)
    return _native.CompetingGraph(participants, _tuples(data, 2, "pairs of names"))


def _benefit(data: Any, participants: list[str] | None) -> _native.BenefitGraph:
    if _is_table(data):
        names, matrix = _of_table(data)
        graph = _native.BenefitGraph.from_matrix(names, matrix)
        return graph if participants is None else _native.BenefitGraph(participants, graph.edges)
    if isinstance(data, np.ndarray):
        return _native.BenefitGraph.from_matrix(participants, _matrix(data))
    if _is_networkx(data):
        if not data.is_directed():
            raise NotAGraph(
                "the graph is undirected, but a benefit has a direction",
                "use networkx.DiGraph; an edge points from the helper to the helped",
            )
        nodes = participants if participants is not None else _names(data.nodes)
        edges = [(str(a), str(b), _weight(a, b, values)) for a, b, values in data.edges(data=True)]
        return _native.BenefitGraph(nodes, edges)
    if isinstance(data, Mapping):
        edges = []
        for key, value in data.items():
            if isinstance(value, Mapping):
                edges += [(key, helped, benefit) for helped, benefit in value.items()]
            elif isinstance(key, tuple):
                edges.append((*key, value))
            else:
                # As for pairs in a list: neither a text nor a set is one.
                raise NotAGraph(
                    f"{key!r} is not a pair of names",
                    f'write {{("helper", "helped"): {value!r}}}',
                )
        data = edges
    return _native.BenefitGraph(participants, _tuples(data, 3, "triples (helper, helped, benefit)"))


def _listed(participants: Sequence[str] | None) -> list[str] | None:
    if isinstance(participants, str):
        raise NotAGraph("the participants are one text", "give a list of names")
    if participants is None:
        return None
    if not isinstance(participants, Iterable):
        raise NotAGraph(f"{participants!r} is not a list of participants", "give a list of names")
    names = list(participants)
    for name in names:
        if not isinstance(name, str):
            raise NotAGraph(f"{name!r} is not the name of a participant", "give a text")
    return names


def _names(nodes: Iterable[object]) -> list[str]:
    return [str(node) for node in nodes]


def _tuples(data: Any, size: int, what: str) -> list[Any]:
    hint = f"give {what}, a dict, a matrix, a DataFrame or a networkx graph"
    rows = []
    try:
        for row in data:
            # A text of two letters would pass for two names, and a set has no first.
            if isinstance(row, (str, Set)):
                raise NotAGraph(f"expected {what}, not {row!r}", hint)
            rows.append(tuple(row))
    except TypeError:
        raise NotAGraph(f"cannot make a graph of {type(data).__name__}", hint) from None
    for row in rows:
        names = row[:2]
        if len(row) != size or not all(isinstance(name, str) for name in names):
            raise NotAGraph(f"expected {what}, not {row!r}", hint)
        if size == 3 and not isinstance(row[2], (int, float, np.integer, np.floating)):
            raise NotAGraph(
                f'the benefit from "{row[0]}" to "{row[1]}" is not a number: {row[2]!r}',
                "write a finite number that is at least 0",
            )
    return rows


def _and_keys(
    data: Mapping[str, object], participants: list[str] | None, reports: list[Any]
) -> list[str] | None:
    """Whoever reports that it competes with nobody takes part, too."""
    if participants is not None or all(data.values()):
        return participants
    return list(dict.fromkeys([*data, *(name for report in reports for name in report)]))


def _bit(a: str, b: str, value: object) -> bool:
    if value in (0, 1):
        return bool(value)
    raise NotAGraph(f'the entry for "{a}" and "{b}" is {value!r} instead of 0 or 1', "write 0 or 1")


def _matrix(data: NDArray[Any]) -> NDArray[np.float64]:
    if data.ndim != 2 or data.dtype.kind not in "biuf":
        raise NotAGraph(
            f"an array of type {data.dtype} with {data.ndim} dimensions is not a matrix of numbers",
            "give an n × n array of numbers",
        )
    return data.astype(np.float64, copy=False)


def _is_table(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("index", "columns", "to_numpy"))


def _of_table(data: Any) -> tuple[list[str], NDArray[np.float64]]:
    rows, columns = _names(data.index), _names(data.columns)
    if sorted(rows) != sorted(columns):
        odd = sorted(set(rows) ^ set(columns))
        raise OtherNames(
            f"the rows and columns of the table have different names: {', '.join(odd)}",
            "name every participant once in the index and once in the columns",
        )
    matrix = _matrix(np.asarray(data.to_numpy()))
    order = [columns.index(name) for name in rows] if rows != columns else slice(None)
    return rows, np.ascontiguousarray(matrix[:, order])


def _relisted(
    graph: _native.CompetingGraph, participants: list[str] | None
) -> _native.CompetingGraph:
    return graph if participants is None else _native.CompetingGraph(participants, graph.reports)


def _is_networkx(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("nodes", "edges", "is_directed"))


def _weight(helper: object, helped: object, values: Mapping[str, Any]) -> float:
    for name in ("benefit", "weight"):
        if name in values:
            return float(values[name])
    raise NotAGraph(
        f'the edge from "{helper}" to "{helped}" has no benefit',
        'add it as the edge\'s attribute "benefit" or "weight"',
    )
