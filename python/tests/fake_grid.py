"""A grid in this process: messages go straight to client apps, and faults are made to order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from flwr.app import ConfigRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

# What a process of Flower's own knows of itself.
TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1


@dataclass
class Node:
    """A node: its app, its own configuration and memory, and what goes wrong with it."""

    app: ClientApp
    config: dict[str, Any]
    name: str = ""
    public_key: bytes = b""
    # Called with each message; "missing" loses it, "error" answers with one, a function
    # changes the answer.
    fault: Callable[[int, Message], str | Callable[[RecordDict], None] | None] = (
        lambda number, message: None
    )
    online: bool = True
    state: RecordDict = field(default_factory=RecordDict)
    asked: int = 0


class FakeGrid(Grid):
    """Nodes by their id."""

    def __init__(self, nodes: dict[int, Node]) -> None:
        self.nodes = nodes
        self.replies: dict[str, Message] = {}
        self.messages: list[Message] = []
        self.count = 0

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        return [at for at, node in self.nodes.items() if node.online]

    def get_nodes(self) -> Iterable[NodeInfo]:
        return [
            NodeInfo(node_id=at, name=node.name, public_key=node.public_key)
            for at, node in self.nodes.items()
            if node.online
        ]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        sent = []
        for message in messages:
            self.count += 1
            message.metadata.__dict__["_message_id"] = f"message {self.count}"
            self.messages.append(message)
            sent.append(message.metadata.message_id)
            node = self.nodes[message.metadata.dst_node_id]
            node.asked += 1
            fault = node.fault(node.asked, message) if node.online else "missing"
            if fault == "missing":
                continue
            if fault == "error":
                reply = Message(Error(1, "out of memory"), reply_to=message)
            else:
                context = Context(1, message.metadata.dst_node_id, node.config, node.state, {})
                reply = node.app(message, context)
                if callable(fault):
                    fault(reply.content)
            self.replies[message.metadata.message_id] = reply
        return sent

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self.replies.pop(one) for one in list(message_ids) if one in self.replies]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))


def said(message: Message) -> ConfigRecord:
    """What a request says."""
    record = message.content["config"]
    assert isinstance(record, ConfigRecord)
    return record
