"""What the documentation shows works, and the types hold."""

import dataclasses
import doctest
import importlib
import io
import os
import re
import runpy
import shutil
import ssl
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import ModuleType

import fedcompetitors as fc
import pytest
from conftest import ROOT


@pytest.fixture(params=["fedcompetitors", "fedcompetitors.flower"])
def package(request: pytest.FixtureRequest) -> ModuleType:
    """Each package that offers something."""
    if request.param == "fedcompetitors.flower":
        pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")
    return importlib.import_module(request.param)


def test_examples_of_all_that_is_public(package: ModuleType) -> None:
    # One by one: `doctest.testmod` passes by what a package only hands on from its modules. And
    # with public names alone, as who copies an example has no others.
    known = {name: getattr(package, name) for name in package.__all__}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    found = finder.find(package, package.__name__, globs=known)
    for name, what in known.items():
        found += finder.find(what, f"{package.__name__}.{name}", globs=known)
    ran = {test.name for test in found if runner.run(test).attempted}
    assert runner.summarize().failed == 0
    if package.__name__ == "fedcompetitors":
        assert {"fedcompetitors", "fedcompetitors.Federation"} <= ran


@pytest.mark.parametrize("path", sorted((ROOT / "examples/notebook").glob("*.py")), ids=lambda p: p.name)
def test_notebooks_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def blocks(document: str) -> list[tuple[str, str, int]]:
    """Kind and content of each fenced block, and where the content begins."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(match[1], match[2], match.start(2)) for match in found]


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/flower.md"])
def test_documents_show_what_python_does(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python blocks run one after the other; a `text` block behind one is its output."""
    if document == "docs/flower.md":
        pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    text = (ROOT / document).read_text(encoding="utf-8")
    printed, updated = "", text
    for kind, content, begin in blocks(document):
        if kind == "python":
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(content, document, "exec"), known)
            printed = output.getvalue()
        elif kind == "text":
            # `INSTA_UPDATE=always` writes the output into the documents, as in Rust.
            if os.environ.get("INSTA_UPDATE") == "always":
                at = begin + len(updated) - len(text)
                updated = updated[:at] + printed + updated[at + len(content) :]
            else:
                assert printed == content
    assert known, "nothing was run"
    if updated != text:
        (ROOT / document).write_text(updated, encoding="utf-8")


def test_a_node_s_configuration_has_the_keys_that_are_read() -> None:
    (document,) = [content for kind, content, _ in blocks("docs/flower.md") if kind == "toml"]
    read = (ROOT / "python/fedcompetitors/flower/_client.py").read_text(encoding="utf-8")
    for key in tomllib.loads(document):
        # The learner of the example reads its data itself.
        assert key == "data" or f'node_config.get("{key}"' in read, key


def test_what_the_tables_of_the_documents_name_is_there() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    named = re.search(r"`Plan` with (.*?) \|", text)
    assert named
    for attribute in re.findall(r"`(\w+)`", named[1]):
        assert hasattr(fc.Plan, attribute), attribute
    defaults = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", text, re.MULTILINE))
    assert defaults == {field.name: repr(field.default) for field in dataclasses.fields(fc.Settings)}


def test_the_certificates_of_the_flower_example(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    readme = (ROOT / "examples/flower-hospitals/README.md").read_text()
    code = readme.split("Certificates, once.")[1].split("```sh\n")[1].split("```")[0]
    subprocess.run(["sh", "-e", "-c", code], cwd=tmp_path, capture_output=True, check=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    client = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    # Python 3.13 and later are so strict by themselves.
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in ("link.example.org", "localhost", "127.0.0.1"):
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        asking = client.wrap_bio(back, there, server_hostname=name)
        answering = server.wrap_bio(there, back, server_side=True)
        for end in (asking, answering) * 2:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
        assert asking.getpeercert(), name


def test_everything_public_is_documented(package: ModuleType) -> None:
    for name in package.__all__:
        what = getattr(package, name)
        assert what.__doc__, name
        if isinstance(what, type) and dataclasses.is_dataclass(what):
            # A dataclass without words gets its signature for them.
            assert not what.__doc__.startswith(f"{name}("), name
            for field in what.__annotations__:
                assert field.startswith("_") or field in what.__doc__, f"{name}.{field}"


def test_types_hold() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"]
    result = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
