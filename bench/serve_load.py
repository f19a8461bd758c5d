"""How much a run is slowed by those who watch it: `serve_load.py PROGRAM FEDERATION [READERS] [REPEATS]`.

Runs a federation alone and with readers of its live page, in turn, and prints one line of JSON a pair:
seconds of both, what readers got, and the slowdown.
"""

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def timed(program: str, federation: str, folder: Path) -> float:
    start = time.monotonic()
    subprocess.run([program, "run", federation, "--out", str(folder)], check=True, capture_output=True)
    return time.monotonic() - start


class Readers:
    """Readers of one page, all on one thread: what counts is what they ask of the server."""

    def __init__(self, port: int, count: int) -> None:
        self.received = [0] * count
        self.over = False
        self.sockets = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(f"GET /run/run/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            one.setblocking(False)
            self.sockets.append(one)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self) -> None:
        while not self.over:
            for at, one in enumerate(self.sockets):
                try:
                    self.received[at] += len(one.recv(1 << 20))
                except BlockingIOError:
                    pass
            time.sleep(0.05)

    def end(self) -> None:
        self.over = True
        self.thread.join()
        for one in self.sockets:
            one.close()


def watched(program: str, federation: str, folder: Path, count: int) -> tuple[float, list[int]]:
    start = time.monotonic()
    run = subprocess.Popen(
        [program, "run", federation, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (folder / "run.sqlite").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    serve = subprocess.Popen(
        [program, "serve", str(folder), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    assert serve.stderr is not None
    port = int(serve.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
    readers = Readers(port, count)
    assert run.wait() == 0
    seconds = time.monotonic() - start
    readers.end()
    serve.terminate()
    serve.wait()
    return seconds, readers.received


def main() -> None:
    program, federation = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    for _ in range(int(sys.argv[4]) if len(sys.argv) > 4 else 3):
        with tempfile.TemporaryDirectory() as folder:
            alone = timed(program, federation, Path(folder) / "alone" / "run")
            seconds, received = watched(program, federation, Path(folder) / "watched" / "run", count)
        line = {"readers": count, "alone_s": round(alone, 3), "watched_s": round(seconds, 3)}
        line |= {"slower_by": round(seconds / alone - 1, 4), "least_bytes": min(received), "most_bytes": max(received)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
