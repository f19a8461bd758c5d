"""A real deployment of Flower on this machine: TLS, keys, processes that are killed."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
import pytest
from conftest import ROOT

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")

from fedcompetitors.errors import DeploymentFailed
from fedcompetitors.flower import LocalDeployment
from fedcompetitors.flower._up import read_application

EXAMPLE = ROOT / "examples/flower-hospitals"

# Who does what: one is killed, one sends garbage, one is at work while the link is killed.
KILLED, GARBLED, WORKING, STRANGER = "harbour", "mountain", "university", "quack"


def until(condition: Callable[[], Any], what: str, timeout: float = 300.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"after {timeout:g} s still not: {what}"
        time.sleep(0.1)


def faulty(folder: Path) -> Path:
    """The example's app, with faults to order."""
    app = folder / "hospitals-app"
    shutil.copytree(EXAMPLE, app, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(Path(__file__).with_name("faulty_hospitals.py"), app / "hospitals/faulty.py")
    project = app / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    sound = "hospitals.client_app:app"
    assert text.count(sound) == 1
    project.write_text(text.replace(sound, "hospitals.faulty:app"), encoding="utf-8")
    return app


def tensors(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    """A safetensors file: the length of its header, the header, numbers."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in about["data_offsets"])
            found[name] = np.frombuffer(data[begin:end], "<f4").reshape(about["shape"])
    return found


def query(folder: Path, text: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "run.sqlite")) as database:
        return list(database.execute(text))


def left_over(folder: Path) -> list[str]:
    """Processes that know the folder, as all of a deployment's do."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (one / "environ").read_bytes():
                found.append((one / "cmdline").read_text().replace("\0", " "))
        except OSError:
            pass
    return found


def test_five_hospitals_with_every_fault_there_is(tmp_path: Path) -> None:
    app = faulty(tmp_path)
    known = read_application(app)
    run_dir, keys, hold = tmp_path / "run", tmp_path / "keys", tmp_path / "hold"
    keys.mkdir()
    settings = {
        "run-dir": str(run_dir),
        "keys": str(keys),
        "rounds": 2,
        "local-steps": 5,
        "probe-steps": 50,
        "search-rounds": 1,
    }
    faults: dict[str, dict[str, Any]] = {
        GARBLED: {"garbage-in": 1},
        KILLED: {"holds-in": 1, "hold": f"{hold}-{KILLED}"},
        WORKING: {"holds-in": 2, "hold": f"{hold}-{WORKING}"},
    }

    def asked(name: str) -> list[str]:
        file = tmp_path / f"{name}.journal"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    with LocalDeployment(tmp_path / "local", work_dir=app) as local:
        for name, node in known.nodes.items():
            own = {"journal": str(tmp_path / f"{name}.journal"), **faults.get(name, {})}
            local.add_node(name, {**node, **own, "output": str(tmp_path / "models" / name)})
            (keys / f"{name}.pub").write_text(local.public_key(name), encoding="utf-8")
        # It claims to be somebody whom all know, and the link does not know its key.
        pretence = {"participant": "clinic", "journal": str(tmp_path / "stranger.journal")}
        local.add_node(STRANGER, pretence, is_registered=False)
        until(lambda: not local.node_runs(STRANGER), "the stranger is refused")
        assert "Failed to initialize the connection" in local.node_log(STRANGER).read_text()
        for private in ("key", "node.toml"):
            file = local.node_folder("clinic") / private
            assert file.stat().st_mode & 0o777 == 0o600
        local.wait_for_nodes(list(known.nodes))
        assert local.online() == set(known.nodes)

        for name in (KILLED, WORKING):
            Path(f"{hold}-{name}").touch()
        first = local.submit(app, settings)

        # One is killed at work, with its app, and comes back without its memory.
        until(lambda: "round 1" in asked(KILLED), f"{KILLED} works in round 1")
        local.kill_node(KILLED)
        Path(f"{hold}-{KILLED}").unlink()
        local.start_node(KILLED)

        # The round goes on without it; then the link is killed in the midst of the next one.
        until(lambda: local.tend() or "round 2" in asked(WORKING), f"{WORKING} works in round 2")
        local.kill_link()
        Path(f"{hold}-{WORKING}").unlink()
        local.start_link()

        # Submitted again, it goes on behind the last round that was complete.
        local.wait_for_nodes(list(known.nodes))
        said: list[str] = []
        local.wait(local.submit(app, settings), 600, said.append)
        # Only after a minute of silence does the link give up what it has lost.
        until(lambda: local.status(first).startswith("finished"), "the first run is given up")
        assert local.status(first) == "finished:failed"
    assert any("resumes after round 1 of 2" in line for line in said), said
    assert left_over(tmp_path) == []

    asked_of_all = {name: asked(name) for name in known.nodes}
    for name, stages in asked_of_all.items():
        assert stages.count("probe 1") == 1, name
        assert stages.count("round 1") == 1, name
        assert "round 2" in stages and "end 2" in stages, name
    assert asked_of_all[WORKING].count("round 2") == 2
    assert asked("stranger") == []

    # Nobody carries a competitor's data, by what everybody's own node-config says.
    names = list(known.nodes)
    rivals = {
        name: [rival for rival in str(node.get("competitors", "")).split(",") if rival]
        for name, node in known.nodes.items()
    }
    competing = fc.CompetingGraph(rivals, names)
    found = fc.audit(run_dir, competing)
    assert (found.status, found.models, found.findings) == (
        "complete with incidents",
        5,
        (),
    )
    incidents = query(
        run_dir,
        "SELECT round, name, kind FROM incidents JOIN participants"
        " ON participants.id = participant ORDER BY incidents.id",
    )
    assert (1, GARBLED, "not-finite") in incidents
    assert (1, KILLED, "missing") in incidents

    # Everybody has its model, and the coordinator has the same.
    kept = {name: next((run_dir / "models").glob(f"*-{name}.safetensors")) for name in names}
    for name in names:
        with np.load(tmp_path / "models" / name / "model.npz") as own:
            here = dict(own)
        there = tensors(kept[name])
        assert set(here) == set(there) == {"weight", "bias"}
        for part, values in here.items():
            np.testing.assert_array_equal(values, there[part])
            assert np.isfinite(values).all()
        figures = json.loads((tmp_path / "models" / name / "metrics.json").read_text())
        assert 0 <= figures["test-accuracy"] <= 1


def test_a_run_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with LocalDeployment(tmp_path / "local") as local:
        with pytest.raises(DeploymentFailed, match="`flwr run"):
            local.submit(tmp_path)
        run = local.submit(EXAMPLE, {"run-dir": str(tmp_path / "run"), "patience": 0.1})
        with pytest.raises(DeploymentFailed, match="0 of at least 3 participants are connected"):
            local.wait(run, 300)
    assert left_over(tmp_path) == []
