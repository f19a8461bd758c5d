"""A participant as a Flower app."""

from __future__ import annotations

import json
from collections.abc import Callable
from logging import INFO
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.supercore import log

from fedcompetitors._participants import Adam, Learner, Parameters, Participant
from fedcompetitors.flower._messages import Shapes, answer_record, arrays, read_request

__all__ = ["client_app"]

# What a participant remembers between two messages, in Flower's own memory of a node.
MEMORY, NUMBERS = "fedcompetitors-memory", "fedcompetitors-numbers"


def client_app(
    make_learner: Callable[[Context], Learner],
    *,
    participant: Callable[[Context], str] | None = None,
    competitors: Callable[[Context], list[str]] | None = None,
    rule: Adam | None = None,
    checked: bool = True,
) -> ClientApp:
    """A Flower app for a participant.

    Parameters
    ----------
    make_learner : callable
        Makes the learner from the context: an object as for `fedcompetitors.Federation`.
    participant : callable, optional
        The participant's name; if it is not given, ``participant`` in the node's own
        ``node-config``.
    competitors : callable, optional
        With whom it competes; if it is not given, ``competitors`` in the ``node-config``,
        separated by commas, or the lines of the file that ``competitors-file`` names there.
        It is read anew with each message, so that a competition can be declared at any time.
    rule : Adam, optional
        How steps are made for learners that tell gradients.
    checked : bool, default True
        Does the participant leave mixtures that its validation data finds worse?

    Returns
    -------
    ClientApp
        It answers the strategy `FedCompetitors`. With ``output`` in the ``node-config`` it
        keeps its own model there, as ``model.npz`` with its figures in ``metrics.json``.
    """
    app = ClientApp()
    name_of = participant or (lambda context: str(context.node_config.get("participant", "")))
    rivals_of = competitors or _competitors

    def answer(message: Message, context: Context) -> Message:
        request, shapes = read_request(message.content)
        name = name_of(context)
        one = Participant(make_learner(context), rivals_of(context), rule=rule, checked=checked)
        one.leaves = bool(context.node_config.get("leaves", False))
        if MEMORY in context.state:
            memory = context.state[MEMORY]
            numbers = context.state[NUMBERS]
            assert isinstance(memory, ArrayRecord) and isinstance(numbers, ConfigRecord)
            one.recall(
                [np.array(array.numpy()) for array in memory.values()],
                {key: float(str(value)) for key, value in numbers.items()},
            )
        answered = one.answer(request)
        kept, numbers_now = one.save()
        context.state[MEMORY] = ArrayRecord(kept)
        context.state[NUMBERS] = ConfigRecord({key: str(v) for key, v in numbers_now.items()})
        output = str(context.node_config.get("output", ""))
        if request.stage == "end" and output and one.model is not None:
            figures = {f"{a}-{b}": value for (a, b), value in answered.metrics.items()}
            _keep(Path(output), one.model, shapes, figures)
            log(INFO, "%s: model kept in %s", name, output)
        return Message(answer_record(answered, shapes, name), reply_to=message)

    app.train()(answer)
    app.evaluate()(answer)
    return app


def _competitors(context: Context) -> list[str]:
    listed = str(context.node_config.get("competitors", "")).split(",")
    file = str(context.node_config.get("competitors-file", ""))
    if file:
        listed += Path(file).read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in listed if name.strip()]


def _keep(folder: Path, model: Parameters, shapes: Shapes, figures: dict[str, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Never half a file: whoever reads it meanwhile sees the old one or the new one.
    half = folder / "model.npz.half"
    with half.open("wb") as file:
        named: dict[str, Any] = {key: one.numpy() for key, one in arrays(model, shapes).items()}
        np.savez(file, **named)
    half.replace(folder / "model.npz")
    half = folder / "metrics.json.half"
    half.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    half.replace(folder / "metrics.json")
