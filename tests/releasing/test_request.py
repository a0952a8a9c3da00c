"""Requests: what is asked for, as a value."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest

import discreet
from discreet.ledger.errors import LedgerError
from discreet.log.errors import LogError
from discreet.log.reading import Reading
from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE
from discreet.parameters import ParameterError
from discreet.releasing.request import Output, Payment, Product, Request, RequestError

ALL = Request(
    log="log.csv",
    reading=Reading(case="patient", types={"age": "integer"}, tie_break=("n",), memory="4GB"),
    product=Product("travas", {"epsilon": 0.5, "cases_per_individual": 2}, True),
    payment=Payment("town", "a report", "ada", allow_weak=True, cost={"epsilon": "0.5"}),
    output=Output("out.csv", overwrite=True),
    seed=3,
)


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        ALL,
        Request(product=Product(parameters={"attributes": ("age:integer",), "begun": "at"})),
        Request(product=Product("sequence", {"alphabet": ("a", "b")}, model=True)),
        Request(payment=Payment(bypassed=True), product=Product(cases_alone=True)),
    ],
)
def test_json_gives_an_equal_request(request_: Request) -> None:
    text = request_.to_json()
    assert Request.from_json(text) == request_
    assert Request.from_json(text).to_json() == text
    assert json.loads(text)["format"] == "discreet request 1"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "discreet request 9"}', Request().to_json()[:-2] + ', "x": 1}'],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="not a request"):
        Request.from_json(text)


def test_what_it_says_is_checked_again() -> None:
    said = ALL.to_dict()
    with pytest.raises(ParameterError, match="epsilon"):
        Request.from_dict(said | {"product": said["product"] | {"parameters": {"epsilon": -1}}})
    with pytest.raises(LogError, match="order"):
        Request.from_dict(said | {"reading": {"order": "backwards"}})
    with pytest.raises(LedgerError, match="choose one"):
        Request.from_dict(said | {"payment": said["payment"] | {"bypassed": True}})


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ALL.seed = 4  # type: ignore[misc]


def test_products_that_say_the_same_are_equal() -> None:
    plain = Product()
    assert plain.parameters == {"epsilon": 1.0}
    assert Product(parameters={"epsilon": 1, "delta": 1e-6, "times_share": 0.5}) == plain
    assert Product(parameters={"attributes": ["age"]}) == Product(parameters={"attributes": "age"})
    assert Product("travas") == Product("travas", times=False)
    assert Product(times=True) != plain
    turned = Product(parameters={"times_share": 0.25, "delta": 1e-5})
    assert list(turned.parameters) == ["delta", "epsilon", "times_share"]


def test_a_default_that_is_given_stays_where_the_default_follows_the_reading() -> None:
    reading = Reading(timezone="Europe/Amsterdam")
    hours = Product(parameters={"zone": "UTC"}).resolved(reading).mechanism.settings["zone"]
    assert hours == "UTC"
    assert Product().resolved(reading).mechanism.settings["zone"] == "Europe/Amsterdam"


def test_a_parameter_that_it_does_not_have_is_an_error_and_not_dropped() -> None:
    with pytest.raises(ParameterError, match="no parameter 'times_share'"):
        Product("travas", {"times_share": 0.5}).resolved()
    with pytest.raises(ParameterError, match="no parameter 'times_share'"):
        Product(times=False, parameters={"times_share": 0.5}).resolved()
    taken = Product.taking({"times_share": 0.2, "alphabet": ("a",), "epsilon": 2}, "laplace")
    assert taken == Product("laplace", {"alphabet": ("a",), "epsilon": 2})


def test_a_table_of_variants_has_no_times() -> None:
    table = Request(output=Output("out.variants.parquet"))
    assert table.resolved().mechanism.name == DEFAULT_MECHANISM
    assert Request(output=Output("out.parquet")).resolved().mechanism.name == WHOLE
    times = Request(output=Output("out.variants.parquet"), product=Product(times=True))
    assert times.resolved().mechanism.name == WHOLE, "said so, and refused before it is read"


def test_declared_columns_are_read_as_declared_and_others_only_if_needed() -> None:
    asked = Product(parameters={"attributes": ("age:integer",)})
    reading = Reading(types={"weight": "number"})
    read = asked.resolved(reading).reading(reading)
    assert read.kinds == {"weight": "number", "age": "integer"}
    assert read.further
    variants = Product(times=False).resolved(reading).reading(reading)
    assert variants == replace(reading, further=False)


def test_a_log_without_times_gets_the_variants() -> None:
    log = discreet.sample_log("hospital", cases=20, seed=1)
    untimed = discreet.read_log(log.to_polars().drop("time:timestamp"), order="file")
    chosen = Product().resolved()
    assert (chosen.of(log).name, chosen.of(untimed).name) == (WHOLE, DEFAULT_MECHANISM)
    assert Product(times=True).resolved().of(untimed).name == WHOLE


def test_a_request_without_a_file_says_so() -> None:
    with pytest.raises(RequestError, match="names no file"):
        _ = Request().file
