"""Personalised mixing of models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedcompetitors import _native
from fedcompetitors.errors import WrongShape

__all__ = ["mix"]


def mix(
    weights: ArrayLike,
    models: Sequence[NDArray[np.float32]],
    out: Sequence[NDArray[np.float32]] | None = None,
) -> list[NDArray[np.float32]]:
    """Give each receiver its own weighted sum of the models.

    The same as ``weights @ numpy.stack(models)``, without the stack: the models are read
    where they lie, and nothing is copied. A weight of 0 leaves a model out, even one
    with NaN values.

    Parameters
    ----------
    weights : array of shape (receivers, models)
        How much each receiver gets of each model.
    models : sequence of arrays
        One-dimensional, contiguous, ``float32``, of one length.
    out : sequence of arrays, optional
        Where to write, one array for each receiver; none may share memory with a model.

    Returns
    -------
    list of arrays
        One for each receiver; those of `out`, where it is given. If Ctrl-C ends the call,
        what is in `out` is unfinished.

    Raises
    ------
    WrongShape, WrongType, NotContiguous, Overlap
        If the arrays do not fit.
    """
    table: NDArray[Any] = np.asarray(weights, dtype=np.float32)
    if table.ndim != 2:
        raise WrongShape(
            f"the weights have {table.ndim} dimensions instead of 2",
            "one row for each receiver, one column for each model",
        )
    return _native.mix(table, list(models), None if out is None else list(out))
