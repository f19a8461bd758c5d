"""The whole pipeline on learners in Python."""

import sqlite3
from pathlib import Path

import fedcompetitors as fc
import numpy as np
import pytest
from fedcompetitors import _native, errors
from fedcompetitors.errors import NotASetting
from learners import Linear, Trainer, five
from test_plans import program

RIVALS = {"a": ["c"], "d": ["b"]}
START = np.zeros(5)


def run(folder: Path, learners=None, rivals=RIVALS, **settings) -> fc.Outcome:
    federation = fc.Federation(learners or five(), rivals)
    return federation.run(START, folder, **{"rounds": 10, "probe_steps": 200, **settings})


def test_everybody_gets_a_model_and_nobody_a_competitors(tmp_path: Path) -> None:
    outcome = run(tmp_path / "run")
    found = fc.audit(tmp_path / "run", fc.CompetingGraph(RIVALS, list(five())))
    assert found.is_clean and found.models == 5 and found.transfers > 100
    assert "c" not in outcome.carries["a"] and "a" not in outcome.carries["c"]
    assert not outcome.had_incidents
    assert set(outcome.history) == set(range(1, 11))
    fc.verify(outcome.competing, outcome.plan, outcome.certificate)
    # A small one with a large friend does better than alone.
    everybody = {name: [other for other in five() if other != name] for name in five()}
    alone = run(tmp_path / "alone", rivals=everybody)
    assert alone.plan.edges == ()
    assert all(carried == (name,) for name, carried in alone.carries.items())
    test = ("test", "loss")
    assert outcome.metrics["b"][test] < 0.8 * alone.metrics["b"][test]


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one"), run(tmp_path / "two")
    assert one.plan == two.plan
    for name in one.models:
        np.testing.assert_array_equal(one.models[name], two.models[name])
    files = [sorted((tmp_path / which / "models").iterdir()) for which in ("one", "two")]
    assert len(files[0]) == 5
    for a, b in zip(*files, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_those_who_train_by_themselves(tmp_path: Path) -> None:
    learners = {name: Trainer(learner) for name, learner in five().items()}
    outcome = run(tmp_path / "run", learners, metric="root")
    assert fc.audit(tmp_path / "run").is_clean
    # Half of a good model and half of a bad one is bad: those of another kind are no help.
    kinds = {name: "ab" if name in "abc" else "de" for name in five()}
    assert outcome.plan.edges
    assert all(kinds[edge.helper] == kinds[edge.helped] for edge in outcome.plan.edges)
    assert ("test", "root") in outcome.metrics["a"]


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    class Stops(Linear):
        left = 250 + 30

        def loss_and_gradient(self, parameters, split):
            Stops.left -= split == "training"
            if Stops.left < 0:
                raise KeyboardInterrupt
            return super().loss_and_gradient(parameters, split)

    learners = {**five(), "e": Stops(5, -1.0, 12)}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", learners)
    with pytest.raises(errors.RunExists):
        run(tmp_path / "run")
    with pytest.raises(errors.OtherRun):
        run(tmp_path / "run", resume=True, rounds=11)
    told: list[str] = []
    outcome = run(tmp_path / "run", resume=True, tell=told.append)
    assert told[0].startswith("resumes after round ") and "round 1 of 10" not in told[1]
    assert fc.audit(tmp_path / "run").is_clean
    assert len(outcome.models) == 5
    with pytest.raises(errors.RunExists, match="complete"):
        run(tmp_path / "run", resume=True)


def test_an_audit_sees_what_was_changed(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with sqlite3.connect(tmp_path / "run/run.sqlite") as database:
        database.execute("UPDATE ledger SET sender = 2 WHERE entry = 1 AND sender = 0")
    assert not fc.audit(tmp_path / "run").is_clean


MESSAGES = """
name = "three"
rule = "messages"
compare = ["local"]
[evaluation]
folds = 1
replicates = 100
"""


def test_an_audit_by_a_stricter_rule_finds_what_was_allowed(tmp_path: Path) -> None:
    (tmp_path / "three.toml").write_text(
        MESSAGES
        + "".join(
            f'[[participants]]\nname = "{name}"\ngenerate = {{ samples = 80 }}\ncompetes-with = {rivals}\n'
            for name, rivals in (("A", '["B"]'), ("B", "[]"), ("C", "[]"))
        )
    )
    program("run", tmp_path / "three.toml", "--out", tmp_path / "run")
    found = {rule: fc.audit(tmp_path / "run", rule=rule) for rule in (None, "messages", "paths")}
    assert found[None].is_clean and found[None] == found["messages"]
    assert found["paths"].findings[0].endswith("but is audited by `paths`")
    assert any('connects "A" with its competitor "B"' in one for one in found["paths"].findings)
    # Plans under `paths` keep `messages`, too.
    run(tmp_path / "paths")
    assert fc.audit(tmp_path / "paths", rule="messages").is_clean
    with pytest.raises(errors.NotASetting, match='the rule "path" is unknown'):
        fc.audit(tmp_path / "run", rule="path")


def test_a_model_of_garbage_goes_nowhere(tmp_path: Path) -> None:
    class Garbage(Linear):
        def loss_and_gradient(self, parameters, split):
            loss, gradient = super().loss_and_gradient(parameters, split)
            return loss, gradient * (np.nan if split == "training" else 1)

    outcome = run(tmp_path / "run", {**five(), "a": Garbage(1, 1.0, 200)})
    assert outcome.had_incidents
    assert fc.audit(tmp_path / "run").is_clean
    assert all("a" not in carried for name, carried in outcome.carries.items() if name != "a")
    assert all(np.isfinite(model).all() for name, model in outcome.models.items() if name != "a")


def test_a_learner_may_give_the_memory_that_it_trains_in(tmp_path: Path) -> None:
    class Copied(Linear):
        def train(self, parameters, steps):
            parameters = np.array(parameters)
            for _ in range(steps):
                parameters -= 0.1 * super().loss_and_gradient(parameters, "training")[1]
            return parameters.astype(np.float32)

        def loss(self, parameters, split):
            return super().loss_and_gradient(parameters, split)[0]

    class Shared(Copied):
        memory = np.zeros(5, np.float32)
        slopes = np.zeros(5, np.float32)

        def train(self, parameters, steps):
            self.memory[:] = super().train(parameters, steps)
            return self.memory

        def loss(self, parameters, split):
            self.memory[:] = 7.0
            return super().loss(parameters, split)

        def loss_and_gradient(self, parameters, split):
            loss, self.slopes[:] = super().loss_and_gradient(parameters, split)
            return loss, self.slopes

    def of(kind: type[Copied]) -> dict[str, Copied]:
        return {name: kind(seed, 1.0, 200) for seed, name in enumerate("abc")}

    expected = fc.Federation(of(Copied)).run(np.zeros(5), tmp_path / "copied", rounds=3)
    found = fc.Federation(of(Shared)).run(np.zeros(5), tmp_path / "shared", rounds=3)
    assert expected.plan.edges == found.plan.edges and found.plan.edges
    for name, model in expected.models.items():
        np.testing.assert_array_equal(found.models[name], model)


def test_what_is_no_learner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.UnusableLearner, match="is not a learner"):
        fc.Federation({"a": object(), "b": object()})  # type: ignore[dict-item]

    class Short(Linear):
        def loss_and_gradient(self, parameters, split):
            loss, gradient = super().loss_and_gradient(parameters, split)
            return loss, gradient[:3]

    with pytest.raises(errors.UnusableLearner, match="3 numbers for 5 parameters"):
        run(tmp_path / "run", {**five(), "a": Short(1, 1.0, 200)})


def test_settings_are_checked(tmp_path: Path) -> None:
    for wrong in ({"rounds": 0}, {"weights": "luck"}, {"own_part": 2.0}, {"seed": -1}):
        with pytest.raises(errors.NotASetting):
            run(tmp_path / "run", **wrong)
    with pytest.raises(errors.UnknownParticipant):
        fc.Federation(five(), {"a": ["nobody"]})


@pytest.mark.parametrize(
    ("metric", "given", "found"),
    [
        ("loss", None, "lower"),
        ("Log loss", None, "lower"),
        ("MSE", None, "lower"),
        ("auc", None, "higher"),
        ("recall", None, "higher"),
        ("minutes", "lower", "lower"),
    ],
)
def test_which_way_a_figure_is_better(metric: str, given: str | None, found: str) -> None:
    settings = fc.Settings(metric=metric, direction=given)
    assert _native.direction(settings.metric, settings.direction) == found


def test_a_direction_has_two_values() -> None:
    with pytest.raises(NotASetting, match='the direction "up" is unknown'):
        fc.Settings(direction="up")
