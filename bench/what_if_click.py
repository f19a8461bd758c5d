"""From a click to what is seen, on the what-if page: `what_if_click.py PROGRAM [PARTICIPANTS] [TIMES]`.

Runs a federation of that many, serves it and lets Chromium press "They compete" for one pair after another. Prints
one line of JSON: milliseconds in the middle and at most, for the answer alone as the server gives it, and in the
browser from the press until the changed page is painted.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

# From the press to the second frame after the page has changed: the first one may be on its way already.
PRESS = """new Promise((done) => {
  const list = (id, value) => { document.getElementById(id).value = value; };
  list("a", %d); list("b", %d);
  const start = performance.now();
  new MutationObserver((_, watch) => {
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
  }).observe(document.getElementById("changes"), { childList: true, subtree: true });
  document.getElementById("compete").click();
})"""


class Chromium:
    """Chromium without a window, driven over two pipes."""

    def __init__(self, profile: str) -> None:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        assert program, "there is no Chromium"
        theirs_in, self.into = os.pipe()
        self.out, theirs_out = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', program, *options]
            + [f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.count, self.session = b"", 0, ""
        pages = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in pages if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]

    def ask(self, method: str, **parameters: Any) -> Any:
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.out, 1 << 16)
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]

    def eval(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


def federation(count: int) -> str:
    """Groups of ten that are alike; everybody competes with somebody of another group."""
    lines = ['name = "many"', "[selection]", 'policy = "greedy"', "[training]", "rounds = 2", "local-steps = 2"]
    for at in range(count):
        rival = (at + 11) % count
        lines += ["[[participants]]", f'name = "Hospital {at}"', f'competes-with = ["Hospital {rival}"]']
        lines += [f"generate = {{ samples = 60, kind = {at // 10} }}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "federation.toml"
        file.write_text(federation(count))
        subprocess.run([program, "run", str(file), "--out", f"{folder}/run"], check=True, capture_output=True)
        serve = subprocess.Popen(
            [program, "serve", f"{folder}/run", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
        )
        assert serve.stderr is not None
        page = "http://127.0.0.1:" + serve.stderr.readline().split("127.0.0.1:")[1].split("/")[0] + "/run/run/what-if"
        # Pairs that do not compete yet.
        pairs = [(1 + at % count, 1 + (at + 5) % count) for at in range(times)]
        answers = []
        for a, b in pairs:
            begin = time.perf_counter()
            with urllib.request.urlopen(f"{page}?compete={a}-{b}") as answer:
                size = len(answer.read())
            answers.append(1000 * (time.perf_counter() - begin))
        browser = Chromium(f"{folder}/profile")
        browser.ask("Page.enable")
        browser.ask("Page.navigate", url=page)
        while browser.eval("document.readyState === 'complete' && Boolean(document.getElementById('compete'))") is not True:
            time.sleep(0.05)
        presses = [browser.eval(PRESS % pair) for pair in pairs]
        changed = browser.eval("document.querySelectorAll('#changes li').length")
        assert changed == times, f"{changed} of {times} changes"
        browser.process.kill()
        serve.terminate()
        browser.process.wait()
        serve.wait()
    told = {"participants": count, "page_bytes": size}
    for name, found in (("answer_ms", answers), ("click_to_paint_ms", presses)):
        told |= {name: round(statistics.median(found), 1), f"{name}_at_most": round(max(found), 1)}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
