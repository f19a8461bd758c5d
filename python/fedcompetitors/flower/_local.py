"""A whole deployment of Flower on one machine: a SuperLink, and a node for each participant.

Everything is as it would be between machines: TLS, nodes that are known by their keys, a
database, a process for each node with a configuration of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from fedcompetitors.errors import DeploymentFailed, UnknownNode
from fedcompetitors.flower._keys import make_certificates, make_node_key, write_private
from fedcompetitors.flower._processes import Process, end_all

__all__ = ["LocalDeployment"]

Value = str | int | float | bool

# The connection's name in the configuration of the commands of Flower.
LINK = "local"

# Seconds after which a node that was refused tries again. A SuperLink takes a node that was killed
# for alive for up to a minute, and refuses its return until then.
AGAIN_AFTER = 8.0

COLOURS = re.compile("\x1b\\[[0-9;]*m")
LEVEL = re.compile("^[A-Z]+ *: +")


@dataclass
class _Node:
    """A node: where its things are, and its process while it runs."""

    folder: Path
    config: dict[str, Value]
    node_id: int | None
    is_persistent: bool
    process: Process | None = None
    started_at: float = 0.0


class LocalDeployment:
    """A SuperLink and nodes of Flower on this machine, for tests and for a try.

    Parameters
    ----------
    folder : path
        The folder for keys, certificates, the SuperLink's database and the logs. Existing keys
        are used again, so that nodes keep their identity.
    work_dir : path, optional
        The working folder of SuperLink and nodes, to which paths in configurations are
        relative. Default: that of this process.

    Examples
    --------
    It starts processes, and takes minutes:

    >>> app = "examples/flower-hospitals"
    >>> with LocalDeployment("try", work_dir=app) as local:       # doctest: +SKIP
    ...     local.add_node("university", {"data": "data/university.csv"})
    ...     local.add_node("general", {"data": "data/general.csv", "competitors": "clinic"})
    ...     local.add_node("clinic", {"data": "data/clinic.csv"})
    ...     run = local.submit(app)
    ...     local.wait(run)
    """

    def __init__(
        self, folder: str | PathLike[str], *, work_dir: str | PathLike[str] | None = None
    ) -> None:
        self.folder = Path(folder).resolve()
        self.work_dir = Path(work_dir or Path.cwd()).resolve()
        self._nodes: dict[str, _Node] = {}
        self._link: Process | None = None
        self._follower: Process | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Keys and models of several participants are in there.
        self.folder.chmod(0o700)
        # Also where somebody forgets the `with`, or an error passes it by.
        atexit.register(self.close)
        try:
            if not (self.folder / "server.key").exists():
                make_certificates(self.folder)
            self.start_link()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all nodes and the SuperLink, and whatever they have started."""
        nodes = [node.process for node in self._nodes.values() if node.process is not None]
        if self._follower is not None:
            nodes.append(self._follower)
        with _undisturbed():
            # Nodes before the SuperLink, so that they can sign off.
            end_all(nodes)
            if self._link is not None:
                end_all([self._link])
        for node in self._nodes.values():
            node.process = None
        self._link = self._follower = None
        atexit.unregister(self.close)

    # The SuperLink

    @property
    def address(self) -> str:
        """Where the SuperLink listens."""
        return f"127.0.0.1:{self._port}"

    @property
    def link_log(self) -> Path:
        """What the SuperLink and the server's app have said."""
        return self.folder / "link.log"

    def start_link(self, timeout: float = 60.0) -> None:
        """Starts the SuperLink, again where it was before."""
        command = [
            *("--host", "127.0.0.1"),
            *("--ssl-ca-certfile", str(self.folder / "ca.pem")),
            *("--ssl-certfile", str(self.folder / "server.pem")),
            *("--ssl-keyfile", str(self.folder / "server.key")),
            "--enable-supernode-auth",
            *("--database", str(self.folder / "link.db")),
            "--disable-runtime-dependency-installation",
        ]
        home = self.folder / "flower"
        home.mkdir(exist_ok=True)
        is_new = not self._port
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if is_new:
                self._port = _free_port()
            self._link = Process(
                [_program("flower-superlink"), *command, "--port", str(self._port)],
                self.link_log,
                self._environment(home),
                self.work_dir,
            )
            while self._link.runs and time.monotonic() < end:
                if self._link_answers():
                    self._write_connection(home)
                    return
                time.sleep(0.1)
            # Somebody else may have taken the port meanwhile.
            self._link.kill()
        raise DeploymentFailed(
            f"the SuperLink does not start; end of its log:\n{_last_lines(self.link_log)}",
            f"see {self.link_log}",
        )

    def kill_link(self) -> None:
        """Kills the SuperLink and the server's app, as a power cut would."""
        if self._link is not None:
            self._link.kill()
            self._link = None

    def _link_answers(self) -> bool:
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        try:
            with (
                socket.create_connection(("127.0.0.1", self._port), timeout=5) as plain,
                context.wrap_socket(plain, server_hostname="localhost"),
            ):
                return True
        except OSError:
            return False

    def _write_connection(self, home: Path) -> None:
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "{LINK}"\n\n[superlink.{LINK}]\n'
            f'address = "{self.address}"\n'
            f"root-certificates = {json.dumps(str(self.folder / 'ca.pem'))}\n",
            encoding="utf-8",
        )

    # Nodes

    def node_folder(self, name: str) -> Path:
        """Where a node's key, configuration and log are."""
        # A name may be any text, and a file's name may not.
        return self.folder / "nodes" / quote(name, safe=" ").replace(".", "%2E")

    def node_log(self, name: str) -> Path:
        """What a node and its app have said."""
        return self.node_folder(name) / "node.log"

    def public_key(self, name: str) -> str:
        """The public key of a node, as ``ssh-keygen`` writes it."""
        return (self.node_folder(name) / "key.pub").read_text(encoding="utf-8")

    def add_node(
        self,
        name: str,
        config: Mapping[str, Value] | None = None,
        *,
        is_registered: bool = True,
        starts: bool = True,
    ) -> None:
        """Makes a key for a participant's node, registers it under its name and starts it.

        Parameters
        ----------
        name : str
            The participant.
        config : mapping, optional
            Its node-config; ``participant`` is its name if it says nothing else.
        is_registered : bool, default True
            Does the SuperLink know its key? If not, it will be refused.
        starts : bool, default True
            Start it at once?
        """
        if name in self._nodes:
            raise UnknownNode(f'"{name}" already has a node', "give each participant one node")
        folder = self.node_folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        key = folder / "key"
        if not key.exists():
            make_node_key(key)
        known = folder / "node-id"
        if is_registered and not known.exists():
            answer = self.command(
                *("supernode", "register", str(key) + ".pub", LINK, "--name", name)
            )
            known.write_text(str(answer["node-id"]), encoding="utf-8")
        node_id = int(known.read_text(encoding="utf-8")) if is_registered else None
        settings = {"participant": name, **(config or {})}
        self._nodes[name] = _Node(folder, settings, node_id, is_persistent=is_registered)
        if starts:
            self.start_node(name)

    def start_node(self, name: str) -> None:
        """Starts a node, also one that was killed: it is who it was.

        `tend`, and so `wait` and `wait_for_nodes`, start it again where the SuperLink refuses it,
        which takes a killed node for alive for up to a minute.
        """
        node = self._node(name)
        if node.process is not None and node.process.runs:
            return
        # In a file, and for nobody else's eyes: a command line is for all to see.
        config = node.folder / "node.toml"
        write_private(config, _toml(node.config).encode())
        home = node.folder / "flower"
        home.mkdir(exist_ok=True)
        command = [
            *("--root-certificates", str(self.folder / "ca.pem")),
            *("--superlink", self.address),
            *("--auth-supernode-private-key", str(node.folder / "key")),
            *("--node-config", str(config)),
            *("--port", str(_free_port())),
        ]
        node.started_at = time.monotonic()
        node.process = Process(
            [_program("flower-supernode"), *command],
            self.node_log(name),
            self._environment(home),
            self.work_dir,
        )

    def kill_node(self, name: str) -> None:
        """Kills a node and its app, as a power cut would; it stays dead until it is started."""
        node = self._node(name)
        if node.process is not None:
            node.process.kill()
            node.process = None

    def node_runs(self, name: str) -> bool:
        """Does the process of a node run?"""
        process = self._node(name).process
        return process is not None and process.runs

    def online(self) -> set[str]:
        """Whose nodes the SuperLink takes for being there."""
        there = {
            int(node["node-id"])
            for node in self.command("supernode", "list", LINK)["nodes"]
            if node["status"] == "online"
        }
        return {name for name, node in self._nodes.items() if node.node_id in there}

    def wait_for_nodes(self, names: Sequence[str], timeout: float = 180.0) -> None:
        """Waits until these nodes run and the SuperLink takes them for being there."""
        end = time.monotonic() + timeout
        while True:
            self.tend()
            # A killed node is online for a while: it counts when its own process says so.
            missing = [name for name in names if not self._is_connected(name)]
            if not missing and set(names) <= self.online():
                return
            if time.monotonic() > end:
                late = missing[0] if missing else names[0]
                raise DeploymentFailed(
                    f"not connected after {timeout:g} s: {', '.join(missing or names)}; end of "
                    f"the log of {late}:\n{_last_lines(self.node_log(late))}",
                    f"see {self.node_log(late)}",
                )
            time.sleep(0.2)

    def _is_connected(self, name: str) -> bool:
        node = self._node(name)
        if node.process is None or not node.process.runs:
            return False
        log = self.node_log(name).read_text(encoding="utf-8", errors="replace")
        return "SuperNode ID:" in log.rpartition("Starting Flower SuperNode")[2]

    def tend(self) -> None:
        """Starts nodes again that have ended by themselves, as one whose return was refused."""
        for name, node in self._nodes.items():
            ended = node.process is not None and not node.process.runs
            if ended and node.is_persistent and time.monotonic() > node.started_at + AGAIN_AFTER:
                self.start_node(name)

    def _node(self, name: str) -> _Node:
        if name not in self._nodes:
            raise UnknownNode(f'"{name}" has no node', "add it with `add_node`")
        return self._nodes[name]

    # Runs

    def submit(
        self, app: str | PathLike[str], run_config: Mapping[str, Value] | None = None
    ) -> int:
        """Submits a run of an app, and gives its number.

        Parameters
        ----------
        app : path
            The folder with the app's ``pyproject.toml``.
        run_config : mapping, optional
            Instead of what the app says itself.
        """
        command = ["run", str(Path(app).resolve()), LINK]
        if run_config:
            file = self.folder / "run-config.toml"
            write_private(file, _toml(run_config).encode())
            command += ["--run-config", str(file)]
        return int(self.command(*command)["run-id"])

    def status(self, run: int) -> str:
        """How a run stands: ``pending``, ``running``, ``finished:completed``, …."""
        (found,) = self.command("list", LINK, "--run-id", str(run))["runs"]
        return str(found["status"])

    def wait(
        self,
        run: int,
        timeout: float = 3600.0,
        tell: Callable[[str], Any] = lambda line: None,
    ) -> None:
        """Waits for the end of a run, and starts nodes again that have ended meanwhile.

        Parameters
        ----------
        run : int
            What `submit` gave.
        timeout : float
            Seconds after which it has waited long enough.
        tell : callable
            Called with each line that the server's app prints; they are also in `run_log`.

        Raises
        ------
        DeploymentFailed
            If the run fails, or takes longer.
        """
        end = time.monotonic() + timeout
        told = 0
        while True:
            # This command ends with the run. Asking for its status again and again would take
            # a process, and a second of work, each time.
            self.run_log(run).unlink(missing_ok=True)
            self._follower = Process(
                [_program("flwr"), "log", str(run), LINK, "--stream"],
                self.run_log(run),
                self._environment(self.folder / "flower"),
                self.work_dir,
            )
            is_over = False
            while not is_over:
                is_over = not self._follower.runs or time.monotonic() > end
                lines = self._said(run)
                for line in lines[told:]:
                    tell(line)
                told = max(told, len(lines))
                self.tend()
                time.sleep(0.2)
            end_all([self._follower])
            status = self.status(run)
            if status == "finished:completed":
                return
            if status.startswith("finished") or time.monotonic() > end:
                words = "\n".join(self._said(run)[-15:])
                raise DeploymentFailed(
                    f"the run is {status}; end of its log:\n{words}",
                    f"see {self.run_log(run)}; submit it again to resume after its last round",
                )

    def run_log(self, run: int) -> Path:
        """What the server's app has said in a run, as far as `wait` has heard it."""
        return self.folder / f"run-{run}.log"

    def _said(self, run: int) -> list[str]:
        """The lines of a run's log that are whole, without colours and levels."""
        text = self.run_log(run).read_text(encoding="utf-8", errors="replace")
        lines = [COLOURS.sub("", line) for line in text.split("\n")[:-1]]
        return [LEVEL.sub("", line).rstrip() for line in lines]

    # Commands

    def command(self, *arguments: str) -> dict[str, Any]:
        """What a command of ``flwr`` answers; its exit status says too little."""
        done = subprocess.run(
            [_program("flwr"), *arguments, "--format", "json"],
            capture_output=True,
            text=True,
            env=self._environment(self.folder / "flower"),
            cwd=self.work_dir,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            answer = {}
        if not isinstance(answer, dict) or not answer.get("success"):
            said = (isinstance(answer, dict) and answer.get("error-message")) or (
                done.stdout + done.stderr
            )
            raise DeploymentFailed(
                f"`flwr {' '.join(arguments[:2])}` failed: {str(said).strip()}",
                f"check that the SuperLink runs: {self.link_log}",
            )
        return answer

    def _environment(self, home: Path) -> dict[str, str]:
        return {
            **os.environ,
            # Flower starts its own programs by their names.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            # Seconds; it is 1 otherwise, and 0.1 keeps a third of a core busy with five nodes.
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.25",
            # Words come when they are said, and not when there are many.
            "PYTHONUNBUFFERED": "1",
            # Also where nobody has set a language: what is said may hold any name.
            "PYTHONUTF8": "1",
        }


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Lets a second Ctrl-C wait: whoever is impatient would leave processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _program(name: str) -> str:
    """A program of Flower's, of the same environment as this Python."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise DeploymentFailed(
            f"{name} is not installed beside {sys.executable}",
            "install Flower there: pip install 'fedcompetitors[flower]'",
        )
    return str(path)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _toml(values: Mapping[str, Value]) -> str:
    # JSON's strings, numbers, true and false are TOML's.
    return "".join(
        f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in values.items()
    )


def _last_lines(log: Path, count: int = 15) -> str:
    if not log.exists():
        return "(none)"
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])
