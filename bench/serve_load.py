"""How much a run is slowed by those who watch it: `serve_load.py PROGRAM FEDERATION [READERS] [REPEATS]`.

Runs a federation alone and with readers of its live page, in turn, and prints one line of JSON a pair: seconds of
both, the processor's seconds of both, of the server and of the readers, what readers got, and the slowdown; in the end the means.
Which one is first changes from pair to pair, as machines get faster and slower by themselves.
"""

import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def end_of(process: "subprocess.Popen[str]") -> float:
    """Waits for it; gives the seconds of the processor that it has used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def started(program: str, federation: str, folder: Path) -> "subprocess.Popen[str]":
    command = [program, "run", federation, "--out", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def alone(program: str, federation: str, folder: Path) -> dict[str, float]:
    start = time.monotonic()
    run = started(program, federation, folder)
    used = end_of(run)
    assert run.returncode == 0
    return {"alone_s": time.monotonic() - start, "alone_used_s": used}


class Readers:
    """Readers of one page, all on one thread that sleeps until somebody gets something: readers have machines of
    their own, and what counts is what they ask of the server."""

    def __init__(self, port: int, count: int) -> None:
        self.received = [0] * count
        self.over = False
        self.sockets = []
        self.ready = selectors.DefaultSelector()
        for at in range(count):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(f"GET /run/run/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            one.setblocking(False)
            self.ready.register(one, selectors.EVENT_READ, at)
            self.sockets.append(one)
        self.room = bytearray(1 << 18)
        self.used = 0.0
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self) -> None:
        while not self.over:
            for key, _ in self.ready.select(0.5):
                self.received[key.data] += key.fileobj.recv_into(self.room)
        self.used = time.thread_time()

    def end(self) -> None:
        self.over = True
        self.thread.join()
        for one in self.sockets:
            one.close()


def watched(program: str, federation: str, folder: Path, count: int) -> dict[str, float]:
    start = time.monotonic()
    run = started(program, federation, folder)
    while not (folder / "run.sqlite").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    serve = subprocess.Popen(
        [program, "serve", str(folder), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    assert serve.stderr is not None
    port = int(serve.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
    readers = Readers(port, count)
    used = end_of(run)
    assert run.returncode == 0
    seconds = time.monotonic() - start
    readers.end()
    serve.terminate()
    return {
        "watched_s": seconds,
        "watched_used_s": used,
        "server_used_s": end_of(serve),
        "readers_used_s": readers.used,
        "least_bytes": min(readers.received),
        "most_bytes": max(readers.received),
    }


def main() -> None:
    program, federation = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    lines: list[dict[str, float]] = []
    for turn in range(int(sys.argv[4]) if len(sys.argv) > 4 else 4):
        with tempfile.TemporaryDirectory() as folder:
            sides = [
                lambda: alone(program, federation, Path(folder) / "alone" / "run"),
                lambda: watched(program, federation, Path(folder) / "watched" / "run", count),
            ]
            line: dict[str, float] = {"readers": count}
            for side in sides if turn % 2 == 0 else reversed(sides):
                line |= side()
        line["slower_by"] = line["watched_s"] / line["alone_s"] - 1
        lines.append(line)
        print(json.dumps({key: round(value, 4) for key, value in line.items()}), flush=True)
    means = {key: round(statistics.mean(line[key] for line in lines), 4) for key in lines[0]}
    print(json.dumps({"means": means}))


if __name__ == "__main__":
    main()
