"""A participant as a Flower app."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from logging import INFO, WARNING
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.supercore import log

from fedcompetitors._participants import Adam, Learner, Parameters, Participant
from fedcompetitors.flower._messages import (
    Shapes,
    answer_record,
    arrays,
    read_config,
    read_request,
)

__all__ = ["client_app"]

# Where a participant's memory is in Flower's.
MEMORY, NUMBERS = "fedcompetitors-memory", "fedcompetitors-numbers"


def client_app(
    make_learner: Callable[[Context], Learner],
    *,
    participant: Callable[[Context], str] | None = None,
    competitors: Callable[[Context], list[str]] | None = None,
    rule: Adam | None = None,
    checked: bool = True,
    weighted_by_key: str = "num-examples",
) -> ClientApp:
    """A Flower app for a participant.

    To leave, set ``leaves = true`` in the ``node-config``, which Flower reads when a node starts.
    The participant reports this with its next answer, and from the following round on the
    coordinator plans without it. It cannot return within that run, and models that carry its
    data go on carrying it. At the end it still receives its own model, if its node is connected.

    Parameters
    ----------
    make_learner : callable
        Makes the learner from the context: an object as for `fedcompetitors.Federation`. If it
        has ``configure(config)``, that is called first with the server's ``train_config``.
    participant : callable, optional
        The participant's name. Default: ``participant`` in the node's own ``node-config``.
    competitors : callable, optional
        Its competitors. Default: ``competitors`` in the ``node-config``, separated by commas, or
        the lines of the file that ``competitors-file`` names there. They are read again with
        each message, so that a competition can be declared at any time.
    rule : Adam, optional
        The optimizer for learners that compute gradients.
    checked : bool, default True
        If true, the participant rejects mixtures with a higher validation loss.
    weighted_by_key : str, default "num-examples"
        The same as the strategy's.

    Returns
    -------
    ClientApp
        It answers the strategy `FedCompetitors`. With ``output`` in the ``node-config`` it
        stores its own model there as ``model.npz``, its figures as ``metrics.json``, and as
        ``plan.json`` from whom it has learned, whom its data reaches and what was refused. It
        also stores its state between messages there, which saves much time with large models.
    """
    app = ClientApp()
    name_of = participant or (lambda context: str(context.node_config.get("participant", "")))
    rivals_of = competitors or _competitors

    def answer(message: Message, context: Context) -> Message:
        request, shapes = read_request(message.content)
        name = name_of(context)
        learner = make_learner(context)
        configure = getattr(learner, "configure", None)
        if configure is not None:
            configure(read_config(message.content))
        one = Participant(
            learner,
            rivals_of(context),
            rule=rule,
            checked=checked,
            is_asked_once=True,
        )
        one.leaves = bool(context.node_config.get("leaves", False))
        output = str(context.node_config.get("output", ""))
        memory = _InFiles(Path(output), context.run_id) if output else _InFlower(context)
        memory.recall(one)
        answered = one.answer(request)
        memory.save(one)
        if request.stage == "end" and output and one.model is not None:
            figures = {f"{a}-{b}": value for (a, b), value in answered.metrics.items()}
            _keep(Path(output), one.model, shapes, figures, request.plan)
            log(INFO, "%s: model stored in %s", name, output)
        content = answer_record(answered, shapes, name, weighted_by_key)
        return Message(content, reply_to=message)

    app.train()(answer)
    app.evaluate()(answer)
    return app


class _InFlower:
    """What a participant remembers between two messages, in Flower's own memory of a node."""

    def __init__(self, context: Context) -> None:
        self.state = context.state

    def recall(self, one: Participant) -> None:
        if MEMORY in self.state:
            memory, numbers = self.state[MEMORY], self.state[NUMBERS]
            assert isinstance(memory, ArrayRecord) and isinstance(numbers, ConfigRecord)
            one.recall(
                [np.array(array.numpy()) for array in memory.values()],
                {key: float(str(value)) for key, value in numbers.items()},
            )

    def save(self, one: Participant) -> None:
        arrays_now, numbers = one.save()
        self.state[MEMORY] = ArrayRecord(arrays_now)
        self.state[NUMBERS] = ConfigRecord({key: str(value) for key, value in numbers.items()})


class _InFiles:
    """The same in files of the participant's own.

    Every message has a process of its own, to which Flower hands its memory of the node, and
    back: for a model of 40 MB that takes longer than the exchange itself. Here nothing is read
    that nobody looks at, and what has not changed is not written again.
    """

    def __init__(self, folder: Path, run: int) -> None:
        self.folder, self.stem = folder, f"memory-{run}"
        self.index = folder / f"{self.stem}.json"
        # What is in a file already.
        self.files: dict[str, Parameters] = {}

    def recall(self, one: Participant) -> None:
        if not self.index.exists():
            return
        try:
            numbers = json.loads(self.index.read_text(encoding="utf-8"))
            for name in numbers.pop("files"):
                self.files[name] = np.asarray(np.load(self.folder / name, mmap_mode="c"))
            one.recall(list(self.files.values()), numbers)
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            # As after a power cut, by which the last files may be cut off.
            log(WARNING, "the stored state in %s cannot be read and is lost: %s", self.folder, error)
            self.files = {}

    def save(self, one: Participant) -> None:
        arrays_now, numbers = one.save()
        names = [self.name_of(array) for array in arrays_now]
        said = json.dumps({**numbers, "files": names})
        _write(self.index, lambda file: file.write(said.encode()))
        # Nor is what another run has left of any use to this one.
        for old in self.folder.glob("memory-*"):
            if old != self.index and old.name not in names:
                # Where a file that is open cannot be removed the next message will do it.
                with suppress(OSError):
                    old.unlink()

    def name_of(self, array: Parameters) -> str:
        """The file that it is in, which is made if there is none."""
        for name, known in self.files.items():
            if known is array:
                return name
        # A new name each time: a process that Flower has given up may still be at work here.
        name = f"{self.stem}-{token_hex(8)}.npy"
        _write(self.folder / name, lambda file: np.save(file, array))
        return name


def _competitors(context: Context) -> list[str]:
    listed = str(context.node_config.get("competitors", "")).split(",")
    file = str(context.node_config.get("competitors-file", ""))
    if file:
        listed += Path(file).read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in listed if name.strip()]


def _keep(
    folder: Path, model: Parameters, shapes: Shapes, figures: dict[str, float], plan: str
) -> None:
    named: dict[str, Any] = {key: one.numpy() for key, one in arrays(model, shapes).items()}
    _write(folder / "model.npz", lambda file: np.savez(file, **named))
    # JSON has no word for what is no number.
    known = {name: value if math.isfinite(value) else None for name, value in figures.items()}
    text = json.dumps(known, indent=2, allow_nan=False) + "\n"
    _write(folder / "metrics.json", lambda file: file.write(text.encode()))
    _write(folder / "plan.json", lambda file: file.write(f"{plan}\n".encode()))


def _write(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Never half a file: whoever reads it meanwhile sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".half")
    with half.open("wb") as file:
        write(file)
    half.replace(path)
