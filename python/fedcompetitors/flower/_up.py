"""``up``: an application of Flower on one machine, from nothing to everybody's model."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedcompetitors._federation import audit
from fedcompetitors.errors import DeploymentFailed, FedCompetitorsError, NotAnApp, RunExists
from fedcompetitors.flower._local import LocalDeployment, Value

__all__ = ["main", "read_application"]

# What Flower says of itself before an application says anything.
NOISE = (
    "Using SuperLink",
    "Starting logstream",
    "Start `flwr-serverapp`",
    "Successfully installed",
)

DESCRIPTION = """\
Runs a Flower application on this machine as it would run on many: starts a SuperLink with TLS
and a node with its own key for each participant, submits a run, shows its progress, and
prints where the models and the record are."""

EPILOG = """\
The application's pyproject.toml lists the participants, each with its node-config:

  [tool.fedcompetitors.nodes.general]
  data = "data/general.csv"
  competitors = "clinic"

To resume an interrupted run, run the same command again. SuperLink and nodes end with the
command, also at Ctrl-C. Exit status: 0 success, 1 the run has failed, 2 wrong usage, 130 stopped.

example:
  python -m fedcompetitors.flower up examples/flower-hospitals --run-config rounds=3"""


@dataclass(frozen=True)
class Application:
    """An application of Flower that can be tried here.

    Attributes
    ----------
    folder : Path
        Where its ``pyproject.toml`` is.
    nodes : dict
        The node-config of each participant.
    config : dict
        What its run-config says.
    """

    folder: Path
    nodes: dict[str, dict[str, Value]]
    config: dict[str, Value]


def read_application(folder: Path) -> Application:
    """Reads who takes part from an application's ``pyproject.toml``.

    Raises
    ------
    NotAnApp
        If something is missing there.
    """
    file = folder / "pyproject.toml"
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotAnApp(
            f"{file} cannot be read: {error.strerror}",
            "give the folder of an application, such as examples/flower-hospitals",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NotAnApp(f"{file} is not valid TOML: {error}", "correct that line") from error
    tool = table.get("tool", {})
    app = tool.get("flwr", {}).get("app", {})
    if not app.get("components", {}).get("serverapp"):
        raise NotAnApp(
            f"{file} does not belong to a Flower application",
            "it needs [tool.flwr.app.components] with `serverapp` and `clientapp`",
        )
    config = app.get("config", {})
    if "run-dir" not in config:
        raise NotAnApp(
            f"{file} does not set the folder of the record",
            'add `run-dir = "run"` to [tool.flwr.app.config], and pass it to the strategy',
        )
    nodes = tool.get("fedcompetitors", {}).get("nodes", {})
    if not isinstance(nodes, dict) or len(nodes) < 2:
        raise NotAnApp(
            f"{file} does not list the participants",
            "add a table [tool.fedcompetitors.nodes.NAME] with the node-config of each participant",
        )
    for name, node in nodes.items():
        if Path(name).name != name or name.startswith("."):
            raise NotAnApp(
                f'{file}: "{name}" cannot be the name of a participant, as files have these names',
                "use a name without / and without a dot at the start",
            )
        wrong = [
            key
            for key, value in (node.items() if isinstance(node, dict) else [("", node)])
            if not isinstance(value, str | int | float | bool)
        ]
        if wrong or not isinstance(node, dict):
            raise NotAnApp(
                f"{file}: the node-config of {name} may only have texts, numbers, true and false"
                f" ({', '.join(wrong)})",
                'write lists as one text, as in competitors = "clinic, harbour"',
            )
    return Application(folder.resolve(), nodes, config)


def run_config(
    pairs: Sequence[str], known: dict[str, Value], least: dict[str, Value]
) -> dict[str, Value]:
    """What is said of the run on the command line, on top of what it needs here.

    Raises
    ------
    NotAnApp
        If the application knows nothing of it.
    """
    given = dict(least)
    for pair in pairs:
        key, is_there, text = pair.partition("=")
        if not is_there or key not in known:
            raise NotAnApp(
                f'the application has no setting "{key}"'
                if is_there
                else f'"{pair}" has no value',
                f"give KEY=VALUE, where KEY is one of {', '.join(known)}",
            )
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            # Nobody wants to quote quotes: what is nothing else is a text.
            value = text
        given[key] = value
    return given


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    whole = argparse.ArgumentParser(
        prog="python -m fedcompetitors.flower", description="FedCompetitors on Flower."
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser(
        "up",
        help="run an application on this machine",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    up.add_argument(
        "app",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="APP_DIR",
        help="the folder of the application (default: the current folder)",
    )
    up.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="the folder for keys, logs, models and record (default: ./APP-try)",
    )
    up.add_argument(
        "--run-config",
        "-c",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the application; can be repeated",
    )
    up.add_argument(
        "--timeout",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="end the run if it takes longer (default: 3600)",
    )
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the arguments say, and gives the exit status."""
    given = parser().parse_args(arguments)
    # Whoever ends us ends the SuperLink and the nodes, too.
    before = {one: signal.signal(one, _stop) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        _up(given)
    except KeyboardInterrupt:
        print("stopped; run the same command again to resume", file=sys.stderr)
        return 130
    except DeploymentFailed as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    except FedCompetitorsError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 2
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    return 0


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _up(given: argparse.Namespace) -> None:
    app = read_application(given.app)
    folder = (given.folder or Path(f"{app.folder.name}-try")).resolve()
    run_dir, keys = folder / "run", folder / "keys"
    least: dict[str, Value] = {"run-dir": str(run_dir)}
    if "keys" in app.config:
        least["keys"] = str(keys)
    config = run_config(given.run_config, app.config, least)
    run_dir = Path(app.folder, str(config["run-dir"]))
    if (run_dir / "run.sqlite").exists() and audit(run_dir).is_complete:
        raise RunExists(
            f"the run in {run_dir} is complete", "choose another --folder, or remove this one"
        )
    outputs = {
        name: Path(app.folder, str(node.get("output", folder / "models" / name)))
        for name, node in app.nodes.items()
    }
    _say(f"starting SuperLink and {len(app.nodes)} nodes in {folder}")
    with LocalDeployment(folder, work_dir=app.folder) as local:
        keys.mkdir(exist_ok=True)
        for name, node in app.nodes.items():
            local.add_node(name, {**node, "output": str(outputs[name])})
            (keys / f"{name}.pub").write_text(local.public_key(name), encoding="utf-8")
        _say(f"SuperLink: {local.address}, with TLS; nodes are identified by their keys")
        local.wait_for_nodes(list(app.nodes))
        _say(f"connected: {', '.join(app.nodes)}")
        run = local.submit(app.folder, config)
        _say(f"run {run} submitted")
        local.wait(run, given.timeout, _say_what_the_app_says)
    _tell_where(run_dir, outputs, folder)


def _tell_where(run_dir: Path, outputs: dict[str, Path], folder: Path) -> None:
    found = audit(run_dir)
    kept = "no participant's data reached a competitor"
    verdict = kept if found.is_clean else "; ".join(found.findings)
    _say(f"\n{found.transfers} transfers replayed: {verdict}")
    _say("\nthe model of each participant, on its side:")
    for name, output in outputs.items():
        _say(f"  {name}: {_near(output / 'model.npz')}")
    _say(f"the coordinator's record, with plan, proof and models: {_near(run_dir)}")
    _say(f"logs: {_near(folder / 'link.log')}, {_near(folder / 'nodes')}")
    _say(f"\ncheck it yourself: fedcompetitors audit {_near(run_dir)}")


def _near(path: Path) -> str:
    """A path from here, where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)


def _say_what_the_app_says(line: str) -> None:
    if not line.startswith(NOISE):
        _say(line)


def _say(text: str) -> None:
    print(text, flush=True)
