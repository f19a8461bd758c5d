"""The Flower strategy, in process: a fake grid, real messages."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
import pytest
from fedcompetitors import errors
from learners import Linear, five

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_public_key,
)
from fake_grid import FakeGrid, Node, said
from fedcompetitors._participants import Request
from fedcompetitors.flower import _client, client_app
from fedcompetitors.flower._keys import make_node_key, plain_key
from fedcompetitors.flower._messages import arrays, flat, read_answer, request_record
from flower_runs import NAMES, RIVALS, in_round, incidents, nodes, start, strategy, with_b_coming_in
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict


def test_everybody_gets_its_own_model_and_nobody_a_competitors(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    result = start(strategy(tmp_path / "run"), grid)
    assert set(result.models) == set(NAMES)
    assert [array.shape for array in result.models["a"].values()] == [(5, 1)]
    assert fc.audit(tmp_path / "run", fc.CompetingGraph(RIVALS, NAMES)).is_clean
    assert result.outcome is not None and not result.outcome.had_incidents
    assert result.plan is not None and result.plan.edges
    assert all("test-loss" in result.metrics[name] for name in NAMES)
    # Each round has everybody's own figures, and nothing is averaged over all.
    assert set(result.history[3]) == set(NAMES)
    assert result.train_metrics_clientapp == {} and result.evaluate_metrics_clientapp == {}
    assert "learns from" in repr(result)
    # The same as in one process, with the same learners.
    outcome = fc.Federation(five(), RIVALS).run(
        np.zeros(5), tmp_path / "here", rounds=6, probe_steps=200
    )
    for name, model in outcome.models.items():
        (array,) = result.models[name].values()
        np.testing.assert_array_equal(array.numpy().ravel(), model)


def test_nobody_hears_of_others_and_records_are_not_shared(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    start(strategy(tmp_path / "run"), grid, rounds=2)
    records = [said(message) for message in grid.messages]
    assert len({id(record) for record in records}) == len(records)
    for message in grid.messages:
        assert "competitors" not in said(message)
        if said(message)["stage"] != "end":
            assert not any(f"'{name}'" in str(dict(said(message))) for name in NAMES)
    # Few exchanges: reports travel with the first training.
    stages = [str(said(message)["stage"]) for message in grid.messages]
    assert stages.count("probe") == 5 and stages.count("round") == 10 and stages.count("end") == 5
    kinds = {str(said(m)["stage"]): m.metadata.message_type for m in grid.messages}
    assert kinds == {
        "probe": MessageType.TRAIN,
        "weigh": MessageType.EVALUATE,
        "round": MessageType.TRAIN,
        "end": MessageType.EVALUATE,
    }


def garbage(content: RecordDict) -> None:
    (array,) = content["arrays"].values()  # type: ignore[union-attr]
    content["arrays"] = ArrayRecord([np.full(array.shape, np.nan, np.float32)])


def wrong_length(content: RecordDict) -> None:
    content["arrays"] = ArrayRecord([np.zeros(3, np.float32)])


def no_metrics(content: RecordDict) -> None:
    del content["metrics"]


def another_name(content: RecordDict) -> None:
    content["config"]["participant"] = "a"  # type: ignore[index]


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("missing", "missing"),
        ("error", "missing"),
        (garbage, "not-finite"),
        (wrong_length, "wrong-length"),
        (no_metrics, "unreadable"),
        (another_name, "unreadable"),
    ],
)
def test_a_round_goes_on_without_what_cannot_be_used(tmp_path: Path, what: Any, kind: str) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[15].fault = in_round(2, what)
    result = start(strategy(tmp_path / "run"), grid)
    assert incidents(tmp_path / "run") == [(2, "e", kind)]
    assert "e" not in result.history[2] and "e" in result.history[3]
    assert fc.audit(tmp_path / "run").is_clean
    (model,) = result.models["e"].values()
    assert np.isfinite(model.numpy()).all()


def test_too_few_answers_end_the_run_and_it_goes_on_later(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    for node in grid.nodes.values():
        node.fault = in_round(3, "missing")
    with pytest.raises(errors.TooFewAnswers):
        start(strategy(tmp_path / "run"), grid)
    told: list[str] = []
    # A new run on Flower: nodes have lost their memory.
    again = FakeGrid(nodes())
    result = start(strategy(tmp_path / "run", tell=told.append), again)
    assert any("resumes after round 2" in text for text in told)
    stages = [(said(m)["stage"], said(m)["server-round"]) for m in again.messages]
    assert ("probe", 1) not in stages and ("round", 3) in stages and ("round", 2) not in stages
    assert fc.audit(tmp_path / "run").is_clean
    assert set(result.models) == set(NAMES)


def test_arrays_travel_as_flower_would_have_them() -> None:
    chance = np.random.default_rng(1)
    for shape in ([3, 4], [7], [], [2, 0]):
        numbers = chance.standard_normal(math.prod(shape)).astype(np.float32)
        (ours,) = arrays(numbers, [("x", shape)]).values()
        theirs = Array(numbers.reshape(shape))
        assert (ours.data, ours.dtype, tuple(ours.shape)) == (theirs.data, "float32", tuple(shape))
        np.testing.assert_array_equal(flat(ArrayRecord({"x": theirs})), numbers)
    # What is not as it mostly is comes through Flower's own door.
    table = chance.standard_normal((3, 4))
    for array in (table, np.asfortranarray(table.astype(np.float32)), table.astype(">f4")):
        np.testing.assert_array_equal(
            flat(ArrayRecord([array])), array.astype(np.float32).ravel()
        )
    cut = Array("float32", (3,), "numpy.ndarray", Array(np.zeros(3, np.float32)).data[:-1])
    for wrong in (cut, Array("float32", (3,), "numpy.ndarray", b"no array")):
        with pytest.raises(ValueError):
            flat(ArrayRecord({"x": wrong}))


def test_who_comes_later_joins(tmp_path: Path) -> None:
    grid = with_b_coming_in(3)
    told: list[str] = []
    result = start(strategy(tmp_path / "run", tell=told.append), grid)
    assert any(text.startswith("b joined") for text in told)
    assert result.plan is not None and result.plan.helpers("b")
    assert "b" in result.history[4] and "b" not in result.history[3]
    assert fc.audit(tmp_path / "run").is_clean


def test_who_leaves_gets_and_gives_nothing_more(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())

    def leaves(asked: int, message: Message) -> Callable[[RecordDict], None] | None:
        def leave(content: RecordDict) -> None:
            content["config"]["leaves"] = True  # type: ignore[index]

        return leave if said(message)["server-round"] == 2 else None

    grid.nodes[11].fault = leaves
    result = start(strategy(tmp_path / "run"), grid)
    assert result.plan is not None and result.plan.left == ("a",)
    asked = [said(m) for m in grid.messages if m.metadata.dst_node_id == 11]
    assert [one["server-round"] for one in asked if one["stage"] == "round"] == [1, 2]
    assert fc.audit(tmp_path / "run").is_clean


def test_a_competition_that_is_declared_later_changes_the_plan(tmp_path: Path) -> None:
    # c has helped nobody and got nothing yet that a's friends carry.
    grid = FakeGrid(nodes({"a": ["c"], "d": ["b"], "c": ["e", "d"]}))

    def declare(asked: int, message: Message) -> None:
        if said(message)["server-round"] == 2 and said(message)["stage"] == "round":
            grid.nodes[15].config["competitors"] = "d"

    grid.nodes[15].fault = declare
    told: list[str] = []
    result = start(strategy(tmp_path / "run", tell=told.append), grid)
    assert any("e now competes with d" in text for text in told)
    assert result.plan is not None and result.outcome is not None
    assert fc.audit(tmp_path / "run").is_clean, fc.audit(tmp_path / "run")
    # Each has learned from the other: both go no further, and end with their last models
    # without that.
    assert result.plan.left == ("d", "e")
    (text,) = [text for text in told if "declared too late" in text]
    for late, rival in (("d", "e"), ("e", "d")):
        assert f"declared too late: the model of {late} carries data of its competitor {rival} since round 2" in text
        assert "its last model without that data is from round 1" in text
        assert result.outcome.carries[late] == (late,)
        node = 11 + NAMES.index(late)
        asked = [m for m in grid.messages if m.metadata.dst_node_id == node]
        rounds = [said(m)["server-round"] for m in asked if said(m)["stage"] == "round"]
        assert rounds == [1, 2]
        (end,) = [m for m in asked if said(m)["stage"] == "end"]
        assert said(end)["replaces"]
        # Only e has named its competitor, and may be told of it.
        assert ("compete" in json.loads(str(said(end)["plan"]))["too_late"]) == (late == "e")
        (model,) = result.models[late].values()
        (sent,) = end.content["arrays"].values()  # type: ignore[union-attr]
        assert model.data == sent.data
        assert "test-loss" in result.metrics[late]


def test_nodes_that_are_not_registered_get_nothing(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[21] = Node(grid.nodes[11].app, {"participant": "a"}, name="")
    result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert set(result.models) == set(NAMES)
    assert not any(m.metadata.dst_node_id == 21 for m in grid.messages)


def test_of_two_nodes_with_one_name_nobody_can_tell_which_is_right(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[22] = Node(grid.nodes[11].app, {"participant": "a"}, name="a hospital")
    result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert not any(m.metadata.dst_node_id in (11, 22) for m in grid.messages)
    assert set(result.metrics) == set(NAMES) - {"a"}


def test_a_double_that_comes_later_never_takes_a_place(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())

    def comes(asked: int, message: Message) -> None:
        if said(message)["stage"] == "round" and said(message)["server-round"] == 2:
            grid.nodes[10] = Node(grid.nodes[11].app, {"participant": "a"}, name="a hospital")
        if said(message)["stage"] == "round" and said(message)["server-round"] == 3:
            # Not even when the first one is gone.
            grid.nodes[11].online = False

    grid.nodes[15].fault = comes
    start(strategy(tmp_path / "run"), grid, rounds=5)
    assert not any(m.metadata.dst_node_id == 10 for m in grid.messages)
    mine = [said(m) for m in grid.messages if m.metadata.dst_node_id == 11]
    assert [one["server-round"] for one in mine if one["stage"] == "round"] == [1, 2, 3]


def keys_of(name: str, folder: Path) -> tuple[str, bytes]:
    """A public key as its file has it, and as Flower tells it."""
    make_node_key(folder / name)
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    text = (folder / f"{name}.pub").read_text(encoding="utf-8")
    pem = load_ssh_public_key(text.encode()).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    return text, pem


def test_a_participant_may_be_bound_to_a_key(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    keys: dict[str, str] = {}
    for name, node in zip(NAMES, grid.nodes.values(), strict=True):
        text, pem = keys_of(name, tmp_path)
        node.name, node.public_key = "", pem
        keys[name] = f"{text.strip()} somebody's comment\n" if name != "b" else pem.decode()
    # Others may call themselves what they like, even by the text of a key.
    grid.nodes[21] = Node(grid.nodes[11].app, {"participant": "a"}, name=plain_key(keys["a"]))
    grid.nodes[22] = Node(grid.nodes[11].app, {"participant": "a"}, name=keys["a"])
    grid.nodes[23] = Node(grid.nodes[11].app, {"participant": "a"}, "a", public_key=b"nothing")
    result = start(strategy(tmp_path / "run", participants=keys), grid, rounds=1)
    assert len(result.metrics) == 5
    assert grid.nodes[21].asked == grid.nodes[22].asked == grid.nodes[23].asked == 0


def test_keys_that_are_none_or_the_same_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.UnknownNode, match="is not a public key"):
        strategy(tmp_path, participants={"a": "ecdsa-sha2-nistp384 AAAA", "b": "b"})
    text, pem = keys_of("a", tmp_path)
    with pytest.raises(errors.UnknownNode, match="one node"):
        strategy(tmp_path, participants={"a": text, "b": pem.decode()})


def test_claims_are_believed_only_if_told_to(tmp_path: Path) -> None:
    def unregistered() -> FakeGrid:
        grid = FakeGrid(nodes())
        for node in grid.nodes.values():
            node.name = ""
        grid.nodes[21] = Node(grid.nodes[11].app, {"participant": "b"})
        grid.nodes[22] = Node(
            client_app(lambda context: Linear(9, 1.0, 10)), {"participant": "nobody"}
        )
        return grid

    doubting = strategy(tmp_path / "doubting", participants=NAMES)
    with pytest.raises(errors.TooFewAnswers, match="0 of at least 2"):
        doubting.start(
            unregistered(), ArrayRecord([np.zeros(5, np.float32)]), num_rounds=1, timeout=0.1
        )
    trusting = strategy(tmp_path / "trusting", participants=NAMES, trust_claims=True)
    grid = unregistered()
    result = start(trusting, grid, rounds=1)
    assert set(result.metrics) == set(NAMES)
    # The second b and the one whom nobody knows were asked for their names and nothing else.
    assert grid.nodes[21].asked == grid.nodes[22].asked == 1


def test_a_participant_keeps_its_own_model(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[12].config["output"] = str(tmp_path / "of b")
    result = start(strategy(tmp_path / "run"), grid)
    with np.load(tmp_path / "of b/model.npz") as kept:
        (own,) = kept.values()
    (model,) = result.models["b"].values()
    np.testing.assert_array_equal(own, model.numpy())
    assert "test-loss" in (tmp_path / "of b/metrics.json").read_text()
    assert result.plan is not None and result.outcome is not None
    plan = json.loads((tmp_path / "of b/plan.json").read_text())
    assert set(plan["learns_from"]) - {"b"} <= set(result.plan.helpers("b"))
    assert plan["carries_data_of"] == list(result.outcome.carries["b"])
    assert "b" in plan["data_reaches"] and "d" not in plan["data_reaches"]


def test_what_a_participant_is_told_does_not_show_others_competitors(tmp_path: Path) -> None:
    # All of a kind, so that whatever is refused is refused because somebody competes.
    alike = {name: Linear(at, 1.0, 10 + 20 * at) for at, name in enumerate(NAMES)}
    grid = FakeGrid(nodes({"a": ["c"], "d": ["b"]}, alike))
    for name, node in zip(NAMES, grid.nodes.values(), strict=True):
        node.config["output"] = str(tmp_path / name)
    result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert result.plan is not None
    told = {name: json.loads((tmp_path / name / "plan.json").read_text()) for name in NAMES}
    refused = [one for one in result.plan.refused if one.path is not None]
    assert refused
    for name in NAMES:
        own = {(one.helper, one.helped) for one in result.plan.refused if one.helped == name}
        assert {(one["from"], name) for one in told[name]["refused"]} == own
    # Only who has named a competitor itself is told of it: c and b have not.
    reasons = {name: " ".join(one["why"] for one in told[name]["refused"]) for name in NAMES}
    assert not any("compete with" in reasons[name] for name in ("b", "c", "e"))
    for name, rival in (("a", "c"), ("d", "b")):
        wanted = any(one.helped == name and one.path[0] == rival for one in refused if one.path)
        assert (f"you compete with {rival}" in reasons[name]) == wanted


def with_outputs(folder: Path) -> FakeGrid:
    grid = FakeGrid(nodes())
    for at, node in grid.nodes.items():
        node.config["output"] = str(folder / f"of {at}")
    return grid


def test_a_participant_remembers_the_same_in_files_of_its_own(tmp_path: Path) -> None:
    expected = start(strategy(tmp_path / "run"), FakeGrid(nodes()))
    grid = with_outputs(tmp_path)
    for at in grid.nodes:
        (tmp_path / f"of {at}").mkdir()
        (tmp_path / f"of {at}/memory-7-3.npy").write_text("another run's")
    found = start(strategy(tmp_path / "with files"), grid)
    for name, record in expected.models.items():
        for a, b in zip(record.values(), found.models[name].values(), strict=True):
            assert a.data == b.data
    assert all(not node.state for node in grid.nodes.values())
    kept = {path.name for path in (tmp_path / "of 11").iterdir()}
    files = json.loads((tmp_path / "of 11/memory-1.json").read_text())["files"]
    assert kept == {"memory-1.json", "metrics.json", "model.npz", "plan.json", *files}


@pytest.mark.parametrize(
    ("pattern", "leave"),
    [
        ("memory-*.npy", lambda content: content[:-4]),
        ("memory-*.npy", lambda content: content[:7]),
        ("memory-*.npy", lambda content: b""),
        ("memory-*.json", lambda content: content[:-1]),
        ("memory-*.json", lambda content: b"{}"),
        ("memory-*.json", lambda content: b"[]"),
    ],
)
def test_who_has_lost_its_memory_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, leave: Callable[[bytes], bytes]
) -> None:
    """As a power cut would leave it: nothing but what the coordinator sends is there then."""
    grid, told = with_outputs(tmp_path), list[str]()
    monkeypatch.setattr(_client, "log", lambda level, text, *rest: told.append(text % rest))

    def cut(asked: int, message: Message) -> None:
        if said(message)["stage"] == "round" and said(message)["server-round"] == 3:
            files = list((tmp_path / "of 11").glob(pattern))
            assert files
            for file in files:
                file.write_bytes(leave(file.read_bytes()))

    grid.nodes[11].fault = cut
    result = start(strategy(tmp_path / "run"), grid)
    assert set(result.models) == set(NAMES)
    assert incidents(tmp_path / "run") == []
    (lost,) = [text for text in told if "cannot be read" in text]
    assert "of 11" in lost


class Wanders:
    """Gets worse with every step, so that its first model stays the best."""

    def samples(self, split: str) -> int:
        return 1

    def train(self, parameters: Any, steps: int) -> Any:
        return parameters + 1

    def loss(self, parameters: Any, split: str) -> float:
        return float(parameters.sum())


def test_what_has_not_changed_is_not_written_again(tmp_path: Path) -> None:
    app = client_app(lambda context: Wanders(), participant=lambda context: "a")
    node = Node(app, {"output": str(tmp_path)}, name="a")
    grid = FakeGrid({1: node})
    files = []
    for number in (1, 2, 3):
        request = Request("round", number, [np.zeros(4, np.float32)], steps=1)
        content = request_record(request, [("w", [4])], ConfigRecord(), ("arrays", "config"))
        (sent,) = grid.push_messages([Message(content, 1, MessageType.TRAIN)])
        (reply,) = grid.pull_messages([sent])
        answer, _ = read_answer(reply.content, "num-examples")
        assert answer.model is not None and answer.model.tolist() == [number] * 4
        files.append({path: path.stat().st_mtime_ns for path in tmp_path.glob("memory-*.npy")})
    assert [len(one) for one in files] == [1, 2, 2]
    # The first stays as it is, and what is no longer of use goes.
    assert files[0].items() <= files[1].items() and files[0].items() <= files[2].items()
    assert len({path for one in files for path in one}) == 3


def test_competitors_from_a_file(tmp_path: Path) -> None:
    grid = FakeGrid(nodes({}))
    (tmp_path / "rivals").write_text("c\n\n b \n", encoding="utf-8")
    grid.nodes[11].config["competitors-file"] = str(tmp_path / "rivals")
    result = start(strategy(tmp_path / "run"), grid, rounds=1)
    assert result.outcome is not None
    assert set(result.outcome.competing.reports) == {("a", "c"), ("a", "b")}


def test_what_does_not_fit_is_refused_at_once(tmp_path: Path) -> None:
    for wrong in (
        {"fraction_train": 0.5},
        {"train_metrics_aggr_fn": lambda records, key: None},
        {"deadline": 0.0},
    ):
        with pytest.raises(errors.NotASetting):
            strategy(tmp_path, **wrong)
    with pytest.raises(errors.UnknownNode):
        strategy(tmp_path, participants={"a": "x", "b": "x"})
    with pytest.raises(errors.DoubledParticipant):
        strategy(tmp_path, participants=["a", "a"])
    of = strategy(tmp_path)
    grid = FakeGrid(nodes())
    arrays = ArrayRecord([np.zeros(5, np.float32)])
    with pytest.raises(errors.NotASetting, match="common model"):
        of.start(grid, arrays, evaluate_fn=lambda number, record: None)
    with pytest.raises(NotImplementedError):
        of.aggregate_train(1, [])
