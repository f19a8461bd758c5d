"""What the documentation shows works, and the types hold."""

import doctest
import runpy
import subprocess
import sys
from pathlib import Path

import fedcompetitors
import pytest
from conftest import ROOT


def test_the_package_s_example() -> None:
    results = doctest.testmod(fedcompetitors)
    assert results.attempted > 0 and results.failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples/notebook").glob("*.py")), ids=lambda p: p.name)
def test_notebooks_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_readme_s_example(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text()
    section = readme.split("## From Python")[1].split("\n## ")[0]
    code = section.split("```python\n")[1].split("```")[0]
    exec(compile(code, "README.md", "exec"), {})
    assert "General may not learn from University" in capsys.readouterr().out


def test_everything_public_is_documented() -> None:
    for name in fedcompetitors.__all__:
        assert getattr(fedcompetitors, name).__doc__, name


def test_types_hold() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"]
    result = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
