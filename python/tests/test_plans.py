"""Selection, proof, explanation, comparison and change, as the program has them."""

import json
import os
import subprocess
from pathlib import Path

import fedcompetitors as fc
import pytest
from conftest import ROOT, Graphs
from fedcompetitors.errors import NotASetting

HOSPITALS = ROOT / "examples/hospitals"
FILES = ["--competing", str(HOSPITALS / "competing.csv"), "--benefit", str(HOSPITALS / "benefit.csv")]


def program(*arguments: str | Path) -> str:
    """What the program prints, where it is built; `./check` builds it and says where it is."""
    binary = os.environ.get("FEDCOMPETITORS")
    if not binary:
        pytest.skip("FEDCOMPETITORS does not say where the program is")
    result = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_plan_says_what_it_decides(three: Graphs) -> None:
    plan = fc.select(*three)
    # Whoever helps University, the other way would be open to a competitor.
    assert plan.edges == (
        fc.Edge("St Mary", "University", 0.4),
        fc.Edge("General", "University", 0.2),
    )
    assert plan.refused == (
        fc.Refusal("University", "General", 0.3, ("St Mary", "University", "General")),
    )
    assert plan.helpers("University") == ("St Mary", "General")
    assert plan.welfare == pytest.approx(0.6) and plan.upper_bound == pytest.approx(0.6)
    assert (plan.policy, plan.note, plan.left, plan.carries) == ("optimal", None, (), {})
    assert plan.participants == ("St Mary", "University", "General")
    assert plan.certificate is not None
    assert plan.certificate.reaches["St Mary"] == ("St Mary", "University")
    assert fc.Plan.from_json(plan.to_json()) == plan
    assert fc.Plan.from_json(plan.to_json()).certificate is None
    assert fc.select(*three, refusals=False).refused == ()
    assert repr(plan) == "<Plan by optimal: 3 participants, 2 edges, welfare 0.6>"


@pytest.mark.parametrize("policy", ["optimal", "greedy", "cliques", "coalitions", "egoists", "none"])
def test_every_policy_keeps_the_rule(hospitals: Graphs, policy: str) -> None:
    plan = fc.select(*hospitals, policy)  # type: ignore[arg-type]
    assert plan.policy == policy
    assert "The plan keeps the rule" in str(fc.verify(hospitals[0], plan))


def test_a_plan_names_the_rule_that_it_keeps(three: Graphs) -> None:
    competing, benefit = three
    plan = fc.select(competing, benefit, rule="messages")
    assert (plan.policy, plan.rule) == ("friends", "messages")
    assert ("University", "General") in {(edge.helper, edge.helped) for edge in plan.edges}
    assert "The plan keeps the rule `messages`" in str(fc.verify(competing, plan, rule="messages"))
    told = fc.explain(competing, benefit, plan, "University", "General")
    assert "The rule `messages` requires no more" in str(told)
    with pytest.raises(NotASetting, match='under the rule "messages", not "paths"'):
        fc.verify(competing, plan, rule="paths")
    # A plan under `paths` keeps the other rule too, and names the one that it was made under.
    for rule in ("paths", "messages"):
        stronger = fc.select(competing, benefit, "optimal", rule=rule)
        assert stronger.rule == "paths"
        fc.verify(competing, stronger, rule=rule)
    with pytest.raises(NotASetting, match='the policy "friends" does not keep the rule "paths"'):
        fc.select(competing, benefit, "friends", rule="paths")
    with pytest.raises(NotASetting, match='"message"'):
        fc.select(competing, benefit, rule="message")
    old = fc.Plan.from_json(fc.select(competing, benefit).to_json().replace('"rule": "paths",', ""))
    assert old.rule == "paths"


@pytest.mark.parametrize("objective", ["max-min", "proportional"])
def test_other_objectives(hospitals: Graphs, objective: str) -> None:
    plan = fc.select(*hospitals, objective=objective)  # type: ignore[arg-type]
    assert plan.note is not None and plan.welfare <= plan.upper_bound


def test_comparisons(hospitals: Graphs) -> None:
    rows = fc.compare(*hospitals)
    assert [row.policy for row in rows][:2] == ["optimal", "greedy"]
    assert len(rows) == 6 and all(row.keeps_the_rule for row in rows)
    assert rows[0].welfare == max(row.welfare for row in rows) == pytest.approx(5.58)
    assert "The plan of optimal is proven to be the best." in str(rows)


def test_explanations(three: Graphs) -> None:
    plan = fc.select(*three)
    refused = fc.explain(*three, plan, "University", "General")
    assert (refused.verdict, refused.benefit) == ("refused", 0.3)
    assert refused.path == ("St Mary", "University", "General")
    assert str(refused).startswith("No: General may not learn from University (benefit 0.3)")
    assert fc.explain(*three, plan, "St Mary", "University").verdict == "used"
    assert fc.explain(*three, plan, "University", "St Mary").verdict == "no-benefit"


def test_history_counts(three: Graphs) -> None:
    competing, benefit = three
    plan = fc.select(competing, benefit)
    gone = plan.leave("St Mary", competing=competing, benefit=benefit)
    assert gone.left == ("St Mary",)
    assert gone.carries["University"] == ("St Mary", "General")
    assert "University no longer learns from St Mary: St Mary has left" in gone.difference
    # St Mary is gone, but University still carries its data.
    assert "University" not in gone.helpers("General")
    assert fc.explain(competing, benefit, gone, "St Mary", "General").verdict == "left"
    untrained = plan.leave("St Mary", competing=competing, benefit=benefit, trained=False)
    assert "University" in untrained.helpers("General")
    again = plan.leave("St Mary", competing=competing, benefit=benefit, restarting=["University"])
    assert "University" in again.helpers("General")
    back = gone.join("St Mary", competing=competing, benefit=benefit)
    assert back.left == () and "St Mary" in back.helpers("University")
    for later in (gone, untrained, again, back):
        assert fc.verify(competing, later, later.certificate) == later.certificate


def test_newcomers_and_declarations(three: Graphs) -> None:
    competing, benefit = three
    plan = fc.select(competing, benefit)
    wider = fc.BenefitGraph([*benefit.edges, ("Harbour", "General", 0.7)])
    with pytest.raises(fc.errors.UnknownParticipant) as unknown:
        plan.replan(competing=competing, benefit=wider)
    assert unknown.value.hint == 'to add it, call `plan.join("Harbour", …)`'
    joined = plan.join("Harbour", competing=competing, benefit=wider)
    assert "+ General now learns from Harbour (0.7)" in joined.difference
    with pytest.raises(fc.errors.PastBreaksRule) as past:
        joined.declare("Harbour", "General", competing=competing, benefit=wider)
    assert past.value.breaches == (("General", "Harbour"),)
    assert past.value.hint.startswith('`restarting=["General"]` lets it start again')
    declared = joined.declare(
        "Harbour", "General", competing=competing, benefit=wider, restarting=["General"]
    )
    assert declared.helpers("General") == ()
    # The plan remembers what the graph does not say, until somebody ends it.
    with pytest.warns(fc.FedCompetitorsWarning, match="the plan records that"):
        assert declared.replan(competing=competing, benefit=wider).helpers("General") == ()
    peace = declared.replan(
        competing=competing, benefit=wider, reconciled=[("General", "Harbour")]
    )
    assert peace.helpers("General") == ("Harbour",)


def test_what_looks_like_a_mistake_is_warned_of(three: Graphs) -> None:
    competing, benefit = three
    plan = fc.select(competing, benefit)
    altered = fc.Plan.from_json(plan.to_json().replace('"benefit": 0.4', '"benefit": 0.1'))
    with pytest.warns(fc.FedCompetitorsWarning, match="it was changed after it was made"):
        fc.verify(competing, altered)
    nobody = fc.CompetingGraph([], benefit.participants)
    later = plan.replan(competing=competing, benefit=benefit)
    with pytest.warns(fc.FedCompetitorsWarning, match="the plan records that"):
        fc.verify(nobody, later)


@pytest.mark.parametrize("policy", ["optimal", "greedy", "cliques"])
def test_the_program_writes_the_same_plan(hospitals: Graphs, policy: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    program("select", *FILES, "--policy", policy, "--out", path)
    assert path.read_text() == fc.select(*hospitals, policy).to_json()  # type: ignore[arg-type]


def test_the_program_accepts_our_plan_and_certificate(hospitals: Graphs, tmp_path: Path) -> None:
    plan = fc.select(*hospitals)
    assert plan.certificate is not None
    (tmp_path / "plan.json").write_text(plan.to_json())
    (tmp_path / "proof.json").write_text(plan.certificate.to_json())
    files = [*FILES[:2], "--plan", tmp_path / "plan.json"]
    assert "The certificate holds" in program("verify", *files, "--against", tmp_path / "proof.json")
    told = program("explain", *FILES, "--plan", tmp_path / "plan.json", "University", "General")
    assert told.strip() == str(fc.explain(*hospitals, plan, "University", "General"))


def test_the_program_changes_plans_alike(hospitals: Graphs, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = fc.select(*hospitals)
    path.write_text(plan.to_json())
    told = program(
        "leave", "--plan", path, *FILES, "--policy", "optimal", "--out", path, "Harbour"
    )
    competing, benefit = hospitals
    left = plan.leave("Harbour", competing=competing, benefit=benefit)
    assert (path.read_text(), told) == (left.to_json(), left.difference)
    assert json.loads(left.to_json())["left"] == ["Harbour"]


def test_entries_are_those_of_the_program() -> None:
    assert list(fc.entries("rule")) == ["paths", "messages"]
    assert fc.Settings().policy == next(iter(fc.entries("policy")))
    with pytest.raises(NotASetting, match='the kind "kind" is unknown'):
        fc.entries("kind")


def test_settings_of_an_entry_are_those_of_the_program() -> None:
    assert fc.default_settings("estimator", "mixture")["probe_steps"] == fc.Settings().probe_steps
    assert fc.default_settings("policy", "greedy") == {}
    with pytest.raises(NotASetting, match='the trainer "mixer" is unknown') as refused:
        fc.default_settings("trainer", "mixer")
    assert "mixing" in refused.value.hint
