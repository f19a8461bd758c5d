"""Processes with all that they have started, and their end.

A SuperLink and a node of Flower start processes of their own, some of them in a session of their
own, so a process group is not enough: what is to end is found by who is whose child.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Process", "end_all"]

# Which process, and when it began: the same number may be somebody else's later.
Known = tuple[int, str]


class Process:
    """A command that runs, in a session of its own, so that Ctrl-C at a terminal is ours alone.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    log : Path
        What it says goes there, behind what is there already.
    environment : mapping
        The environment.
    folder : Path
        Where it works.
    """

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
    ) -> None:
        with log.open("ab") as out:
            self.started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        """Does it still run?"""
        return self.started.poll() is None

    def family(self) -> list[Known]:
        """It and all that it has started, directly or not."""
        if not self.runs:
            return []
        children: dict[int, list[Known]] = {}
        found: list[Known] = []
        for pid, parent, began in _everybody():
            children.setdefault(parent, []).append((pid, began))
            if pid == self.started.pid:
                found.append((pid, began))
        at = 0
        while at < len(found):
            found += children.get(found[at][0], [])
            at += 1
        return found

    def kill(self) -> None:
        """Ends it and all that it has started, at once and without a word."""
        family = self.family()
        for known in family:
            _send(known, signal.SIGKILL)
        self.started.wait()
        _wait_for_end(family, 10)


def end_all(processes: Sequence[Process], patience: float = 5.0) -> None:
    """Asks all of them to end, and kills what is left after so many seconds."""
    families = [known for process in processes for known in process.family()]
    for process in processes:
        if process.runs:
            process.started.terminate()
    _wait_for_end(families, patience, processes)
    for known in families:
        _send(known, signal.SIGKILL)
    for process in processes:
        process.started.wait()
    _wait_for_end(families, 10)


def _wait_for_end(
    family: Sequence[Known], seconds: float, processes: Sequence[Process] = ()
) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # Also takes note of their end: until then they are in the list.
        if not any(process.runs for process in processes) and not any(map(_lives, family)):
            return
        time.sleep(0.05)


def _everybody() -> list[tuple[int, int, str]]:
    """Every process: its number, its parent's, and when it began."""
    proc = Path("/proc")
    if not (proc / "self/stat").exists():
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,lstart="], capture_output=True, text=True, check=True
        )
        rows = (line.split(None, 2) for line in listed.stdout.splitlines())
        return [(int(pid), int(parent), began.strip()) for pid, parent, began in rows]
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            stat = _stat(int(entry.name))
            if stat is not None:
                found.append((int(entry.name), int(stat[1]), stat[19]))
    return found


def _stat(pid: int) -> list[str] | None:
    """What Linux says of a process, behind its name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _lives(known: Known) -> bool:
    pid, began = known
    if Path("/proc/self/stat").exists():
        stat = _stat(pid)
        # A process that has ended, and that nobody has asked how, is no more.
        return stat is not None and stat[19] == began and stat[0] not in "ZX"
    return any((pid, began) == (one, since) for one, _, since in _everybody())


def _send(known: Known, what: signal.Signals) -> None:
    if _lives(known):
        try:
            os.kill(known[0], what)
        except ProcessLookupError:
            pass
