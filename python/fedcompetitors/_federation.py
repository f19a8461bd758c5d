"""A whole federation in one process, with learners in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fedcompetitors import _native
from fedcompetitors._coordinator import Outcome, coordinate
from fedcompetitors._graphs import CompetingGraph
from fedcompetitors._participants import Adam, Answer, Learner, Participant, Request
from fedcompetitors._settings import Settings

__all__ = ["Audit", "Federation", "audit"]


class Federation:
    """Participants with their learners and their competitors.

    Parameters
    ----------
    learners : dict
        The learner of each participant, by name: an object with ``samples(split)`` and either
        ``loss_and_gradient(parameters, split) -> (float, array)``, or
        ``train(parameters, steps) -> parameters`` and ``loss(parameters, split) -> float``.
        Parameters are flat arrays of ``float32``; splits are ``training``, ``validation`` and
        ``test``. A learner may also have ``metrics(parameters, split) -> dict``.
    competitors : dict or CompetingGraph
        The competitors of each participant.
    rule : Adam, optional
        The optimizer for learners that compute gradients.
    checked : bool, default True
        If true, participants reject mixtures with a higher validation loss than their own
        models.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     "Learns the mean of its numbers."
    ...     def __init__(self, *numbers):
    ...         self.numbers = np.array(numbers)
    ...     def samples(self, split):
    ...         return len(self.numbers)
    ...     def loss_and_gradient(self, parameters, split):
    ...         errors = parameters[0] - self.numbers
    ...         return float(np.mean(errors**2)), np.array([2 * errors.mean()])
    >>> federation = Federation(
    ...     {"a": Mean(1, 2), "b": Mean(1.2, 1.7), "c": Mean(1.4)}, competitors={"a": ["c"]}
    ... )
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = federation.run(np.zeros(1), folder, rounds=3, probe_steps=5)
    ...     audit(folder).is_clean
    True
    >>> "c" in outcome.carries["a"]
    False
    """

    def __init__(
        self,
        learners: Mapping[str, Learner],
        competitors: Mapping[str, Sequence[str]] | CompetingGraph = {},
        *,
        rule: Adam | None = None,
        checked: bool = True,
    ) -> None:
        names = list(learners)
        graph = (
            competitors
            if isinstance(competitors, CompetingGraph)
            else CompetingGraph(dict(competitors), participants=names)
        )
        reports: dict[str, list[str]] = {name: [] for name in names}
        for a, b in CompetingGraph(graph.reports, participants=names).reports:
            reports[a].append(b)
        self.participants = {
            name: Participant(learner, reports[name], rule=rule, checked=checked)
            for name, learner in learners.items()
        }

    def run(
        self,
        start: ArrayLike,
        run_dir: str | PathLike[str],
        *,
        resume: bool = False,
        tell: Callable[[str], Any] = lambda text: None,
        **settings: Any,
    ) -> Outcome:
        """Runs the whole pipeline: benefits, plan, proof, rounds, models.

        Parameters
        ----------
        start : array
            The common start; its shape is the shape of the models in the run's files.
        run_dir : path
            The folder for models, figures, plan, certificate and ledger;
            ``fedcompetitors report`` and ``fedcompetitors audit`` read it.
        resume : bool, default False
            Resume an existing run. Participants start again from their last stored models.
        tell : callable
            Called with a sentence for each event.
        **settings
            As in `Settings`: ``rounds``, ``local_steps``, ``policy``, ….

        Returns
        -------
        Outcome
            The models and figures of all participants, the plan and its certificate.

        Raises
        ------
        GuardStopped
            If data was about to reach a competitor.
        RunExists, OtherRun
            If the folder contains a run, or a different one.
        """
        array = np.asarray(start, np.float32)
        names = list(self.participants)
        everybody = list(self.participants.values())
        return coordinate(
            names,
            np.ascontiguousarray(array.ravel()),
            [("parameters", list(array.shape))],
            Settings(**{"min_participants": min(2, len(names)), **settings}),
            _InProcess(everybody),
            run_dir,
            resume=resume,
            tell=tell,
        )


class _InProcess:
    """Asks participants that are here, one after the other."""

    def __init__(self, participants: Sequence[Participant]) -> None:
        self.participants = participants

    def present(self, at_least: int = 0, without: Collection[int] = ()) -> set[int]:
        return set(range(len(self.participants)))

    def ask(
        self, requests: Mapping[int, Request], meanwhile: Callable[[], None]
    ) -> dict[int, Answer | None]:
        meanwhile()
        return {who: self.participants[who].answer(one) for who, one in requests.items()}


#: The status of a run.
RunStatus = Literal["running", "complete", "complete with incidents", "stopped by the guard"]


@dataclass(frozen=True)
class Audit:
    """What an audit of a run has found.

    Attributes
    ----------
    status : str
        The status of the run: ``"running"``, ``"complete"``, ``"complete with incidents"`` or
        ``"stopped by the guard"``.
    transfers, models : int
        The number of replayed ledger entries and of checked model files.
    findings : tuple of str
        What is wrong, one sentence each.
    """

    status: RunStatus
    transfers: int
    models: int
    findings: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Is nothing wrong?"""
        return not self.findings

    @property
    def is_complete(self) -> bool:
        """Is the run at its end, with or without incidents?"""
        return self.status in ("complete", "complete with incidents")


def audit(
    run_dir: str | PathLike[str],
    competing: CompetingGraph | None = None,
    rule: str | None = None,
) -> Audit:
    """Replay the ledger of a run: did nobody ever get a competitor's data?

    Parameters
    ----------
    run_dir : path
        A run of this package, of ``fedcompetitors run`` or on Flower.
    competing : CompetingGraph, optional
        Who competes. Default: as recorded in the run.
    rule : str, optional
        The rule that plans must keep, of ``fc.entries("rule")``. A plan under ``paths`` keeps
        ``messages`` too. Default: the rule that each plan names.

    Returns
    -------
    Audit
        What ``fedcompetitors audit`` finds, with the competitors and the rule of a file as with
        its ``--federation``.

    Raises
    ------
    NotASetting
        If there is no such rule.
    """
    native = None if competing is None else competing._native
    status, transfers, models, findings = _native.audit(fspath(run_dir), native, rule)
    return Audit(status, transfers, models, tuple(findings))
