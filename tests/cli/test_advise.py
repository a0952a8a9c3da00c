"""discreet advise and compare, as the holder of a log types them."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.cli.conftest import Desk

QUICK = ("--epsilon", "1", "--delta", "1e-3", "-m", "travas", "--seconds", "600")


class External(HTMLParser):
    """Everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {k}={v}" for k, v in attrs if k in ("src", "href", "data")]
        if tag in ("script", "link", "iframe", "object"):
            self.found.append(tag)


def external(page: str) -> list[str]:
    reader = External()
    reader.feed(page)
    return reader.found


def test_advice_as_tables_and_as_a_page(desk: Desk) -> None:
    people = ("--individual", "case:person", "--cases-per-individual", "2")
    ended = desk.run(
        "advise", "log.csv", *QUICK, *people, "--repetitions", "2", "-o", "advice.html"
    )
    assert "computed on the raw log" in ended.stderr
    assert "not covered" in ended.stderr
    named = ("73.1%", "whole", "(default)", "travas")
    for words in ("People:", "1 of each person", "one case only", *named):
        assert words in ended.stdout, words
    assert "±" in ended.stdout
    page = (desk.folder / "advice.html").read_text()
    assert external(page) == []
    assert page.count("<svg") >= 2
    assert "computed on the raw log" in page
    assert "exists already" in desk.refused("advise", "log.csv", *QUICK, "-o", "advice.html")
    assert ".html" in desk.refused("advise", "log.csv", *QUICK, "-o", "log.csv")


def test_advice_as_json_over_several_budgets(desk: Desk) -> None:
    body = desk.json("advise", "log.csv", *QUICK, "--epsilon", "2", "--repetitions", "1")
    assert [one["epsilon"] for one in body["budgets"]] == [1.0, 2.0]
    assert "73.1% sure" in body["budgets"][0]["meaning"]
    assert body["people"] is None
    tried = {(one["name"], one["epsilon"]) for one in body["trials"]}
    assert tried == {(name, e) for name in ("whole", "travas") for e in (1.0, 2.0)}
    assert 0 < body["references"]["similarity"] <= 1
    assert "not for publication" in body["warning"]


def test_private_advice_reads_a_release_that_was_paid_for(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-2")
    private = ("--private", "stand-in.csv", "--spend", "0.5", "--source", "town")
    body = desk.json("advise", "log.csv", *QUICK, *private, "--repetitions", "1")
    assert "a choice by them is covered" in body["warning"]
    assert body["rare_variants"] == []
    certificate = desk.json("certificate", "stand-in.csv")
    assert certificate["guarantee"]["holds"]["epsilon"] == 0.5
    assert certificate["ledger"] == "booked"
    private = ("--private", "second.csv", "--spend", "0.6", "--source", "town")
    assert "0.5" in desk.refused("advise", "log.csv", *QUICK, *private)
    assert not (desk.folder / "second.csv").exists()


def test_private_advice_for_people_divides_the_budget_as_a_release_would(desk: Desk) -> None:
    raw = (desk.folder / "log.csv").read_text().replace("case:concept:name", "Fall", 1)
    (desk.folder / "log.csv").write_text(raw)
    people = ("--case", "Fall", "--individual", "case:person", "--cases-per-individual", "2")
    open_to_all = desk.json("advise", "log.csv", *QUICK, *people, "--repetitions", "1")
    private = ("--private", "stand-in.csv", "--spend", "3", "--repetitions", "1", "-o", "p.html")
    desk.run("advise", "log.csv", *QUICK, *people, *private)
    page = (desk.folder / "p.html").read_text()
    assert "a choice by them is covered" in page
    assert "Rare variants" not in page
    assert f"<td>{open_to_all['budgets'][0]['count']:,} cases</td>" in page


def test_a_weak_stand_in_takes_somebody_who_insists(desk: Desk) -> None:
    weak = ("advise", "log.csv", *QUICK, "--private", "stand-in.csv", "--spend", "20")
    assert "--allow-weak" in desk.refused(*weak)
    assert not (desk.folder / "stand-in.csv").exists()
    desk.run(*weak, "--allow-weak", "--repetitions", "1")
    assert (desk.folder / "stand-in.csv").exists()


def test_an_unknown_mechanism_is_refused_before_anything_is_read(desk: Desk) -> None:
    assert "there is no mechanism 'nobody'" in desk.refused("advise", "none.csv", "-m", "nobody")


def test_compare_takes_several_budgets_and_always_the_default(desk: Desk) -> None:
    body = desk.json("compare", "log.csv", *QUICK, "--epsilon", "2")
    tried = {(one["name"], one["epsilon"]) for one in body["mechanisms"]}
    assert tried == {(name, e) for name in ("whole", "travas") for e in (1.0, 2.0)}
    shown = desk.run("compare", "log.csv", *QUICK, "-m", "laplace")
    assert "left out: laplace" in shown.stderr
    several = ("--epsilon", "2", "--private", "-o", "x.csv")
    assert "one --epsilon" in desk.refused("compare", "log.csv", *QUICK, *several)
