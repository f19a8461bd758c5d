"""What can be chosen by name."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from typing import Any

from fedcompetitors import _native
from fedcompetitors.errors import NotASetting

__all__ = ["default_settings", "entries"]


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
    return {entry["name"]: entry["help"] for entry in _listing(kind)["entries"]}


def default(kind: str) -> str:
    """The entry of a kind that a federation file has by default."""
    return str(_listing(kind)["default"])


def default_settings(kind: str, name: str) -> dict[str, Any]:
    """List the settings of what can be chosen by name, with their defaults.

    Parameters
    ----------
    kind : str
        As in `entries`. Estimators and trainers have settings.
    name : str
        An entry of that kind.

    Returns
    -------
    dict
        The settings by name, in the order of ``docs/methods.md``, with ``_`` where a federation
        file has ``-``; None where there is no value by default.

    Raises
    ------
    NotASetting
        If there is no such kind, or no such entry of it.

    Examples
    --------
    >>> import fedcompetitors as fc
    >>> fc.default_settings("trainer", "mixing")["weights"]
    'samples'
    """
    listed = {entry["name"]: entry["settings"] for entry in _listing(kind)["entries"]}
    if name not in listed:
        raise NotASetting(f'the {kind} "{name}" is unknown', f"one of {', '.join(listed)}")
    return {one["name"].replace("-", "_"): _value(one["default"]) for one in listed[name]}


def _value(toml: str | None) -> Any:
    return None if toml is None else tomllib.loads(f"value = {toml}")["value"]


def _listing(kind: str) -> dict[str, Any]:
    listings = _listings()
    if kind not in listings:
        raise NotASetting(f'the kind "{kind}" is unknown', f"one of {', '.join(listings)}")
    return listings[kind]


@cache
def _listings() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in json.loads(_native.listings())}
