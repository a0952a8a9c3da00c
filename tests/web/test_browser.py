"""Both ways in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.ledger.ledger import Ledger
from discreet.web.house import House
from tests.web.conftest import PASSWORD, held
from tests.web.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, FilePayload, Page

HOSTILE = "<img src=x onerror=alert(1)>"
PATIENCE = 600_000
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""What the browser is called, the quickest to start first."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None or find_spec("playwright") is None:
        pytest.skip("Chromium or Playwright is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page of which everything suspicious is noted."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog {dialog.message}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error {error}"))
        self.page.on("request", self._requested)
        self.page.on("console", self._said)

    def follow(self, selector: str) -> None:
        """Click what leads to another page, and wait until all of that is there."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def shows(self, selector: str) -> None:
        """Wait for a page that says this, however often it is loaded anew until then."""
        self.page.wait_for_selector(selector)
        self.page.wait_for_load_state()

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:")):
            self.faults.append(f"request to {request.url}")

    def _said(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.faults.append(message.text)

    def accessible(self) -> None:
        """axe-core finds nothing serious; it is run in a world of its own, past the policy."""
        found = find_spec("axe_core_python")
        assert found is not None
        assert found.origin is not None
        script = Path(found.origin).with_name("axe.min.js").read_text("utf-8")
        session = self.page.context.new_cdp_session(self.page)
        tree = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": tree})["executionContextId"]

        def run(code: str) -> Any:
            told = {"expression": code, "contextId": world, "awaitPromise": True}
            answer = session.send("Runtime.evaluate", {**told, "returnByValue": True})
            assert "exceptionDetails" not in answer, answer
            return answer["result"].get("value")

        run(script + ";0")
        broken = json.loads(run("axe.run().then(r => JSON.stringify(r.violations))"))
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in broken
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, (self.page.url, serious)


def opened(context: BrowserContext, address: str) -> Watched:
    return Watched(context.new_page(), address)


def hostile_log(folder: Path) -> Path:
    """A small log with a hostile label, under a hostile name."""
    lines = ["case,activity,timestamp"]
    for case in range(120):
        for hour, label in enumerate(("enter", HOSTILE, "leave")):
            lines.append(f"{case},{label},2024-01-{case % 28 + 1:02d}T{hour:02d}:00:00Z")
    path = folder / "evil.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_steward_in_a_browser(chromium: Chromium, house: House, tmp_path: Path) -> None:
    """Upload, reload, back, choose, try, refuse over the cap, release, take away; in English."""
    log = hostile_log(tmp_path)
    with live(house) as address:
        context = chromium.new_context(locale="en-GB")
        watched = opened(context, address)
        page = watched.page
        page.goto(f"{address}/enter?key={house.people.fresh_link()}")
        watched.accessible()
        sent: FilePayload = {
            "name": f"../../{HOSTILE}.csv",
            "mimeType": "text/csv",
            "buffer": log.read_bytes(),
        }
        page.set_input_files("#log", files=[sent])
        with held(tmp_path):
            watched.follow("text=Bring it")
            page.reload()
        watched.shows("text=It can be read: 120 cases")
        assert page.locator("h1").inner_text() == f"{HOSTILE}.csv"
        assert page.locator("td", has_text=HOSTILE).count() > 0
        watched.accessible()
        watched.follow("main >> text=Go on")
        watched.shows("text=Whom would somebody find?")
        page.locator("#depth").fill("5")
        page.wait_for_selector("img[alt='Process map, step 5 of 5']")
        watched.accessible()
        page.go_back()
        page.go_forward()
        watched.follow("main >> text=Go on")
        watched.accessible()
        watched.follow("main button:has-text('Go on')")
        watched.follow("text=Try once")
        watched.shows("text=Most frequent variants")
        watched.accessible()
        watched.follow("text=Go on to the release")
        for source, cap in (("small", "0.5"), ("visits", "3")):
            details = page.locator("details", has_text="Set a budget for another source")
            if details.get_attribute("open") is None:
                details.locator("summary").click()
            page.fill("#new", source)
            page.fill("#cap", cap)
            watched.follow("text=Set it")
            if source == "small":
                assert "does not fit" in page.locator(".bad").inner_text()
        watched.accessible()
        assert "Used afterwards: 33.3%" in page.locator("main").inner_text()
        page.fill("#purpose", HOSTILE)
        watched.follow("text=Spend and release")
        watched.shows("text=Take everything away")
        watched.accessible()
        with page.expect_download() as download:
            page.click("text=Take everything away")
        assert download.value.suggested_filename == "visits.zip"
        watched.follow("text=The officer's page")
        watched.shows("text=Privacy certificate")
        page.go_back()
        page.goto(f"{address}/budgets?source=visits")
        assert page.locator("td", has_text=HOSTILE).count() == 1
        for where in ("/budgets?source=visits", "/trust", "/people", "/trail", "/account"):
            page.goto(f"{address}{where}")
            watched.accessible()
        watched.follow("text=Deutsch")
        assert page.locator("nav >> text=Veröffentlichungen").count() == 1
        assert watched.faults == []
        assert _runs_nothing(page)
        assert all("Content Security Policy" in fault for fault in watched.faults)
        context.close()
    with Ledger(house.settings.ledger) as ledger:
        assert ledger.account("visits").releases == 1
        assert ledger.account("small").releases == 0


def _runs_nothing(page: Page) -> bool:
    """The policy is enforced: a script that is slipped into the page does not run."""
    return (
        page.evaluate(
            "async () => { const s = document.createElement('script');"
            "s.textContent = 'window.hacked = 1'; document.body.append(s);"
            "const i = document.createElement('div');"
            "i.innerHTML = '<img src=x onerror=\"window.hacked = 1\">';"
            "const failed = new Promise(told => i.firstChild.addEventListener('error', told));"
            "document.body.append(i); await failed; return window.hacked === undefined; }"
        )
        is True
    )


def test_an_analyst_and_a_steward_at_once(chromium: Chromium, house: House, tmp_path: Path) -> None:
    """A wrong password, a request that waits, an approval, a download; a job that is cancelled."""
    object.__setattr__(house.settings, "team", True)
    for name, role in (("Stu", "steward"), ("Ana", "analyst")):
        house.people.add("test", name, role, PASSWORD)
    with live(house) as address:
        pages = []
        for name in ("Stu", "Ana"):
            watched = opened(chromium.new_context(locale="en-GB"), address)
            page = watched.page
            page.goto(address)
            if name == "Ana":
                watched.accessible()
                page.fill("#name", name)
                page.fill("#password", "a wrong password")
                watched.follow("main button")
                assert "Wrong name or password" in page.locator(".bad").inner_text()
            page.fill("#name", name)
            page.fill("#password", PASSWORD)
            watched.follow("main button")
            pages.append(watched)
        stu, ana = pages
        steward, analyst = stu.page, ana.page
        steward.select_option("select[name=name]", "permits.csv")
        with held(tmp_path):
            stu.follow("text=Take it")
            stu.follow("text=Cancel")
            stu.shows("text=This was cancelled.")
        log = steward.url.split("/")[4]
        steward.goto(f"{address}/logs/{log}/choose?mechanism=travas")
        stu.follow("main button:has-text('Go on')")
        stu.follow("text=Go on to the release")
        steward.fill("#new", "town")
        stu.follow("text=Set it")
        steward.click("summary:has-text('Let analysts ask')")
        steward.fill("#about", "permits of a town")
        stu.follow("text=Offer it")
        analyst.goto(f"{address}/sources")
        assert "permits of a town" in analyst.locator("main").inner_text()
        ana.accessible()
        analyst.fill("input[name=purpose]", "to learn")
        ana.follow("text=Ask for it")
        assert "waits for a steward" in analyst.locator("main").inner_text()
        steward.goto(f"{address}/requests")
        stu.accessible()
        stu.follow("text=Approve: spend and release")
        end = time.monotonic() + PATIENCE / 1000
        while not analyst.locator("text=To the release").count() and time.monotonic() < end:
            analyst.wait_for_timeout(200)
            analyst.reload()
        ana.follow("text=To the release")
        with analyst.expect_download() as download:
            analyst.click("text=Take everything away")
        analyst.goto(f"{address}/verify")
        assert download.value.suggested_filename == "town.zip"
        assert [watched.faults for watched in pages] == [[], []]


def test_the_main_way_without_script(chromium: Chromium, house: House) -> None:
    house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    with live(house) as address:
        context = chromium.new_context(locale="en-GB", java_script_enabled=False)
        watched = opened(context, address)
        page = watched.page
        page.goto(f"{address}/enter?key={house.people.fresh_link()}")
        page.select_option("select[name=name]", "permits.csv")
        watched.follow("text=Take it")
        watched.shows("text=It can be read")
        log = page.url.split("/")[4]
        page.goto(f"{address}/logs/{log}/choose?mechanism=travas")
        watched.follow("main button:has-text('Go on')")
        watched.follow("text=Go on to the release")
        watched.follow("nav >> text=town")
        page.fill("#purpose", "without script")
        watched.follow("text=Spend and release")
        watched.shows("text=Take everything away")
        context.close()
