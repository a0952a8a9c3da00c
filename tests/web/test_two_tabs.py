"""Two tabs of one steward in a real browser: what the first shows is what may be released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from discreet.web.choosing import build, chosen
from discreet.web.house import House
from discreet.web.settings import Settings
from tests.web.live import live
from tests.web.test_browser import chromium, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

__all__ = ["chromium"]


@pytest.fixture
def house(settings: Settings) -> Iterator[House]:
    """A server whose jobs all wait."""
    made = House(replace(settings, workers=0))
    yield made
    made.stop()


def releases(house: House) -> list[float]:
    """The ε of each release that waits."""
    waiting = [job for job in house.jobs._in_state("queued") if job.kind == "release"]
    return [job.spec["choice"]["parameters"]["epsilon"] for job in waiting]


def test_what_the_other_tab_has_chosen_is_not_released(chromium: Chromium, house: House) -> None:
    log = house.logs.choose("test", "permits.csv")
    parameters = {"epsilon": 0.1, "delta": 1e-6}
    choice = chosen({"mechanism": "travas", "parameters": parameters})
    house.logs.set_choice(log, choice)
    house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    with live(house) as address:
        context = chromium.new_context(locale="en-GB")
        first = opened(context, address)
        first.page.goto(f"{address}/enter?key={house.people.fresh_link()}")
        first.page.goto(f"{address}/logs/{log.id}/confirm?source=town")
        _, after = house.budgets.after("town", build(choice))
        assert f"Used afterwards: {after.used:.1f}%" in first.page.locator("main").inner_text()
        second = opened(context, address)
        second.page.goto(f"{address}/logs/{log.id}/choose?mechanism=travas")
        second.page.check("input[name=level][value='3.0']")
        second.page.click("main button:has-text('Go on')")
        second.page.wait_for_selector("text=Try once")
        first.page.fill("#purpose", "what the page showed")
        first.page.click("text=Spend and release")
        first.page.wait_for_selector("text=somebody has changed what would be released")
        assert "Used afterwards: 100.0%" in first.page.locator("main").inner_text()
        assert first.page.input_value("#purpose") == "what the page showed"
        first.accessible()
        assert releases(house) == []
        assert first.page.locator("text=Set a budget for another source").count() == 1
        first.page.click("text=Spend and release")
        first.page.wait_for_selector("text=Waiting for its turn")
        assert releases(house) == [3.0]
        first.page.goto(f"{address}/people")
        first.page.fill("#name", "Bo")
        first.page.fill("#password", "correct horse battery")
        first.page.click("main >> text=Let in")
        first.page.click("summary:has-text('Change Bo')")
        first.accessible()
        assert [*first.faults, *second.faults] == []
        context.close()
