from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.registry import mechanism
from discreet.models.tree import flower
from discreet.utility import evaluation, model
from discreet.utility.evaluation import WARNING, Evaluator, Group, evaluate

CHEAP: tuple[Group, ...] = ("similarity", "difference", "follows", "entropy", "size", "times")


@pytest.fixture(scope="module")
def log() -> EventLog:
    return sample_log("hospital", cases=400, seed=7)


def test_the_log_itself_is_perfect(log: EventLog) -> None:
    found = evaluate(log, log, measures=CHEAP)
    assert found["similarity"] == 1.0
    assert found["size_ratio"] == 1.0
    for name in (
        "absolute_difference",
        "follows_total_variation",
        "follows_percentage_error",
        "times_smape",
        "duration_distance",
        "throughput_distance",
        "wait_median_error",
        "wait_p90_error",
        "duration_log_distance",
        "start_week_distance",
        "week_hour_distance",
    ):
        assert found[name] == 0.0, name


def test_a_release_in_every_form_gives_the_same_figures(log: EventLog, tmp_path: Path) -> None:
    release = mechanism("travas", epsilon=2, delta=1e-3).release(log, insecure_seed=1)
    release.write(tmp_path / "shared.xes")
    forms = (release, release.artefact, release.log(), tmp_path / "shared.xes")
    evaluator = Evaluator(log)
    figures = [
        {f.name: f.value for f in evaluator.evaluate(form, measures=CHEAP, reference=False)}
        for form in forms
    ]
    assert figures[0]["similarity"] > 0.5
    assert "times_smape" not in figures[0]  # artificial times are no times
    assert all(one == pytest.approx(figures[0]) for one in figures)


def test_figures_are_marked_as_the_holders_own(log: EventLog) -> None:
    body = json.loads(json.dumps(evaluate(log, log, measures=("size",)).to_dict()))
    assert body["warning"] == WARNING
    assert body["figures"][0]["name"] == "size_ratio"


def test_an_empty_release(log: EventLog) -> None:
    found = evaluate(log, Variants.empty())
    assert found["similarity"] == 0.0
    assert found["absolute_difference"] == log.events
    assert found["size_ratio"] == 0.0
    assert "an empty release has no model: its quality counts as 0" in found.notes
    assert found["fitness"] == found["f_score"] == 0


def test_the_ceiling_lies_between_a_release_and_the_log(log: EventLog) -> None:
    ceiling = Evaluator(log).ceiling
    assert ceiling is not None
    assert 0.7 < ceiling < 1.0


def test_model_quality_and_its_reference(log: EventLog) -> None:
    pytest.importorskip("pm4py", reason="model quality needs the extra pm4py")
    found = evaluate(log, log, measures=("model",))
    for figure in found:
        assert figure.value == pytest.approx(figure.reference), figure.name
    assert found["f_score"] == pytest.approx(
        2 * found["fitness"] * found["precision"] / (found["fitness"] + found["precision"])
    )


def test_a_process_tree_is_measured_as_a_model(log: EventLog) -> None:
    pytest.importorskip("pm4py", reason="model quality needs the extra pm4py")
    found = evaluate(log, flower(log.activities))
    assert found["fitness"] == 1.0
    assert found["precision"] < 0.5
    assert "similarity" not in found.names


def test_a_directly_follows_graph_is_measured_by_its_pairs(log: EventLog, tmp_path: Path) -> None:
    graph = Follows.of_variants(log.variants)
    (tmp_path / "graph.json").write_text(graph.to_json())
    for form in (graph, tmp_path / "graph.json"):
        found = evaluate(log, form)
        assert found["follows_percentage_error"] == 0.0
        assert "similarity" not in found.names


def test_without_pm4py_the_rest_is_measured_and_the_extra_named(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "can_discover", lambda: False)
    found = evaluate(log, log, measures=("similarity", "model"))
    assert found.names == ("similarity",)
    assert "discreet[pm4py]" in found.notes[0]


def test_without_scikit_learn_the_rest_is_measured(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "find_spec", lambda name: None)
    found = evaluate(log, log, measures=("normal", "size"))
    assert found.names == ("size_ratio",)
    assert "discreet[evaluate]" in found.notes[0]


def test_nonsense_is_refused(log: EventLog, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown measures"):
        evaluate(log, log, measures=("beauty",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot evaluate a dict"):
        evaluate(log, {})
    (tmp_path / "x.json").write_text("{]")
    with pytest.raises(ValueError, match="not JSON"):
        evaluate(log, tmp_path / "x.json")
    (tmp_path / "y.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match="neither a directly-follows graph nor a process tree"):
        evaluate(log, tmp_path / "y.json")
