"""The API: the example of the docs, errors, and that nothing undocumented comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import status_code_conformance
from starlette.testclient import TestClient

from discreet.ledger.ledger import Ledger
from discreet.ledger.location import locate
from discreet.web.app import create_app
from discreet.web.house import House
from discreet.web.settings import Settings
from tests.conftest import ROOT
from tests.web.conftest import HOST, PASSWORD, Browser
from tests.web.live import live


def token(house: House, name: str = "Stu", role: str = "steward") -> str:
    house.people.add("test", name, role, PASSWORD)
    (person,) = [one for one in house.people.everybody() if one.name == name]
    return house.people.fresh_token(person, "test")


def test_the_example_of_the_docs(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.S)
    assert code is not None
    with live(house) as address:
        example = code[1].replace("http://localhost:8765", address)
        example = example.replace("discreet_...", token(house))
        exec(compile(example, "docs/web.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("400 cases\npermits.xes ")
    assert "permits.xes.certificate.json" in shown
    with Ledger(house.settings.ledger) as ledger:
        entries = [row for row in ledger.history("permits") if row["kind"] == "release"]
    assert [row["user"] for row in entries] == ["Stu"]


def test_errors_have_the_texts_of_the_command_line(steward: Browser, house: House) -> None:
    headers = {"authorization": f"Bearer {token(house)}"}
    client = TestClient(steward.client.app, HOST, headers=headers)
    answer = client.put("/api/v1/budgets", json={"source": "town", "epsilon": -1, "delta": 0.0})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "epsilon must be a finite number" in answer.json()["detail"]
    log = client.post("/api/v1/folder/permits.csv").json()["id"]
    for parameters, said in (
        ({"epsilon": 50}, "protects hardly anybody"),
        ({"nonsense": 1}, "no parameter 'nonsense'"),
        ({"epsilon": "much"}, "must be a number"),
    ):
        choice = {"mechanism": "travas", "parameters": parameters}
        answer = client.put(f"/api/v1/logs/{log}/choice", json=choice)
        assert said in answer.json()["detail"]
    whole = {"what": "log", "parameters": {"options": ["rules=/etc/passwd"]}}
    assert "no parameter" in client.put(f"/api/v1/logs/{log}/choice", json=whole).text
    named = {"mechanism": "laplace", "parameters": {"alphabet": "/etc/passwd"}}
    answer = client.put(f"/api/v1/logs/{log}/choice", json=named)
    assert answer.json()["choice"]["parameters"]["alphabet"] == ["/etc/passwd"], "a label, no file"
    assert client.put(f"/api/v1/logs/{log}/choice", json={"unknown": 1}).status_code == 422
    assert client.get("/api/v1/nothing").status_code == 404
    wrong = TestClient(steward.client.app, HOST, headers={"authorization": "Bearer x"})
    assert wrong.get("/api/v1/me").status_code == 401
    session = steward.client.get("/api/v1/me")
    assert session.status_code == 401, "a cookie opens no API: forms of other sites have it too"


def test_a_person_that_is_named_asks_whom_to_protect(house: House) -> None:
    app = create_app(house.settings, house)
    client = TestClient(app, HOST, headers={"authorization": f"Bearer {token(house)}"})
    log = client.post("/api/v1/folder/permits.csv").json()["id"]
    options = {"options": {"individual": "case:person", "transitions": "complete"}}
    assert client.put(f"/api/v1/logs/{log}/reading", json=options).status_code == 200
    undecided: dict[str, dict[str, Any]] = {
        "choose who is protected": {},
        "how many cases of each count": {"unit": "individual"},
        "leave that empty": {"unit": "case", "parameters": {"cases_per_individual": 2}},
    }
    for said, choice in undecided.items():
        answer = client.put(f"/api/v1/logs/{log}/choice", json={"mechanism": "travas", **choice})
        assert answer.status_code == 422
        assert said in answer.json()["detail"]
    decided: dict[str, dict[str, Any]] = {
        "case": {"unit": "case"},
        "individual": {"parameters": {"cases_per_individual": 2}},
    }
    for unit, choice in decided.items():
        answer = client.put(f"/api/v1/logs/{log}/choice", json={"mechanism": "travas", **choice})
        assert answer.json()["guarantee"]["unit"] == unit
    asked = {"log": log, "source": "s", "purpose": "p", "once": "12345678"}
    answer = client.post("/api/v1/releases", json={**asked, "choice": {"mechanism": "travas"}})
    assert "choose who is protected" in answer.json()["detail"]


FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A server whose jobs all wait, and a steward's token."""
    folder: Path = tmp_path_factory.mktemp("idle")
    house = House(
        Settings(
            folder=folder / "web",
            ledger=locate(folder / "ledger.db"),
            hosts=("localhost", "testserver"),
            workers=0,
        )
    )
    app = create_app(house.settings, house)
    with TestClient(app, HOST):
        yield app, token(house)


def test_no_answer_is_undocumented(idle: tuple[Any, str]) -> None:
    app, key = idle
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    asked = 0

    def holds(case: Any) -> None:
        nonlocal asked
        asked += 1
        case.call_and_validate(
            headers={"authorization": f"Bearer {key}"},
            checks=(not_a_server_error, status_code_conformance),
        )

    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        FEW(given(case=found.ok().as_strategy())(holds))()
    assert asked > 150


def test_a_source_has_one_name_in_every_spelling(steward: Browser, house: House) -> None:
    headers = {"authorization": f"Bearer {token(house)}"}
    client = TestClient(steward.client.app, HOST, headers=headers)
    for source, epsilon in (("town hall", 2), (" town  hall ", 1)):
        asked = {"source": source, "epsilon": epsilon, "delta": 1e-5}
        answer = client.put("/api/v1/budgets", json=asked)
        assert answer.json()["source"] == "town hall"
    listed = client.get("/api/v1/budgets").json()
    assert [one["cap"]["epsilon"] for one in listed if "town" in one["source"]] == [1]
