"""What whole logs draw their noise for: no case moves a table by more than was paid for."""

from __future__ import annotations

import shutil
import tempfile
from bisect import bisect_left
from fractions import Fraction
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet
from discreet.log.engines.view import sums_over
from discreet.log.errors import LogError
from discreet.log.events import TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.variants import Variants
from discreet.log.writing import write_log
from discreet.mechanisms.base import bound_individuals
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.allocation import COMPLETING, NAMES
from discreet.mechanisms.whole.amun import Amun
from discreet.mechanisms.whole.declared_attributes import MOST_VOTES, DeclaredAttribute
from discreet.mechanisms.whole.mechanism import WholeLog
from discreet.mechanisms.whole.timelines import Clock, TimelineSums
from discreet.mechanisms.whole.value_cells import Names
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Concentrated, Gaussian
from tests.mechanisms.whole.logs import Event, in_order, log_of, office, released
from tests.watching import Draw, Watch

KINDS = ("org:resource", "case:amount:number", "case:kind", "weight:number")


PUBLIC = ("case:kind=large|small", "org:resource=ann|bob", "weight:integer")


BEGUN = "start_timestamp"


CENTURY: list[Event] = [("register", -700_000.0, "zoe", 1e15), ("check", 600_000.0, None, -3.0)]
"""From long before the stretch to long after it."""


ENDLESS: list[Event] = [(["check", "decide"][i % 2], 17.0 * i, f"r{i}", 0.01) for i in range(800)]
"""Eight hundred events."""


ALONE: list[Event] = [("unheard of", 1.0, "nobody", 12.34), ("register", 1.0, "nobody", 12.34)]
"""A value and an activity that nobody else has."""


STUCK: list[Event] = [("check", 30.0 * i, "ann", 100.0) for i in range(60)]
"""One activity sixty times, with one value, more than a day apart."""


FURTHER = (CENTURY, ENDLESS, ALONE, STUCK)


def built(name: str, **given: Any) -> WholeLog:
    """A mechanism for whole logs."""
    found: WholeLog = {"whole": Whole, "amun": Amun}[name](**{"epsilon": 8.0, **given})
    return found


def account(mechanism: WholeLog) -> Concentrated:
    """The steps for times and attributes."""
    return mechanism.step(COMPLETING, Concentrated)


def watched(mechanism: WholeLog, logs: list[EventLog], variants: Variants) -> Watch:
    """The whole release of each log, all with these variants."""
    mechanism.inner.__dict__["_draw"] = lambda log, rng: variants
    watch = Watch()
    for log in logs:
        watch.run(partial(mechanism._draw, log, Randomness.seeded(3)))
    return watch


def check_noise(
    mechanism: WholeLog,
    logs: list[EventLog],
    variants: Variants,
    apart: int = 1,
    least: float = 0.9,
) -> None:
    """Each step answers once, with noise that pays for what so many cases add to its counts.

    And nearly for no more: one neighbour or another takes `least` of it, so that noise that is a
    little too small would show. A choice moves by all that it may only where two scores move apart.
    """
    watch = watched(mechanism, logs, variants)
    steps = account(mechanism).below
    assert sorted(one.step for one in watch.runs[0]) == sorted(step.name for step in steps)
    assert not watch.loose, "noise that is not added to counts"
    assert sum(step.rho or 0 for step in steps) == account(mechanism).rho
    used = watch.used(steps, apart)
    choices = [used.pop(step.name) for step in steps if isinstance(step, Choosing)]
    assert min(used.values()) >= least, min(used.items(), key=itemgetter(1))
    assert apart > 1 or max(choices, default=1.0) >= least / 3
    holds = mechanism.guarantee().holds
    assert holds is not None
    assert holds.epsilon <= mechanism.epsilon
    assert holds.delta <= mechanism.delta


OFFICE = [*[STUCK] * 12, *[ENDLESS[:90]] * 5, *office(150)]
"""Many cases, and some long ones that are alike."""


def check_cases(name: str, least: float = 0.9, **given: Any) -> None:
    """One case more or less."""
    logs = [OFFICE, OFFICE[:-1], *([*OFFICE, one] for one in FURTHER)]
    variants = log_of(OFFICE).variants
    check_noise(built(name, **given), [log_of(one) for one in logs], variants, least=least)


def check_individuals(name: str, **given: Any) -> None:
    """One individual more, with five cases of which two are kept."""
    mechanism = built(name, cases_per_individual=2, **given)
    people = [f"p{i}" for i in range(len(OFFICE))]
    logs = [log_of(OFFICE, people)]
    logs += [log_of([*OFFICE, *[one] * 5], [*people, *["zoe"] * 5]) for one in FURTHER]
    kept = [bound_individuals(log, 2, Randomness.seeded(7)) for log in logs]
    assert [log.cases for log in kept[1:]] == [len(OFFICE) + 2] * len(FURTHER)
    check_noise(mechanism, kept, logs[0].variants, apart=2, least=0.45)


def check_engine(name: str, **given: Any) -> None:
    """One individual more in an engine that hands over its cases a few events at a time."""
    pytest.importorskip("duckdb", reason="needs the extra duckdb")
    people = [f"p{i}" for i in range(len(OFFICE))]
    logs = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.log.engines.duckdb.AT_ONCE", 300)
        patch.setattr("discreet.log.engines.batches.KEPT_BYTES", 10**9)
        for number, more in enumerate([[], [ENDLESS] * 5]):
            path = Path(folder) / f"{number}.parquet"
            write_log(log_of([*OFFICE, *more], [*people, *["zoe"] * len(more)]), path)
            log = read_log(path, engine="duckdb", individual="person")
            logs.append(bound_individuals(log, 2, Randomness.seeded(7)))
        assert logs[1].cases == len(OFFICE) + 2
        mechanism = built(name, cases_per_individual=2, **given)
        check_noise(mechanism, logs, log_of(OFFICE).variants, apart=2, least=0.0)


GIVEN: dict[str, dict[str, Any]] = {
    "times": {"zone": "Australia/Lord_Howe"},
    "working times": {"begun": BEGUN},
    "attributes": {"attributes": KINDS},
    "public values": {"attributes": PUBLIC, "begun": BEGUN, "epsilon": 30.0},
    "much noise": {"attributes": KINDS, "begun": BEGUN, "epsilon": 0.002, "least": 0.0},
}


INDIVIDUALS: dict[str, Any] = {"attributes": KINDS, "begun": BEGUN, "epsilon": 16.0}


@pytest.mark.parametrize("name", ["whole", "amun"])
@pytest.mark.parametrize("given", GIVEN)
def test_a_case_costs_no_more_than_its_noise_pays_for(name: str, given: str) -> None:
    check_cases(name, **GIVEN[given])


@pytest.mark.parametrize("name", ["whole", "amun"])
def test_an_individual_costs_no_more_than_so_many_cases(name: str) -> None:
    check_individuals(name, **INDIVIDUALS)


@pytest.mark.parametrize("name", ["whole", "amun"])
def test_an_individual_of_an_engine_costs_no_more(name: str) -> None:
    check_engine(name, **INDIVIDUALS)


def named_from(
    mechanism: WholeLog, attribute: DeclaredAttribute, log: EventLog
) -> tuple[Draw, int]:
    """What the names of a column are drawn from, and the least noisy count that is named."""
    source = TimelineSums(sums_over(log), log.activities, Clock("UTC"))
    watch = Watch()

    def named(answer: int) -> bool:
        watch.given[f"{NAMES}{attribute.column}"] = lambda counts: np.full_like(counts, answer)
        watch.forget()
        names = partial(Names.find, source, attribute, account(mechanism), Randomness.seeded(3))
        return len(watch.run(names)) > 0

    least = bisect_left(range(1 << 40), True, key=named)
    (draw,) = watch.runs[0]
    assert isinstance(draw, Draw)
    return draw, least


def check_lone_values(name: str, column: str, **given: Any) -> None:
    """That any value of one case alone is named fails with the probability that is stated.

    By the bound of the proof: of normal tails, P[N ≥ x] ≤ e^(−x²/2σ²).
    """
    mechanism = built(name, attributes=KINDS, **given)
    attribute = next(one for one in mechanism.asked if one.column == column)
    step = account(mechanism).find(f"{NAMES}{column}", Gaussian)
    many = range(1, MOST_VOTES + 1)
    chances = []
    for values in [1] if attribute.of_case else many:
        case: list[Event] = [("check", float(i), f"only {i}", 7.0) for i in range(values)]
        draw, least = named_from(mechanism, attribute, log_of([case]))
        assert len(draw.counts) == values
        beyond = least - draw.counts.astype(np.float64)
        assert (beyond > 0).all()
        chances.append(float(np.exp(-(beyond**2) / (2 * float(draw.noise.size))).sum()))
    assert max(chances) <= step.failing
    assert max(chances) > step.failing / 2, "values are kept back that need not be"
    names = [one for one in account(mechanism).below if one.name.startswith(NAMES)]
    inner = mechanism.inner.guarantee().holds
    assert inner is not None
    failing = [one.failing for one in names if isinstance(one, Gaussian)]
    spent = sum(map(Fraction, [account(mechanism).delta, *failing]))
    assert spent <= account(mechanism).spent.delta <= mechanism.delta - inner.delta


@pytest.mark.parametrize("name", ["whole", "amun"])
@pytest.mark.parametrize("column", ["org:resource", "case:kind", "case:amount"])
@pytest.mark.parametrize("epsilon", [0.5, 30.0])
def test_values_of_one_case_alone_are_kept_back(name: str, column: str, epsilon: float) -> None:
    check_lone_values(name, column, epsilon=epsilon)


def test_one_line_in_python() -> None:
    done = discreet.release(
        log_of(office(400)), "travas", epsilon=8, times=True, no_ledger=True, fidelity="strict",
        attributes=["org:resource", "case:amount:number"],
    )  # fmt: skip
    assert isinstance(done.artefact, EventLog)
    assert done.artefact.table.columns[3:] == ["org:resource", "case:amount"]
    assert done.parameters["variants"] == "travas"


def test_a_log_without_times_is_refused() -> None:
    log = log_of(office(5))
    bare = EventLog.from_table(log.table.drop(TIME))
    with pytest.raises(LogError, match="no timestamps"):
        Whole().release(bare)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"zone": "Middle/Earth"}, "no time zone"),
        ({"variants": "dpim"}, "does not return variants"),
        ({"variants": "whole"}, "does not return variants"),
        ({"options": "epsilon=3"}, "parameter of whole itself"),
        ({"options": "colour=3"}, "no parameter 'colour'"),
        ({"options": "colour"}, "name=value"),
        ({"attributes": "concept:name"}, "no further column"),
        ({"attributes": "a,a:number"}, "named twice"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Whole(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("variants", "options"),
    [
        ("travas", ()),
        ("laplace", ()),
        ("sacofa", ("rules=learn",)),
        ("sapa", ()),
        ("headtail", ()),
        ("choice", ("candidates=travas,laplace",)),
        ("sequence", ("steps=3",)),
        ("ddpm", ("steps=3", "cases=50")),
        ("travag", ("steps=3", "cases=50")),
    ],
)
def test_works_on_the_variants_of(variants: str, options: tuple[str, ...]) -> None:
    if variants in ("sequence", "ddpm", "travag"):
        pytest.importorskip("torch")
    labels = ("register", "check", "decide", "letter")
    log = released(office(150), 60.0, variants=variants, alphabet=labels, options=options)
    assert log.cases
    assert in_order(log)


@pytest.mark.filterwarnings("ignore:In the current version, the import")
@pytest.mark.filterwarnings("ignore:Constructing a DataFrame from a list of sequences")
def test_pm4py_analyses_the_release(tmp_path: Path) -> None:
    pm4py = pytest.importorskip("pm4py")
    path = tmp_path / "shared.xes"
    Whole(epsilon=8.0, attributes="org:resource").release(log_of(office(800))).write(path)
    frame = pm4py.format_dataframe(pm4py.read_xes(str(path), return_legacy_log_object=False))
    performance, starts, ends = pm4py.discover_performance_dfg(frame)
    assert ("register", "check") in performance
    assert 300 < performance["register", "check"]["median"] < 3600
    assert starts
    assert ends
    named = frame.dropna(subset=["org:resource"])  # PM4Py sorts names, and fails where one lacks
    network = pm4py.discover_handover_of_work_network(named.reset_index(drop=True))
    assert {"ann", "eve"} <= {name for pair in network.connections for name in pair}
    if shutil.which("neato"):  # PM4Py draws with Graphviz
        picture = tmp_path / "dots.svg"
        pm4py.save_vis_dotted_chart(frame, str(picture))
        assert picture.stat().st_size > 1000


def test_individuals_are_protected_at_the_price_of_groups() -> None:
    table = log_of(office(600)).table
    person = pl.Series("case:person", [name[:-1] for name in table["case:concept:name"]])
    log = EventLog.from_table(table.with_columns(person), individual="case:person")
    mechanism = Whole(epsilon=30.0, cases_per_individual=3)
    done = mechanism.release(log)
    assert done.guarantee.unit == "individual"
    assert isinstance(done.artefact, EventLog)
    assert 0 < done.artefact.cases < 400
    assert in_order(done.artefact)


def test_table_has_only_what_was_asked_for() -> None:
    log = released(office(300))
    assert log.table.columns == ["case:concept:name", "concept:name", TIME]
    assert isinstance(log.table[TIME].dtype, pl.Datetime)
