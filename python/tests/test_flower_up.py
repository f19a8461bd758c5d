"""``python -m fedcompetitors.flower up``: what it says to wrong arguments, before anything starts."""

import subprocess
import sys
from pathlib import Path

import fedcompetitors as fc
import numpy as np
import pytest
from conftest import ROOT
from learners import five

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")

from fedcompetitors.errors import NotAnApp
from fedcompetitors.flower._up import main, read_application, run_config

EXAMPLE = ROOT / "examples/flower-hospitals"
COMPONENTS = '[tool.flwr.app.components]\nserverapp = "a:app"\nclientapp = "b:app"\n'
CONFIG = '[tool.flwr.app.config]\nrun-dir = "run"\n'
NODES = "[tool.fedcompetitors.nodes.a]\n[tool.fedcompetitors.nodes.b]\n"


def written(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_example_can_be_read() -> None:
    app = read_application(EXAMPLE)
    assert list(app.nodes) == str(app.config["participants"]).split(",")
    assert app.nodes["general"]["competitors"] == "clinic"
    for node in app.nodes.values():
        assert (EXAMPLE / str(node["data"])).is_file()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "is not valid TOML"),
        ("", "does not belong to a Flower application"),
        (COMPONENTS, "does not set the folder of the record"),
        (COMPONENTS + CONFIG, "does not list the participants"),
        (COMPONENTS + CONFIG + NODES.splitlines()[0], "does not list the participants"),
        (COMPONENTS + CONFIG + NODES + 'competitors = ["a"]', "node-config of b .*competitors"),
        (COMPONENTS + CONFIG + NODES + '[tool.fedcompetitors.nodes."../c"]', '"../c" cannot be the name of a participant'),
    ],
)
def test_what_is_missing_in_an_application_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(NotAnApp, match=words) as caught:
        read_application(written(tmp_path, text))
    assert "pyproject.toml" in str(caught.value) and caught.value.hint


def test_settings_of_the_run() -> None:
    known = {"run-dir": "run", "rounds": 5, "learner": "numpy"}
    given = run_config(["rounds=3", "learner=torch"], known, {"run-dir": "/here"})
    assert given == {"run-dir": "/here", "rounds": 3, "learner": "torch"}
    assert run_config(["learner='a b'"], known, {})["learner"] == "a b"
    with pytest.raises(NotAnApp, match='no setting "round"') as caught:
        run_config(["round=3"], known, {})
    assert "rounds" in caught.value.hint
    with pytest.raises(NotAnApp, match='"rounds" has no value'):
        run_config(["rounds"], known, {})


def test_wrong_arguments_end_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr().err
    assert "nowhere" in said and "hint: " in said
    assert main(["up", str(EXAMPLE), "--folder", str(tmp_path / "f"), "-c", "x=1"]) == 2
    assert not (tmp_path / "f").exists()
    for wrong in ([], ["down"], ["up", "--timeout", "soon"]):
        with pytest.raises(SystemExit, match="2"):
            main(wrong)


def test_a_complete_run_is_not_begun_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fc.Federation(five()).run(np.zeros(5), tmp_path / "f/run", rounds=1, probe_steps=5)
    assert main(["up", str(EXAMPLE), "--folder", str(tmp_path / "f")]) == 2
    assert "is complete" in capsys.readouterr().err


def test_help_says_how_to_begin() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fedcompetitors.flower", "up", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[tool.fedcompetitors.nodes.general]" in done.stdout
    assert "--folder" in done.stdout


def test_the_data_is_what_its_script_writes(tmp_path: Path) -> None:
    (tmp_path / "make_data.py").write_bytes((EXAMPLE / "make_data.py").read_bytes())
    subprocess.run([sys.executable, "make_data.py"], cwd=tmp_path, check=True)
    for file in (EXAMPLE / "data").iterdir():
        assert (tmp_path / "data" / file.name).read_bytes() == file.read_bytes()
