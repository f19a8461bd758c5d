"""What can be chosen by name."""

from __future__ import annotations

import json

from fedcompetitors import _native
from fedcompetitors.errors import NotASetting

__all__ = ["entries"]


def entries(kind: str) -> dict[str, str]:
    """List what can be chosen by name.

    Parameters
    ----------
    kind : str
        ``rule``, ``metric``, ``model``, ``estimator``, ``policy``, ``objective``, ``trainer`` or
        ``method``.

    Returns
    -------
    dict of str to str
        The names, each with a sentence about it, in the order in which `compare` and the command
        line list them.

    Examples
    --------
    >>> import fedcompetitors as fc
    >>> "greedy" in fc.entries("policy")
    True
    """
    listings = {one["kind"]: one["entries"] for one in json.loads(_native.listings())}
    if kind not in listings:
        raise NotASetting(f'the kind "{kind}" is unknown', f"one of {', '.join(listings)}")
    return {entry["name"]: entry["help"] for entry in listings[kind]}
