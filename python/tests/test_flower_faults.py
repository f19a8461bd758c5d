"""What goes wrong on Flower, in process: garbage at every stage, silence, interruptions."""

import hashlib
import json
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedcompetitors as fc
import numpy as np
import pytest
from fedcompetitors import errors
from learners import Linear, Trainer, five

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'flwr==1.41.*'")

from fake_grid import FakeGrid, said
from fedcompetitors._coordinator import Coordinator
from fedcompetitors.flower import client_app
from fedcompetitors.flower._messages import flat
from flower_runs import NAMES, in_round, incidents, nodes, start, strategy, with_b_coming_in
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

Fault = Callable[[RecordDict], None]


def at_stage(stage: str, what: Any) -> Callable[[int, Message], Any]:
    return lambda asked, message: what if said(message)["stage"] == stage else None


def asked_of(grid: FakeGrid, node: int) -> list[tuple[str, int]]:
    mine = [said(m) for m in grid.messages if m.metadata.dst_node_id == node]
    return [(str(one["stage"]), int(str(one["server-round"]))) for one in mine]


def competes_with_itself(content: RecordDict) -> None:
    content["config"]["competitors"] = ["e", "nobody"]  # type: ignore[index]


def arrays_of(numbers: Any) -> Fault:
    def change(content: RecordDict) -> None:
        content["arrays"] = ArrayRecord([np.asarray(numbers, np.float32)])

    return change


def samples(count: Any) -> Fault:
    def change(content: RecordDict) -> None:
        content["metrics"]["num-examples"] = count  # type: ignore[index]

    return change


def without_loss(content: RecordDict) -> None:
    del content["metrics"]["loss-0"]  # type: ignore[union-attr]


def no_array(content: RecordDict) -> None:
    wrong = Array("float32", (5, 1), "numpy.ndarray", b"\x93NUMPY\x01\x00\x05\x00{[((")
    content["arrays"] = ArrayRecord({"0": wrong})


@pytest.mark.parametrize(
    ("stage", "what"),
    [
        ("probe", competes_with_itself),
        ("probe", arrays_of([1.0, 2.0])),
        ("probe", arrays_of(np.full((5, 1), np.inf))),
        ("probe", samples(float("inf"))),
        ("probe", samples(2**60)),
        ("probe", samples(-1)),
        ("probe", no_array),
        ("weigh", arrays_of([1.0, 2.0])),
        ("weigh", arrays_of(np.full((5, 1), np.nan))),
        ("weigh", without_loss),
        ("weigh", no_array),
        ("end", arrays_of([1.0, 2.0])),
        ("end", no_array),
    ],
)
def test_garbage_of_one_at_any_stage_does_not_end_everybodys_run(
    tmp_path: Path, stage: str, what: Fault
) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[15].fault = at_stage(stage, what)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FedCompetitorsWarning)
        result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert set(result.models) == set(NAMES)
    for name in NAMES[:4]:
        assert "test-loss" in result.metrics[name]
    for model in result.models.values():
        assert np.isfinite(flat(model)).all()
    assert fc.audit(tmp_path / "run").is_clean


def test_who_names_a_competitor_that_does_not_take_part_is_told(tmp_path: Path) -> None:
    grid, told = FakeGrid(nodes({"a": ["c", "d hospital"]})), list[str]()
    grid.nodes[11].config["output"] = str(tmp_path / "of a")
    with pytest.warns(errors.FedCompetitorsWarning, match="does not take part"):
        start(strategy(tmp_path / "run", tell=told.append), grid, rounds=2)
    assert sum('competes with "d hospital"' in text for text in told) == 1
    plan = json.loads((tmp_path / "of a/plan.json").read_text(encoding="utf-8"))
    assert plan["unknown_competitors"] == ["d hospital"]


def test_the_ledger_knows_every_model_that_went_to_a_participant(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    grid.nodes[13].fault = in_round(2, "missing")
    start(strategy(tmp_path / "run"), grid)
    with sqlite3.connect(tmp_path / "run/run.sqlite") as database:
        known: Counter[tuple[int, int, str]] = Counter()
        for ledger in ("ledger", "estimate_ledger"):
            known.update(
                database.execute(f"SELECT receiver, round, hash FROM {ledger} WHERE receiver >= 0")
            )
    sent: Counter[tuple[int, int, str]] = Counter()
    for message in grid.messages:
        if said(message)["stage"] != "probe":
            numbers = flat(message.content["arrays"])  # type: ignore[arg-type]
            if numbers.any():
                hash_ = hashlib.sha256(numbers.tobytes()).hexdigest()
                number = int(str(said(message)["server-round"]))
                sent[message.metadata.dst_node_id - 11, number, hash_] += 1
    assert sent and sent == known


def test_whoever_is_silent_is_asked_again_and_nobody_else(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    silent = iter(["missing"])
    grid.nodes[13].fault = lambda asked, message: (
        next(silent, None) if asked_of(grid, 13)[-1] == ("round", 2) else None
    )
    result = start(strategy(tmp_path / "run", min_train_nodes=5), grid, rounds=3)
    assert [asked_of(grid, node).count(("round", 2)) for node in range(11, 16)] == [1, 1, 2, 1, 1]
    assert len(result.history[2]) == 5 and incidents(tmp_path / "run") == []


def test_garbage_of_everybody_ends_a_round_that_is_done_again(tmp_path: Path) -> None:
    grid = FakeGrid(nodes())
    for node in grid.nodes.values():
        node.fault = in_round(2, arrays_of(np.full((5, 1), np.nan)))
    with pytest.raises(errors.TooFewAnswers, match="0 participants sent a usable model"):
        start(strategy(tmp_path / "run"), grid, rounds=3)
    again = FakeGrid(nodes())
    result = start(strategy(tmp_path / "run"), again, rounds=3)
    assert ("round", 2) in asked_of(again, 11) and ("round", 1) not in asked_of(again, 11)
    # The models of the round before are mixed as they would have been.
    assert any(said(m)["is-mixture"] for m in again.messages if said(m)["server-round"] == 2)
    # The rounds before the interruption are told, too.
    assert sorted(result.history) == [1, 2, 3] and set(result.history[1]) == set(NAMES)
    assert ("validation", "loss") in [key for key in result.outcome.history[1]["a"]]  # type: ignore[union-attr]
    assert fc.audit(tmp_path / "run").is_clean


def test_an_answer_without_a_model_is_noted(tmp_path: Path) -> None:
    def empty(content: RecordDict) -> None:
        del content["arrays"]

    grid = FakeGrid(nodes())
    grid.nodes[15].fault = in_round(2, empty)
    result = start(strategy(tmp_path / "run"), grid, rounds=3)
    assert incidents(tmp_path / "run") == [(2, "e", "unreadable")]
    assert "e" not in result.history[2]


# Before round 2 nothing flows, and then d and e learn from each other.
FRIENDS = {"a": ["c"], "d": ["b"], "c": ["e", "d"]}


def declares(grid: FakeGrid, number: int, stage: str = "round") -> FakeGrid:
    """From a message on, e competes with d."""

    def declare(asked: int, message: Message) -> None:
        if said(message)["server-round"] == number and said(message)["stage"] == stage:
            grid.nodes[15].config["competitors"] = "d"

    grid.nodes[15].fault = declare
    return grid


@pytest.mark.parametrize("where", ["replan", "weigh"])
def test_killed_between_a_declaration_and_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Before the plan is made, and behind it before the state is kept."""
    original = getattr(Coordinator, where)

    def killed(self: Coordinator, *rest: str) -> None:
        if self.state.done == 2:
            raise KeyboardInterrupt
        original(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Coordinator, where, killed)
        with pytest.raises(KeyboardInterrupt):
            start(strategy(tmp_path / "run"), declares(FakeGrid(nodes(FRIENDS)), 2))
    again = FakeGrid(nodes({**FRIENDS, "e": ["d"]}))
    result = start(strategy(tmp_path / "run"), again)
    assert result.plan is not None and result.plan.left == ("d", "e")
    assert ("round", 3) in asked_of(again, 11) and ("round", 3) not in asked_of(again, 14)
    assert result.outcome is not None and result.outcome.carries["d"] == ("d",)
    assert fc.audit(tmp_path / "run").is_clean


def test_a_declaration_before_anything_has_flowed_is_too_late_for_nobody(tmp_path: Path) -> None:
    told: list[str] = []
    grid = declares(FakeGrid(nodes(FRIENDS)), 1)
    result = start(strategy(tmp_path / "run", tell=told.append), grid)
    assert any("e now competes with d" in text for text in told)
    assert not any("too late" in text for text in told)
    assert result.plan is not None and result.plan.left == ()
    assert ("round", 6) in asked_of(grid, 14) and ("round", 6) in asked_of(grid, 15)
    assert fc.audit(tmp_path / "run").is_clean


def test_a_declaration_is_heard_in_an_estimate(tmp_path: Path) -> None:
    grid = declares(FakeGrid(nodes(FRIENDS)), 3, "weigh")
    start(strategy(tmp_path / "run"), grid, rounds=2)
    with sqlite3.connect(tmp_path / "run/run.sqlite") as database:
        shown = database.execute(
            "SELECT estimator, provenance FROM estimate_ledger JOIN estimates"
            " ON estimates.id = estimate WHERE receiver = 4"
        )
        mixtures = [(estimator, json.loads(carried)) for estimator, carried in shown]
    # It is begun anew without the other, and what was shown until then is on record.
    before = [carried for estimator, carried in mixtures if estimator == "mixture, earlier 1"]
    after = [carried for estimator, carried in mixtures if estimator == "mixture"]
    assert len(before) == 2 and all(3 in carried for carried in before)
    assert len(after) > 2 and all(3 not in carried for carried in after)
    assert fc.audit(tmp_path / "run").is_clean


def test_a_declaration_with_the_last_answers_has_nothing_left_to_change(tmp_path: Path) -> None:
    grid = declares(FakeGrid(nodes(FRIENDS)), 2, "end")
    result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert result.outcome is not None and ("e", "d") in result.outcome.competing.reports
    assert result.certificate is not None and set(result.metrics) == set(NAMES)
    assert result.plan is not None and "d" in result.plan.helpers("e")
    assert fc.audit(tmp_path / "run").is_clean


def test_a_run_may_be_audited_between_a_declaration_and_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    original = Coordinator.replan

    def audited(self: Coordinator, why: str) -> None:
        found.append(fc.audit(tmp_path / "run"))
        original(self, why)

    monkeypatch.setattr(Coordinator, "replan", audited)
    start(strategy(tmp_path / "run"), declares(FakeGrid(nodes(FRIENDS)), 2))
    assert [audit.findings for audit in found] == [()]


def test_killed_in_an_estimate_nothing_that_was_shown_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(FakeGrid):
        def pull_messages(self, message_ids: Any) -> Any:
            if ("weigh", 4) in asked_of(self, 11):
                raise KeyboardInterrupt
            return super().pull_messages(message_ids)

    with pytest.raises(KeyboardInterrupt):
        start(strategy(tmp_path / "run"), Killed(nodes()))
    start(strategy(tmp_path / "run"), FakeGrid(nodes()), rounds=6)
    with sqlite3.connect(tmp_path / "run/run.sqlite") as database:
        rows = database.execute(
            "SELECT estimator, count(*) FROM estimate_ledger JOIN estimates"
            " ON estimates.id = estimate WHERE receiver >= 0 GROUP BY estimator ORDER BY estimator"
        )
        shown = dict(rows)
    assert set(shown) == {"mixture", "mixture, earlier 1"}
    assert shown["mixture, earlier 1"] == 3 * len(NAMES)
    assert fc.audit(tmp_path / "run").is_clean


def test_a_declaration_is_heard_in_a_round_that_does_not_count(tmp_path: Path) -> None:
    grid = declares(FakeGrid(nodes(FRIENDS)), 2)
    for at in (11, 12, 13, 14):
        grid.nodes[at].fault = in_round(2, "missing")
    with pytest.raises(errors.TooFewAnswers):
        start(strategy(tmp_path / "run"), grid)
    # Its node has forgotten by then, and the coordinator has not.
    again = FakeGrid(nodes(FRIENDS))
    result = start(strategy(tmp_path / "run"), again)
    assert result.outcome is not None and ("e", "d") in result.outcome.competing.reports
    assert result.plan is not None
    assert "d" not in result.plan.helpers("e") and "e" not in result.plan.helpers("d")
    assert fc.audit(tmp_path / "run").is_clean


def test_who_leaves_and_declares_at_once_ends_without_the_competitors_data(tmp_path: Path) -> None:
    grid = FakeGrid(nodes(FRIENDS))

    def leaves(asked: int, message: Message) -> Fault | None:
        def leave(content: RecordDict) -> None:
            content["config"]["leaves"] = True  # type: ignore[index]
            content["config"]["competitors"] = ["d"]  # type: ignore[index]

        is_now = said(message)["stage"] == "round" and said(message)["server-round"] == 3
        return leave if is_now else None

    grid.nodes[15].fault = leaves
    result = start(strategy(tmp_path / "run"), grid)
    assert result.outcome is not None and "d" not in result.outcome.carries["e"]
    assert ("round", 4) not in asked_of(grid, 15) and asked_of(grid, 15)[-1][0] == "end"
    assert fc.audit(tmp_path / "run").is_clean


def test_two_of_three_that_are_too_late_do_not_end_the_third_ones_run(tmp_path: Path) -> None:
    names = ["d", "e", "a"]
    grid = declares(FakeGrid(nodes({})), 2)
    grid.nodes = {at: grid.nodes[at] for at in (14, 15, 11)}
    binding = {name: f"{name} hospital" for name in names}
    result = start(strategy(tmp_path / "run", participants=binding), grid, rounds=4)
    assert result.plan is not None and set(result.plan.left) >= {"d", "e"}
    assert set(result.metrics) == set(names)
    assert fc.audit(tmp_path / "run").is_clean


def test_too_late_where_no_other_model_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Coordinator, "keep_models", lambda self: None)
    grid, told = declares(FakeGrid(nodes(FRIENDS)), 2), list[str]()
    result = start(strategy(tmp_path / "run", tell=told.append), grid)
    assert any("no model without that data is stored" in text for text in told)
    # What is left is the common start.
    assert not flat(result.models["e"]).any()
    assert fc.audit(tmp_path / "run").is_clean


def test_figures_of_the_end_do_not_come_before_it(tmp_path: Path) -> None:
    def early(content: RecordDict) -> None:
        content["metrics"]["test-loss"] = 0.0  # type: ignore[index]

    grid = FakeGrid(nodes())
    grid.nodes[15].fault = in_round(2, early)
    result = start(strategy(tmp_path / "run"), grid, rounds=2)
    assert "test-loss" not in result.history[2]["e"]
    audit = fc.audit(tmp_path / "run")
    assert audit.status == "complete" and audit.is_complete


def test_losses_that_nobody_can_have_do_not_end_the_run(tmp_path: Path) -> None:
    def impossible(content: RecordDict) -> None:
        metrics = content["metrics"]
        for key in list(metrics):  # type: ignore[arg-type]
            if key.startswith("loss-"):
                metrics[key] = 0.0 if key == "loss-0" else -1e300  # type: ignore[index]

    grid = FakeGrid(nodes(learners={name: Trainer(one) for name, one in five().items()}))
    grid.nodes[15].fault = at_stage("weigh", impossible)
    result = start(strategy(tmp_path / "run"), grid, rounds=1)
    assert result.outcome is not None
    assert max(value for _, _, value in result.outcome.benefit.edges) <= 1
    assert fc.audit(tmp_path / "run").is_clean


def test_what_the_strategy_says_itself_cannot_be_configured(tmp_path: Path) -> None:
    model = ArrayRecord([np.zeros((5, 1), np.float32)])
    with pytest.raises(errors.NotASetting, match="replaces"):
        strategy(tmp_path / "run").start(
            FakeGrid(nodes()), model, train_config=ConfigRecord({"replaces": True})
        )


@pytest.mark.parametrize("lost", ["missing", arrays_of([1.0, 2.0])])
def test_a_newcomer_whose_probe_is_lost_or_refused_joins_later(tmp_path: Path, lost: Any) -> None:
    grid = with_b_coming_in(2)
    once = iter([lost])
    grid.nodes[12].fault = lambda asked, message: (
        next(once, None) if said(message)["stage"] == "probe" else None
    )
    told: list[str] = []
    result = start(strategy(tmp_path / "run", tell=told.append), grid)
    assert any(text.startswith("b joined") for text in told)
    assert result.plan is not None and result.plan.helpers("b")
    stages = asked_of(grid, 12)
    assert stages.index(("round", 3)) < stages.index(("probe", 1), 1)
    assert fc.audit(tmp_path / "run").is_clean


def test_a_newcomer_that_says_nothing_costs_the_others_nothing(tmp_path: Path) -> None:
    grid = with_b_coming_in(2)
    grid.nodes[12].fault = lambda asked, message: "missing"
    start(strategy(tmp_path / "run"), grid, rounds=5)
    assert asked_of(grid, 12).count(("probe", 1)) == 1
    assert asked_of(grid, 13).count(("probe", 1)) == 1


class Configured(Linear):
    """A learner that wants to know what the server has to say."""

    heard: list[dict[str, Any]] = []

    def configure(self, config: dict[str, Any]) -> None:
        self.heard.append(config)


def test_what_the_server_says_reaches_learners_and_samples_may_have_another_name(
    tmp_path: Path,
) -> None:
    learners = {name: Configured(seed, 1.0, 20) for seed, name in enumerate(NAMES)}
    grid = FakeGrid(nodes(learners=learners))
    app = client_app(
        lambda context: learners[str(context.node_config["participant"])],
        weighted_by_key="patients",
    )
    for node in grid.nodes.values():
        node.app = app
    of = strategy(tmp_path / "run", weighted_by_key="patients")
    model = ArrayRecord([np.zeros((5, 1), np.float32)])
    of.start(grid, model, num_rounds=1, train_config=ConfigRecord({"rate": 0.5}))
    assert Configured.heard and all(one == {"rate": 0.5} for one in Configured.heard)
