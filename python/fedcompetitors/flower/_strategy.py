"""The strategy: personalised rounds along a plan by which nobody helps a competitor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from logging import INFO, WARNING
from os import PathLike
from typing import Any, Literal, NoReturn

import numpy as np
from flwr.app import (
    ArrayRecord,
    ConfigRecord,
    Message,
    MessageType,
    MetricRecord,
    RecordDict,
)
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg, Result
from flwr.supercore import log

from fedcompetitors._coordinator import Outcome, coordinate
from fedcompetitors._graphs import CompetingGraph
from fedcompetitors._participants import Answer, Request
from fedcompetitors._plans import Certificate, Plan
from fedcompetitors._settings import Settings
from fedcompetitors.errors import NotASetting, TooFewAnswers, UnknownNode
from fedcompetitors.flower._keys import looks_like_key, plain_key
from fedcompetitors.flower._messages import (
    OWN_KEYS,
    Shapes,
    arrays,
    flat,
    read_answer,
    request_record,
    shapes_of,
)

__all__ = ["FedCompetitors", "FedCompetitorsResult"]

Aggregation = Callable[[list[RecordDict], str], MetricRecord]


@dataclass
class FedCompetitorsResult(Result):
    """The results of each participant.

    `arrays` is the common start, as there is no common model, and nothing is averaged over
    participants: the fields of `Result` for aggregated metrics stay empty.

    Attributes
    ----------
    models : dict[str, ArrayRecord]
        The model of each participant.
    metrics : dict[str, MetricRecord]
        The final figures of each participant, such as ``test-loss``.
    history : dict[int, dict[str, MetricRecord]]
        The figures after each round.
    plan : Plan or None
        Who learns from whom, with the reason of each refusal.
    certificate : Certificate or None
        The proof.
    outcome : Outcome or None
        The same results as `fedcompetitors.Federation` returns them.
    """

    models: dict[str, ArrayRecord] = field(default_factory=dict)
    metrics: dict[str, MetricRecord] = field(default_factory=dict)
    history: dict[int, dict[str, MetricRecord]] = field(default_factory=dict)
    plan: Plan | None = None
    certificate: Certificate | None = None
    outcome: Outcome | None = None

    def __repr__(self) -> str:
        lines = ["Participants:"]
        for name, figures in self.metrics.items():
            helpers = ", ".join(self.plan.helpers(name)) if self.plan else ""
            shown = ", ".join(f"{key} {value:.4g}" for key, value in sorted(figures.items()))
            lines.append(f"\t{name}: {shown}; learns from {helpers or 'nobody'}")
        if self.certificate is not None:
            lines.append(str(self.certificate))
        return "\n".join(lines)


class FedCompetitors(FedAvg):
    """Personalised federated learning among participants some of whom compete.

    Participants declare their competitors to the coordinator only. The coordinator estimates
    who would help whom, selects who may learn from whom so that nobody ever contributes to a
    competitor, directly or through others, proves it, and sends each participant its own
    mixture in every round.

    Based on https://doi.org/10.1609/aaai.v38i15.29577, with mixing instead of the paper's
    hypernetworks, as those show collaborators each other's traces.

    Parameters
    ----------
    fraction_train, fraction_evaluate : float (default: 1.0)
        As in `FedAvg`; only 1.0 is accepted, as a participant that is not sampled could not
        be distinguished from a missing one.
    min_train_nodes : int (default: 2)
        The number of participants that must answer for a round to count.
    min_evaluate_nodes : int (default: 2)
        As in `FedAvg`; here evaluation is part of training.
    min_available_nodes : int (default: 2)
        The number of participants that must be connected to start.
    weighted_by_key : str (default: "num-examples")
        The metric with the number of samples, from which the weights in a mixture follow.
    arrayrecord_key, configrecord_key : str
        As in `FedAvg`.
    train_metrics_aggr_fn, evaluate_metrics_aggr_fn : callable or None
        Not accepted: an average over all participants would carry figures past the plan.
    participants : sequence of str, or dict of str to str
        The participants: the names under which their nodes are registered with the SuperLink
        (``flwr supernode register KEY --name NAME``), or for each participant the node's
        registered name or public key, as the text of its ``.pub`` file or as PEM. A key is
        safer: a SuperLink lets two nodes have one name.
    run_dir : path
        The folder for plan, certificate, ledger, figures and models.
    resume : bool (default: True)
        If true, resume an interrupted run in `run_dir`.
    trust_claims : bool (default: False)
        If true, accept the names that unregistered nodes claim, as in a simulation. Any node
        can then claim to be any participant.
    deadline : float (default: 600.0)
        Seconds to wait for answers in a round.
    poll_interval : float (default: 0.2)
        Seconds between two checks for answers.
    settings : Settings, optional
        Other settings: policy, steps, weights. The number of rounds is that of `start`.
    tell : callable, optional
        Called with a sentence for each event, in addition to the log.
    """

    def __init__(
        self,
        fraction_train: float = 1.0,
        fraction_evaluate: float = 1.0,
        min_train_nodes: int = 2,
        min_evaluate_nodes: int = 2,
        min_available_nodes: int = 2,
        weighted_by_key: str = "num-examples",
        arrayrecord_key: str = "arrays",
        configrecord_key: str = "config",
        train_metrics_aggr_fn: Aggregation | None = None,
        evaluate_metrics_aggr_fn: Aggregation | None = None,
        *,
        participants: Sequence[str] | Mapping[str, str],
        run_dir: str | PathLike[str],
        resume: bool = True,
        trust_claims: bool = False,
        deadline: float = 600.0,
        poll_interval: float = 0.2,
        settings: Settings | None = None,
        tell: Callable[[str], Any] | None = None,
    ) -> None:
        super().__init__(
            fraction_train,
            fraction_evaluate,
            min_train_nodes,
            min_evaluate_nodes,
            min_available_nodes,
            weighted_by_key,
            arrayrecord_key,
            configrecord_key,
        )
        if fraction_train != 1.0 or fraction_evaluate != 1.0:
            raise NotASetting(
                "sampling a fraction of the participants is not supported",
                "leave the fractions at 1: every participant trains its own model in every round",
            )
        if train_metrics_aggr_fn is not None or evaluate_metrics_aggr_fn is not None:
            raise NotASetting(
                "averaging metrics over all participants is not supported",
                "omit the aggregation function; the result has the metrics of each participant",
            )
        if deadline <= 0 or poll_interval <= 0:
            raise NotASetting("deadline or poll_interval is not positive", "give seconds above 0")
        if isinstance(participants, Mapping):
            self.nodes_of = {str(name): str(node) for name, node in participants.items()}
        else:
            # Also refuses a name that is there twice, which a dictionary would not.
            CompetingGraph([], participants=list(participants))
            self.nodes_of = {name: name for name in participants}
        self.signs_of = {name: _sign(node) for name, node in self.nodes_of.items()}
        if len(set(self.signs_of.values())) < len(self.signs_of):
            raise UnknownNode(
                "two participants are bound to one node", "bind each participant to its own node"
            )
        self.run_dir, self.resume, self.trust_claims = run_dir, resume, trust_claims
        self.deadline, self.poll_interval = deadline, poll_interval
        self.settings, self._also_tell = settings or Settings(), tell

    def summary(self) -> None:
        """Log summary configuration of the strategy."""
        log(INFO, "\t├──> Participants: %s", ", ".join(self.nodes_of))
        log(INFO, "\t├──> Policy: %s", self.settings.policy)
        log(
            INFO,
            "\t├──> Answers: at least %d within %g s",
            self.min_train_nodes,
            self.deadline,
        )
        log(INFO, "\t├──> Record: %s", self.run_dir)
        log(INFO, "\t└──> Keys in records:")
        log(INFO, "\t\t├── Weighted by: '%s'", self.weighted_by_key)
        log(INFO, "\t\t├── ArrayRecord key: '%s'", self.arrayrecord_key)
        log(INFO, "\t\t└── ConfigRecord key: '%s'", self.configrecord_key)

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> FedCompetitorsResult:
        """Execute the strategy: report, probe, select, prove, train, evaluate.

        Parameters
        ----------
        grid : Grid
            The Grid instance used to reach the nodes.
        initial_arrays : ArrayRecord
            The common start.
        num_rounds : int (default: 3)
            The number of rounds after the selection.
        timeout : float (default: 3600)
            Seconds to wait for answers, if that is less than the strategy's `deadline`; and in
            the beginning for `min_available_nodes` participants.
        train_config : ConfigRecord, optional
            Sent with each message, for learners that have ``configure(config)``.
        evaluate_config, evaluate_fn : optional
            Not accepted: there is no common model to evaluate.

        Returns
        -------
        FedCompetitorsResult
            The model and figures of each participant, and the plan with reasons.
        """
        if evaluate_config is not None or evaluate_fn is not None:
            raise NotASetting(
                "there is no common model to evaluate",
                "omit `evaluate_config` and `evaluate_fn`; participants evaluate their own models",
            )
        clash = sorted(OWN_KEYS & set(train_config or ()))
        if clash:
            raise NotASetting(
                f"`{clash[0]}` is reserved for the strategy",
                "give it another name in `train_config`",
            )
        log(INFO, "Starting %s strategy:", type(self).__name__)
        self.summary()
        shapes = shapes_of(initial_arrays)
        settings = Settings(
            **{
                **vars(self.settings),
                "rounds": num_rounds,
                "min_participants": self.min_train_nodes,
            }
        )
        deadline = min(self.deadline, timeout)
        carrier = _Carrier(self, grid, shapes, train_config or ConfigRecord(), deadline)
        if not carrier.wait_for(self.min_available_nodes, timeout):
            raise TooFewAnswers(
                f"{len(carrier.nodes())} of at least {self.min_available_nodes} participants "
                "are connected",
                "check that their nodes run and are registered under these names",
            )
        outcome = coordinate(
            list(self.nodes_of),
            flat(initial_arrays),
            shapes,
            settings,
            carrier,
            self.run_dir,
            resume=self.resume,
            tell=self.tell,
        )
        result = FedCompetitorsResult(
            arrays=initial_arrays,
            models={name: arrays(model, shapes) for name, model in outcome.models.items()},
            metrics={name: _record(figures) for name, figures in outcome.metrics.items()},
            history={
                number: {name: _record(figures) for name, figures in of_all.items()}
                for number, of_all in outcome.history.items()
            },
            plan=outcome.plan,
            certificate=outcome.certificate,
            outcome=outcome,
        )
        for line in repr(result).splitlines():
            log(INFO, "\t%s", line)
        return result

    def tell(self, text: str) -> None:
        """Log what happens."""
        log(INFO, "%s", text)
        if self._also_tell is not None:
            self._also_tell(text)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> NoReturn:
        """Refuse: there is no common model that could be sent to everybody."""
        raise NotImplementedError("every participant has its own model: call `start`")

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> NoReturn:
        """Refuse: an aggregate of all models would reach competitors."""
        raise NotImplementedError("every participant has its own mixture: call `start`")

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> NoReturn:
        """Refuse: there is no common model to evaluate."""
        raise NotImplementedError("every participant evaluates its own model: call `start`")

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> NoReturn:
        """Refuse: an average over everybody would carry figures past the plan."""
        raise NotImplementedError("metrics are not averaged over participants: call `start`")


def _record(figures: Mapping[tuple[str, str], float]) -> MetricRecord:
    return MetricRecord({f"{split}-{name}": value for (split, name), value in figures.items()})


class _Carrier:
    """Reaches participants through Flower's grid, and knows which node is whose."""

    def __init__(
        self,
        strategy: FedCompetitors,
        grid: Grid,
        shapes: Shapes,
        config: ConfigRecord,
        deadline: float,
    ) -> None:
        self.strategy, self.grid, self.shapes, self.config = strategy, grid, shapes, config
        self.deadline = deadline
        self.names = list(strategy.nodes_of)
        # For nodes that are believed who they are: which participant each claims to be.
        self.claimed: dict[int, int] = {}
        self.refused: set[int] = set()
        # The node that each participant was last seen with.
        self.bound: dict[int, int] = {}

    def wait_for(self, count: int, timeout: float, without: Collection[int] = ()) -> bool:
        """Waits for so many, without these; are they there?"""
        end = time.monotonic() + timeout
        told = time.monotonic()
        while len(self.nodes().keys() - set(without)) + len(self.strangers()) < count:
            if time.monotonic() > end:
                return False
            if time.monotonic() > told + 30:
                told = time.monotonic()
                here = {self.names[who] for who in self.nodes()}
                self.strategy.tell(
                    f"waiting for {count} participants; missing: "
                    f"{', '.join(name for name in self.names if name not in here)}"
                )
            time.sleep(self.strategy.poll_interval)
        return True

    def registered(self, there: Sequence[NodeInfo]) -> dict[int, int]:
        """Whose nodes are there, by the name or the key that they are registered with."""
        found: dict[int, int] = {}
        for who, name in enumerate(self.names):
            sign = self.strategy.signs_of[name]
            nodes = [node.node_id for node in there if sign in _signs(node)]
            if len(nodes) > 1 and self.bound.get(who) not in nodes:
                # Which one is right nobody can tell, and the wrong one must not get a model.
                for node in nodes:
                    self.refuse(node, f'two nodes are registered as "{name}": bind it to a key')
            for node in nodes:
                if node == self.bound.setdefault(who, node):
                    if node not in self.refused:
                        found[who] = node
                elif self.bound[who] in nodes:
                    self.refuse(node, f'"{name}" is already connected')
                elif node not in self.refused:
                    # It was registered anew, and the former one is gone.
                    found[who] = self.bound[who] = node
        return found

    def nodes(self) -> dict[int, int]:
        """The node of each participant that is there."""
        there = list(self.grid.get_nodes())
        ids = {node.node_id for node in there}
        claimed = {who: node for node, who in self.claimed.items() if node in ids}
        return {**claimed, **self.registered(there)}

    def strangers(self) -> set[int]:
        """Nodes that have not said yet who they are, where that is believed."""
        if not self.strategy.trust_claims:
            return set()
        known = set(self.nodes().values()) | self.refused | set(self.claimed)
        return set(self.grid.get_node_ids()) - known

    def refuse(self, node: int, why: str) -> None:
        if node not in self.refused:
            self.refused.add(node)
            log(WARNING, "node %d is refused: %s", node, why)

    def present(self, at_least: int = 0, without: Collection[int] = ()) -> set[int]:
        self.listen()
        there = set(self.nodes())
        is_few = len(there - set(without)) < at_least
        if is_few and self.wait_for(at_least, self.deadline, without):
            self.listen()
            there = set(self.nodes())
        return there

    def listen(self) -> None:
        """Asks strangers who they are, by a probe of no steps whose model is not looked at."""
        strangers = self.strangers()
        if not strangers:
            return
        replies = self.exchange({node: self.first for node in strangers})
        for node in sorted(replies):
            try:
                _, name = self.read(replies[node])
            except _NoAnswer as error:
                self.refuse(node, str(error))
                continue
            if name not in self.names:
                self.refuse(node, f'"{name}" is not a participant')
            elif self.names.index(name) in self.nodes():
                self.refuse(node, f'"{name}" is already connected')
            else:
                self.claimed[node] = self.names.index(name)

    @property
    def first(self) -> Request:
        """Asks for nothing but a name: no steps, and a model of zeros."""
        size = sum(math.prod(shape) for _, shape in self.shapes)
        return Request("probe", 0, [np.zeros(size, np.float32)], steps=0)

    def read(self, reply: Message) -> tuple[Answer, str]:
        if reply.has_error():
            raise _NoAnswer(reply.error.reason)
        try:
            return read_answer(reply.content, self.strategy.weighted_by_key)
        except Exception as error:
            # Whatever somebody else's bytes may lead to: one participant's garbage must not end
            # everybody's run.
            raise _NoAnswer(f"it cannot be read: {error!r}") from error

    def ask(
        self, requests: Mapping[int, Request], meanwhile: Callable[[], None]
    ) -> dict[int, Answer | None]:
        nodes = self.nodes()
        whose = {nodes[who]: who for who in requests if who in nodes}
        replies = self.exchange({node: requests[who] for node, who in whose.items()}, meanwhile)
        answers: dict[int, Answer | None] = {}
        for node, reply in replies.items():
            who = whose[node]
            if reply.has_error():
                # Whoever could not answer is missing.
                log(INFO, "%s: %s", self.names[who], reply.error.reason)
                continue
            try:
                answer, name = self.read(reply)
                if name and name != self.names[who]:
                    raise _NoAnswer(f'it claims to be "{name}"')
                answers[who] = answer
            except _NoAnswer as error:
                log(WARNING, "the answer of %s is refused: %s", self.names[who], error)
                answers[who] = None
        return answers

    def exchange(
        self, requests: Mapping[int, Request], meanwhile: Callable[[], None] = lambda: None
    ) -> dict[int, Message]:
        """Sends and waits: until all have answered, or until the deadline."""
        keys = (self.strategy.arrayrecord_key, self.strategy.configrecord_key)
        deadline = self.deadline
        messages = [
            Message(
                content=request_record(request, self.shapes, self.config, keys),
                dst_node_id=node,
                message_type=MessageType.EVALUATE
                if request.stage in ("weigh", "end")
                else MessageType.TRAIN,
                # What is late is of no use: Flower need not deliver it.
                ttl=deadline + 60,
            )
            for node, request in requests.items()
        ]
        # What could not be sent is left out or None, depending on the grid.
        gone = set(self.grid.push_messages(messages))
        sent = {
            message.metadata.message_id: node
            for message, node in zip(messages, requests, strict=True)
            if message.metadata.message_id in gone
        }
        replies: dict[int, Message] = {}
        end, told = time.monotonic() + deadline, time.monotonic()
        meanwhile()
        while sent:
            is_late = time.monotonic() > end
            for reply in self.grid.pull_messages(list(sent)):
                # The error of a node that is gone comes from the SuperLink itself: what it answers
                # says whose it is.
                node = sent.pop(reply.metadata.reply_to_message_id, None)
                if node is not None:
                    replies[node] = reply
            if is_late:
                break
            if sent:
                if time.monotonic() > told + 30:
                    told = time.monotonic()
                    names = self.names_of(sent.values())
                    self.strategy.tell(f"waiting for {names}, for another {end - told:.0f} s")
                time.sleep(self.strategy.poll_interval)
        return replies

    def names_of(self, nodes: Iterable[int]) -> str:
        whose = {node: self.names[who] for who, node in self.nodes().items()}
        return ", ".join(whose.get(node, f"node {node}") for node in nodes)


class _NoAnswer(Exception):
    """A reply that is no answer."""


# What a node is known by, each kind apart: a name that looks like somebody's key is a name.
_Sign = tuple[Literal["name", "key"], str]


def _sign(text: str) -> _Sign:
    """What a participant is bound to."""
    return ("key", plain_key(text)) if looks_like_key(text) else ("name", text)


def _signs(node: Any) -> set[_Sign]:
    """What a node is registered with."""
    signs: set[_Sign] = {("name", str(node.name))} if node.name else set()
    if node.public_key:
        # In a simulation a key is any bytes, and nobody is known by it.
        with suppress(UnknownNode):
            signs.add(("key", plain_key(node.public_key)))
    return signs
