"""Requests and answers as Flower's messages.

| record | what |
|---|---|
| ``arrays`` | models, each one as the arrays of the server's `initial_arrays` |
| ``config`` | ``stage``, ``server-round`` and what else is in `OWN_KEYS`; the participant's own account |
| ``metrics`` | ``num-examples``, ``loss-N``, and figures as ``validation-accuracy`` |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Any, cast

import numpy as np
import numpy.lib.format as npy
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from numpy.typing import NDArray

from fedcompetitors._participants import Answer, Parameters, Request

SPLITS = ("training", "validation", "test")

# More than anybody has, and less than would overflow anything.
_MOST_SAMPLES = 2**53

# What requests say by themselves; all else is the server's `train_config`.
OWN_KEYS = {"stage", "server-round", "is-mixture", "steps", "models", "plan", "replaces"}

Shapes = Sequence[tuple[str, list[int]]]


def shapes_of(record: ArrayRecord) -> list[tuple[str, list[int]]]:
    """The names and shapes of a model's arrays, in order."""
    return [(key, [int(size) for size in array.shape]) for key, array in record.items()]


def flat(record: ArrayRecord) -> Parameters:
    """A model as one row of numbers."""
    rows = [np.asarray(_numbers(array), np.float32).ravel() for array in record.values()]
    if len(rows) == 1:
        return np.ascontiguousarray(rows[0])
    return np.concatenate(rows) if rows else np.zeros(0, np.float32)


def arrays(parameters: Parameters, shapes: Shapes) -> ArrayRecord:
    """One row of numbers as a model's arrays."""
    record, begin = {}, 0
    for key, shape in shapes:
        end = begin + int(np.prod(shape, dtype=np.int64))
        record[key] = _array(parameters[begin:end], shape)
        begin = end
    return ArrayRecord(record)


# Flower's own way there and back copies every number several times, which for ten models of
# 40 MB is a second or two of each round. The bytes are the same.


def _array(numbers: Parameters, shape: Sequence[int]) -> Array:
    head = BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}
    npy.write_array_header_1_0(head, about)
    data = b"".join([head.getvalue(), np.ascontiguousarray(numbers, "<f4").data.cast("B")])
    return Array("float32", tuple(shape), "numpy.ndarray", data)


def _numbers(array: Array) -> NDArray[Any]:
    if array.stype == "numpy.ndarray":
        head = BytesIO(array.data[:_LONGEST_HEAD])
        if npy.read_magic(head) == (1, 0):
            shape, is_fortran, kind = npy.read_array_header_1_0(head)
            if kind == np.dtype("<f4") and not is_fortran and len(array.data) == (
                head.tell() + 4 * math.prod(shape)
            ):
                return np.frombuffer(array.data, kind, offset=head.tell()).reshape(shape)
    return array.numpy()


_LONGEST_HEAD = 10 + 65535


def request_record(
    request: Request, shapes: Shapes, config: ConfigRecord, keys: tuple[str, str]
) -> RecordDict:
    """A request as the content of a message."""
    arrays_key, config_key = keys
    # One record for each message: Flower's own would be shared between all of them.
    said = ConfigRecord(dict(config))
    said["stage"] = request.stage
    said["server-round"] = request.number
    said["is-mixture"] = request.is_mixture
    said["steps"] = request.steps
    said["models"] = len(request.models)
    if request.plan:
        said["plan"] = request.plan
    if request.replaces:
        said["replaces"] = True
    content = RecordDict({config_key: said, arrays_key: arrays(request.models[0], shapes)})
    for at, model in enumerate(request.models[1:], start=1):
        content[f"{arrays_key}-{at}"] = arrays(model, shapes)
    return content


def read_config(content: RecordDict) -> dict[str, Any]:
    """What the server's `train_config` says."""
    said = next(iter(content.config_records.values()))
    return {key: value for key, value in said.items() if key not in OWN_KEYS}


def read_request(content: RecordDict) -> tuple[Request, list[tuple[str, list[int]]]]:
    """What a message asks, and the shapes of the arrays in it."""
    said = next(iter(content.config_records.values()))
    models = [flat(record) for _, record in sorted(content.array_records.items(), key=_place)]
    shapes = shapes_of(min(content.array_records.items(), key=_place)[1])
    request = Request(
        stage=cast(Any, str(said["stage"])),
        number=int(cast(int, said["server-round"])),
        models=models,
        is_mixture=bool(said["is-mixture"]),
        steps=int(cast(int, said["steps"])),
        plan=str(said.get("plan", "")),
        replaces=bool(said.get("replaces", False)),
    )
    return request, shapes


def _place(item: tuple[str, ArrayRecord]) -> tuple[int, str]:
    key = item[0]
    tail = key.rpartition("-")[2]
    return (int(tail) if tail.isdigit() else 0, key)


def answer_record(
    answer: Answer, shapes: Shapes, participant: str, weighted_by_key: str
) -> RecordDict:
    """An answer as the content of a message."""
    metrics: dict[str, int | float | list[int] | list[float]] = {weighted_by_key: answer.samples}
    for at, loss in enumerate(answer.losses):
        metrics[f"loss-{at}"] = loss
    for (split, name), value in answer.metrics.items():
        metrics[f"{split}-{name}"] = value
    said = ConfigRecord(
        {
            "participant": participant,
            "tells-gradients": answer.tells_gradients,
            "has-taken": answer.has_taken,
            "leaves": answer.leaves,
        }
    )
    if answer.competitors is not None:
        said["competitors"] = list(answer.competitors)
    content = RecordDict({"config": said, "metrics": MetricRecord(metrics)})
    if answer.model is not None:
        content["arrays"] = arrays(answer.model, shapes)
    return content


def read_answer(content: RecordDict, weighted_by_key: str) -> tuple[Answer, str]:
    """What a message answers, and whose it claims to be.

    Raises
    ------
    KeyError, ValueError, TypeError, …
        If it is no answer.
    """
    said = next(iter(content.config_records.values()))
    metrics = next(iter(content.metric_records.values()))
    figures: dict[tuple[str, str], float] = {}
    losses: dict[int, float] = {}
    for key, value in metrics.items():
        split, _, name = key.partition("-")
        if isinstance(value, list):
            continue
        if split == "loss" and name.isdigit():
            losses[int(name)] = float(value)
        elif split in SPLITS and name:
            figures[split, name] = float(value)
    models = list(content.array_records.values())
    competitors = said.get("competitors")
    samples = int(cast(int, metrics[weighted_by_key]))
    if not 0 <= samples <= _MOST_SAMPLES:
        raise ValueError(f"impossible number of samples: {samples}")
    answer = Answer(
        model=flat(models[0]) if models else None,
        losses=tuple(losses[at] for at in sorted(losses)),
        metrics=figures,
        samples=samples,
        competitors=None
        if competitors is None
        else tuple(str(name) for name in cast(list[str], competitors)),
        tells_gradients=bool(said.get("tells-gradients", False)),
        has_taken=bool(said.get("has-taken", False)),
        leaves=bool(said.get("leaves", False)),
    )
    return answer, str(said.get("participant", ""))
