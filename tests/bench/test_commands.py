from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from discreet.bench import runner as running
from discreet.bench.store import Store
from discreet.cli.app import build
from discreet.log.errors import LogError
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism
from discreet.parameters import ParameterError
from tests.commands import run_cells_here
from tests.conftest import RealLogs

runner = CliRunner()


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are tested in `test_runner.py`, with the command too."""
    monkeypatch.setattr(running, "_run_pool", run_cells_here)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and a release of it."""
    path = tmp_path_factory.mktemp("logs")
    log = sample_log("hospital", cases=300, seed=3)
    write_log(log, path / "log.xes")
    mechanism("travas", epsilon=2, delta=1e-3).release(log, insecure_seed=1).write(path / "out.xes")
    return path


def invoke(*arguments: object) -> str:
    typed = [str(a) for a in arguments]
    done = runner.invoke(build(typed), typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_evaluate_as_json(folder: Path) -> None:
    arguments = ("evaluate", folder / "log.xes", folder / "out.xes", "-m", "similarity", "--json")
    body = json.loads(invoke(*arguments))
    assert "not for publication" in body["warning"]
    (figure,) = body["figures"]
    assert figure["name"] == "similarity"
    assert 0 < figure["value"] <= 1
    assert 0 < figure["reference"] < 1


def test_evaluate_as_a_table(folder: Path) -> None:
    shown = invoke(
        "evaluate", folder / "log.xes", folder / "out.xes", "-m", "size", "-m", "follows"
    )
    assert "size_ratio" in shown
    assert "follows_total_variation" in shown


def test_evaluate_refuses_unknown_measures(folder: Path) -> None:
    with pytest.raises(ParameterError, match="unknown measure beauty"):
        invoke("evaluate", folder / "log.xes", folder / "out.xes", "-m", "beauty")


def test_compare_ranks_and_says_who_could_not_run(folder: Path) -> None:
    arguments = ("compare", folder / "log.xes", "--epsilon", 1, "--delta", "1e-3")
    names = ("-m", "travas", "-m", "utravas", "-m", "laplace")
    body = json.loads(invoke(*arguments, *names, "--json"))
    assert "costs" in body["cost"] or "not covered" in body["cost"]
    assert 0 < body["ceiling"] < 1
    found = {one["name"]: one for one in body["mechanisms"]}
    assert found["travas"]["status"] == "proved"
    assert found["travas"]["figures"]["similarity"] > 0
    assert "alphabet" in found["laplace"]["problem"]
    shown = invoke(*arguments, *names)
    assert "█" in shown


def test_compare_passes_public_inputs_on(folder: Path) -> None:
    arguments = ("compare", folder / "log.xes", "-m", "laplace", "--alphabet", "from-log", "--json")
    found = {one["name"]: one for one in json.loads(invoke(*arguments))["mechanisms"]}
    assert set(found) == {"whole", "laplace"}
    one = found["laplace"]
    assert one["problem"] == ""
    assert one["status"] == "conditional"


def test_compare_privately(folder: Path) -> None:
    target = folder / "chosen.xes"
    arguments = ("compare", folder / "log.xes", "--epsilon", 2, "--delta", "1e-3", "--private")
    with pytest.raises(ParameterError, match="--output"):
        invoke(*arguments)
    body = json.loads(invoke(*arguments, "-o", target, "--json"))
    assert body["certificate"]["mechanism"] == "choice"
    assert body["certificate"]["guarantee"]["holds"] == {"epsilon": 2.0, "delta": 1e-3}
    assert target.is_file()


def test_bench_without_a_plan_needs_a_log_and_a_mechanism(folder: Path) -> None:
    with pytest.raises(ParameterError, match="--log"):
        invoke("bench", "-m", "travas")


def test_bench_lists_its_plans() -> None:
    assert "papers/travas" in invoke("bench", "--plans")


def test_a_reduced_paper_plan_with_what_is_missing_named(
    real_logs: RealLogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cell of Figure 2 of TraVaS's paper, twice, on the real log (or one of its shape)."""
    from discreet.mechanisms import registry

    found_all = registry._found()
    only = {k: v for k, v in found_all.entries.items() if k == "travas"}
    monkeypatch.setattr(registry, "_found", lambda: found_all._replace(entries=only))
    alone = ("--workers", 1, "--json")
    known, path = real_logs["Sepsis"]
    options = ("--log", "Sepsis", "--epsilon", 1, "--delta", 0.1, "--repetitions", 2)
    body = json.loads(
        invoke("bench", "papers/travas", "--logs", path.parent, "-o", tmp_path, *options, *alone)
    )
    found = {one["mechanism"]: one for one in body["settings"]}
    similar, apart, ceiling = (0.767, 1.49e4, 0.829) if known.generated else (0.730, 1.29e5, 0.805)
    travas = found["travas"]["means"]
    assert travas["similarity"] == pytest.approx(similar, abs=0.06)
    assert travas["similarity_by_index"] == pytest.approx(similar, abs=0.06)
    assert travas["absolute_difference_as_travas"] == pytest.approx(apart, rel=0.22)
    assert found["ceiling"]["means"]["similarity"] == pytest.approx(ceiling, abs=0.03)
    assert found["original"]["means"]["similarity"] == 1.0
    page = (tmp_path / "report.html").read_text()
    assert "<b>sacofa-table4</b> is not installed" in page
    assert "<b>laplace-table4</b> is not installed" in page
    assert "002 Fig. 2" in page


def test_bench_reads_logs_by_the_options_of_all_commands(folder: Path, tmp_path: Path) -> None:
    with (folder / "german.csv").open("w", encoding="latin-1") as file:
        file.write("Fall;Tätigkeit;Wann\n")
        for case in range(40):
            for place, step in enumerate(("Prüfung", "Entlassung")):
                file.write(f"{case};{step};0{place + 1}.02.2024 10:00\n")
    columns = ("--case", "Fall", "--activity", "Tätigkeit", "--timestamp", "Wann")
    options = (*columns, "--encoding", "latin-1", "--timestamp-format", "day-first")
    grid = ("-m", "travas", "--epsilon", 2, "--delta", 0.01, "--repetitions", 2, "-o", tmp_path)
    body = json.loads(
        invoke("bench", "--log", folder / "german.csv", *options, *grid, "--workers", 1, "--json")
    )
    found = {one["mechanism"]: one for one in body["settings"]}
    assert found["travas"]["failed"] == 0
    assert found["travas"]["means"]["similarity"] == 1.0
    assert found["travas"]["deviations"]["similarity"] == 0.0
    rows = Store(tmp_path / "results.sqlite").rows()
    sizes = [row.figures["size_ratio"] for row in rows if row.mechanism == "travas"]
    assert len(sizes) == 2
    assert found["travas"]["deviations"]["size_ratio"] == pytest.approx(stdev(sizes))
    assert "± 0.000" in (tmp_path / "table.md").read_text()
    assert "± 0.000" in (tmp_path / "report.html").read_text()
    drawn = sorted((tmp_path / "plots").iterdir())
    assert "german-similarity.svg" in {path.name for path in drawn}
    assert all(ElementTree.fromstring(path.read_text()).tag.endswith("svg") for path in drawn)


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"none\.xes.*--logs"):
        invoke("bench", "--log", tmp_path / "none.xes", "-m", "travas", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_evaluate_an_empty_release(folder: Path) -> None:
    mechanism("travas", epsilon=0.01, delta=1e-9).release(
        sample_log("hospital", cases=20, seed=3)
    ).write(folder / "empty.csv")
    arguments = ("evaluate", folder / "log.xes", folder / "empty.csv", "--json")
    body = json.loads(invoke(*arguments, "-m", "similarity", "-m", "model"))
    figures = {one["name"]: one["value"] for one in body["figures"]}
    assert figures["similarity"] == 0.0
    assert set(figures.values()) == {0.0}
