from __future__ import annotations

from pathlib import Path

import pytest

from discreet.bench.bench_plan import load_plan, plan_names
from discreet.parameters import ParameterError

PAPERS = [
    *("papers/amun", "papers/dpim", "papers/generative", "papers/sacofa", "papers/travas"),
    "papers/utravas",
]


def test_every_paper_has_a_plan() -> None:
    assert set(PAPERS) <= set(plan_names())


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_plans_fit_the_mechanisms_that_are_installed(name: str) -> None:
    load_plan(name).check()


def test_cells_are_the_whole_grid_and_have_keys_of_their_own(small_plan: Path) -> None:
    cells, absent = load_plan(str(small_plan)).cells(small_plan.parent)
    assert absent == []
    travas = [cell for cell in cells if cell.mechanism == "travas"]
    assert len(travas) == 2 * 2 * 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.label for cell in cells} > {"ceiling", "uniform", "data-free", "original"}


def test_keys_depend_on_the_content_of_the_log(small_plan: Path) -> None:
    plan = load_plan(str(small_plan))
    before = {cell.key for cell in plan.cells(small_plan.parent)[0]}
    log = small_plan.parent / "small.csv"
    assert before == {cell.key for cell in plan.cells(small_plan.parent)[0]}
    log.write_text(log.read_text() + "x,Register,2024-01-01T00:00:00Z,complete,p,r\n")
    assert not before & {cell.key for cell in plan.cells(small_plan.parent)[0]}


def test_missing_logs_and_mechanisms_are_named(small_plan: Path) -> None:
    plan = load_plan(str(small_plan))
    assert plan.missing_mechanisms() == ["not-there"]
    assert plan.cells(small_plan.parent / "elsewhere") == ([], ["small.csv"])


def test_reducing(small_plan: Path) -> None:
    plan = load_plan(str(small_plan)).reduced(
        logs=["small"], mechanisms=["travas"], epsilon=[1], delta=[0.01], repetitions=1
    )
    assert plan.missing_mechanisms() == []
    cells, _ = plan.cells(small_plan.parent)
    assert [cell.parameters for cell in cells if cell.mechanism == "travas"] == [
        {"fidelity": "published", "epsilon": 1, "delta": 0.01}
    ]
    with pytest.raises(ParameterError, match="nothing of the plan"):
        plan.reduced(mechanisms=["sacofa"])


def test_parameters_for_one_log_and_budget(small_plan: Path) -> None:
    small_plan.write_text(
        small_plan.read_text().replace(
            'parameters = { fidelity = "published" }',
            'log.small = [{ epsilon = 1, fidelity = "strict" }, { cases_per_individual = 2 }]',
        )
    )
    cells, _ = load_plan(str(small_plan)).cells(small_plan.parent)
    found = [cell.parameters for cell in cells if cell.mechanism == "travas"]
    assert all(one["cases_per_individual"] == 2 for one in found)
    assert {one["epsilon"] for one in found if "fidelity" in one} == {1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("fidelity", "fidelty"), "plan.*travas.*has no parameter 'fidelty'"),
        (('"published"', '"perfect"'), "fidelity must be one of"),
        (("epsilon = [2, 1]", "epsilon = [-1]"), "epsilon must be"),
        (("repetitions = 2", "repetition = 2"), "unknown keys repetition"),
        (('"similarity"', '"beauty"'), "unknown measures beauty"),
        (("epsilon = [2, 1]", "epsilon = "), "cannot be read"),
        (('logs = ["small.csv"]', ""), "names no logs"),
    ],
)
def test_mistakes_are_explained(small_plan: Path, change: tuple[str, str], message: str) -> None:
    small_plan.write_text(small_plan.read_text().replace(*change))
    with pytest.raises(ParameterError, match=message):
        load_plan(str(small_plan)).check()


def test_an_unknown_plan_lists_the_known() -> None:
    with pytest.raises(ParameterError, match="papers/travas"):
        load_plan("papers/none")
