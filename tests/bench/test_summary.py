from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources import files

import pytest

from discreet.bench.bench_plan import BenchPlan, Claim, load_plan
from discreet.bench.bench_report import html_report
from discreet.bench.store import ResultRow
from discreet.bench.summary import axes_of, gaps, markdown, settings_of, verdicts


def row(
    repetition: int,
    *,
    label: str = "travas",
    epsilon: float = 1.0,
    delta: float | None = 0.01,
    outcome: str = "ok",
    **figures: float,
) -> ResultRow:
    parameters = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    return ResultRow(
        key=f"{label}{epsilon}{delta}{repetition}",
        log="Sepsis",
        label=label,
        mechanism="control:" + label if label == "ceiling" else label,
        parameters={} if label == "ceiling" else parameters,
        repetition=repetition,
        outcome=outcome,  # type: ignore[arg-type]
        error="boom <b>" if outcome == "failed" else "",
        status="" if label == "ceiling" else "proved",
        figures=figures,
    )


ROWS = [
    row(0, similarity=0.6),
    row(1, similarity=0.4),
    row(2, outcome="empty", similarity=0.0),
    row(3, outcome="failed"),
    row(0, epsilon=0.1, similarity=0.2),
    row(0, label="ceiling", similarity=0.8),
    row(0, label="laplace", delta=None, similarity=0.7),
]


@pytest.fixture(scope="module")
def plan() -> BenchPlan:
    return load_plan("papers/travas")


def test_empty_outputs_count_in_the_mean_and_failures_beside_it() -> None:
    ceiling, laplace, first, second = settings_of(ROWS)
    assert (ceiling.label, laplace.label) == ("ceiling", "laplace")
    assert first.mean("similarity") == pytest.approx(1 / 3)
    assert (len(first.rows), first.empty, first.failed) == (4, 1, 1)
    assert second.epsilon == 0.1
    assert first.mean("fitness") is None


def test_axes() -> None:
    assert axes_of(settings_of(ROWS)) == ["epsilon", "delta"]
    pruned = [
        replace(row(0, epsilon=e), parameters={"epsilon": e, "delta": 0.01, "min_count": m})
        for e, m in ((1.0, 4), (0.1, 20))
    ]
    assert axes_of(settings_of(pruned)) == ["epsilon", "delta"]
    twice = replace(pruned[0], parameters={"epsilon": 1.0, "delta": 0.01, "min_count": 5})
    assert axes_of(settings_of([*pruned, twice])) == ["epsilon", "delta", "min_count"]


def by_index(rows: list[ResultRow]) -> list[ResultRow]:
    """The same with their similarities by the authors' rule."""
    return [
        replace(one, figures={f"{name}_by_index": value for name, value in one.figures.items()})
        for one in rows
    ]


def test_published_figures_stand_beside_ours_without_empty_outputs(plan: BenchPlan) -> None:
    found = {
        gap.setting.label + str(gap.setting.epsilon): gap
        for gap in gaps(plan, settings_of(by_index(ROWS)))
    }
    published = 0.5662942707555823  # Fig. 2, row ε = 1, column δ = .01
    assert found["travas1.0"].published == pytest.approx(published)
    assert found["travas1.0"].ours == pytest.approx(0.5)  # of .6, .4 and an empty one
    mean = (0.86288 + 0.77140 + 0.76749 + 0.80314 + 0.76966) / 5  # no δ here: all of the row
    assert found["laplace1.0"].published == pytest.approx(mean, abs=1e-5)


def test_every_published_figure_belongs_to_an_entry_of_a_plan() -> None:
    lines = (files("discreet.bench") / "published" / "travas.csv").read_text().splitlines()
    figures = list(csv.DictReader(lines))
    entries = {
        entry.label
        for name in ("travas", "utravas")
        for entry in load_plan(f"papers/{name}").entries
    }
    assert {one["label"] for one in figures} - entries == {"original"}
    assert len(figures) == 950 + 4


def test_claims(plan: BenchPlan) -> None:
    claims = (
        Claim("high", "travas", "similarity", low=0.9),
        Claim("low", "travas", "similarity", epsilon=0.1, high=0.3),
        Claim("unknown", "travas", "fitness", low=0.3),
        Claim("may be low", "travas", "similarity", high=0.3, some=True),
        Claim("always low", "travas", "similarity", high=0.3),
    )
    outcomes = verdicts(replace(plan, claims=claims), settings_of(ROWS))
    assert [one.holds for one in outcomes] == [False, True, None, True, False]


def test_markdown() -> None:
    lines = markdown(settings_of(ROWS)).splitlines()
    assert lines[0].startswith("| log | mechanism | setting | similarity |")
    assert "| Sepsis | travas | ε = 1, δ = 0.01 | 0.333 ± 0.306 | 4 | 1 | 1 |" in lines


def test_the_report_is_one_page_that_hides_nothing(plan: BenchPlan) -> None:
    rows = [*ROWS, row(0, epsilon=0.1, delta=0.001, similarity=0.1)]
    page = html_report(plan, by_index(rows), command="discreet bench")
    assert "not for publication" in page
    assert "boom &lt;b&gt;" in page
    assert "ceiling" in page
    assert "<svg" in page
    assert "src=" not in page
    assert "href=" not in page
    assert "paper 0.566" in page


def test_whatever_a_plan_or_a_log_is_called_stays_text(plan: BenchPlan) -> None:
    evil = "<script>alert(1)</script>"
    named = replace(plan, title=evil, about=evil, name=evil, reasons=(evil,))
    rows = [replace(one, log=evil) for one in ROWS]
    page = html_report(named, rows, command=evil)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8


def test_a_report_of_nothing(plan: BenchPlan) -> None:
    page = html_report(plan, [], command="discreet bench")
    assert "There are no results yet" in page
