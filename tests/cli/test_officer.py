"""The page for the data-protection officer."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from discreet.certificate import Certificate
from discreet.report.officer import officer_page
from tests.cli.conftest import Desk
from tests.cli.test_advise import external

PEOPLE = ("--individual", "case:person", "--cases-per-individual", "2")


def text_of(page: str) -> str:
    body = page.partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture
def released(desk: Desk) -> Desk:
    desk.run("budget", "set", "town", "--epsilon", "3", "--delta", "1e-2", "--unit", "individual")
    booked = ("--source", "town", "--purpose", "yearly report")
    options = ("-m", "travas", "--delta", "1e-4")
    desk.run("release", "log.csv", "-o", "shared.csv", *options, *PEOPLE, *booked)
    return desk


def test_the_page_explains_the_certificate_and_the_ledger(released: Desk) -> None:
    assert "shared.csv.html" in released.run("certificate", "shared.csv", "--html").stdout
    page = (released.folder / "shared.csv.html").read_text()
    assert external(page) == []
    shown = text_of(page)
    for words in (
        "Strong protection: ε = 1, δ = 0.0001 for any one person (column 'case:person', at most 2 "
        "cases each). This is proved.",
        "each person (column “case:person”)",
        "with and without any one person",
        "a factor of 2.718",
        "1 in 10,000",
        "selection and counts of variants 0.5",
        "Data source town",
        "2, ",
        "yearly report",
        "33% of the cap is used",
        "✓ the content is what was released",
        "Nothing of the data.",
    ):
        assert words in shown, words
    assert "exists already" in released.refused("certificate", "shared.csv", "--html")
    released.run("certificate", "shared.csv", "--html", "--force")


def test_the_certificate_alone_is_enough(released: Desk) -> None:
    beside = released.folder / "shared.csv.certificate.json"
    away = released.folder / "mail"
    away.mkdir()
    (away / beside.name).write_bytes(beside.read_bytes())
    released.monkeypatch.setenv("DISCREET_LEDGER", str(away / "none.db"))
    released.run("certificate", "mail/shared.csv.certificate.json", "--html", "-o", "mail/p.html")
    shown = text_of((away / "p.html").read_text())
    assert "? the content is what was released: shared.csv is not beside it" in shown
    assert "✓ the guarantee follows from the mechanism and its parameters" in shown
    assert "The ledger itself is not at hand here" in shown
    body = released.json("certificate", "mail/shared.csv.certificate.json")
    assert [check["outcome"] for check in body["checks"]] == ["unknown", "holds", "holds"]


def test_a_page_of_a_changed_certificate_says_so_first(released: Desk) -> None:
    path = released.folder / "shared.csv.certificate.json"
    values = json.loads(path.read_text())
    values["guarantee"]["holds"]["epsilon"] = 0.1
    path.write_text(json.dumps(values))
    (released.folder / "shared.csv").rename(released.folder / "elsewhere.csv")
    released.run("certificate", path.name, "--html", "-o", "p.html", code=1)
    shown = text_of((released.folder / "p.html").read_text())
    assert "A check failed: do not rely on this certificate" in shown
    assert "✗ the guarantee follows" in shown


def test_nothing_in_a_certificate_becomes_markup(released: Desk) -> None:
    path = released.folder / "shared.csv.certificate.json"
    evil = "<script>alert(1)</script>"
    certificate = Certificate.from_json(
        path.read_text().replace("travas", evil).replace("one step", evil)
    )
    page = officer_page(certificate, [], file=evil)
    assert "<script" not in page
    assert external(page) == []


def test_output_goes_with_html(released: Desk) -> None:
    assert "--html" in released.refused("certificate", "shared.csv", "-o", "p.html")
    assert "no file" in released.refused("certificate", "none.certificate.json", "--html")


def test_a_weak_promise_is_called_weak(desk: Desk) -> None:
    options = ("-m", "travas", "--epsilon", "5", "--delta", "1e-4")
    desk.run("release", "log.csv", "-o", "shared.csv", *options)
    desk.run("certificate", "shared.csv", "--html")
    page = (desk.folder / "shared.csv.html").read_text()
    shown = text_of(page)
    assert 'class="warning verdict"' in page
    assert "Weak protection: ε = 5, δ = 0.0001 for any one case (column" in shown
    assert "ε = 5 is weak protection: someone who was undecided may be 99.3% sure" in shown


def test_the_page_speaks_german(released: Desk) -> None:
    released.run("--language", "de", "certificate", "shared.csv", "--html", "-o", "seite.html")
    page = (released.folder / "seite.html").read_text()
    shown = text_of(page)
    assert '<html lang="de">' in page
    for words in (
        "Datenschutz-Zertifikat zu shared.csv",
        "Starker Schutz: ε = 1, δ = 0.0001 für jede einzelne Person (Spalte 'case:person', mit je "
        "höchstens 2 Fällen). Das ist bewiesen.",
        "jede Person (Spalte „case:person“) mit allen ihren Fällen",
        "33 % der Obergrenze sind verbraucht",
        "✓ der Inhalt ist, was veröffentlicht wurde",
    ):
        assert words in shown, words
    assert "What" not in shown
