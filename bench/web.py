"""Load on the web app: users who release a real log at once, how long pages take, what adds up.

    python bench/web.py --users 20 --seconds 300
    python bench/web.py --users 1 --seconds 1 --log RoadTrafficFines.xes.gz --upload

starts a server of its own and ends it. Everybody signs in, takes the log (or uploads it and looks
what is in it), and releases it again and again, looking at pages in between. Stated at the end:
releases, errors, times of pages, memory of the server and of its largest job, and whether the
ledger adds up to the last digit.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from decimal import Decimal
from pathlib import Path

import httpx2
import numpy as np

from discreet.ledger.ledger import Ledger
from discreet.ledger.location import locate
from discreet.privacy.guarantee import Budget
from discreet.web.house import House
from discreet.web.settings import Settings

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
PASSWORD = "a password for a bench"
EPSILON, DELTA = "0.01", "1e-9"
TOKEN = re.compile(r'name="csrf" value="([^"]*)"')
HIDDEN = re.compile(r'name="(once|seal)" value="([^"]*)"')


class User:
    """Somebody who releases and looks at pages until time is up."""

    def __init__(self, address: str, name: str, log: str, end: float, upload: bool) -> None:
        self.client = httpx2.Client(base_url=address, timeout=600, follow_redirects=True)
        self.name, self.log, self.end, self.upload = name, log, end, upload
        self.times: list[float] = []
        self.problems: list[str] = []
        self.released = 0
        self.csrf = ""

    def run(self) -> None:
        """Go the steward's way as often as time allows."""
        try:
            form = {"name": self.name, "password": PASSWORD}
            self.csrf = TOKEN.search(self.client.post("/sign-in", data=form).text)[1]  # type: ignore[index]
            identity = str(self.bring().url).split("/")[4]
            choice = {"what": "variants", "mechanism": "headtail", "level": "own"}
            budget = {"p.epsilon": EPSILON, "p.delta": DELTA}
            self.post(f"/logs/{identity}/choose", **choice, **budget)
            self.release(identity)
            while time.monotonic() < self.end:
                self.release(identity)
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")

    def bring(self) -> httpx2.Response:
        """The page of the log's columns."""
        if not self.upload:
            return self.post("/logs/chosen", name=self.log)
        began = time.perf_counter()
        with (LOGS / self.log).open("rb") as file:
            files, form = {"log": (self.log, file)}, {"csrf": self.csrf}
            answer = self.client.post("/logs", data=form, files=files)
        print(f"uploaded in {time.perf_counter() - began:.1f} s")
        while "It can be read" not in (shown := self.get(str(answer.url)).text):
            assert 'class="bad"' not in shown, shown
            time.sleep(1)
        print(f"looked at after {time.perf_counter() - began:.1f} s")
        return answer

    def release(self, identity: str) -> None:
        """Spend, wait while looking around, and take the bundle away."""
        page = self.get(f"/logs/{identity}/confirm?source=sepsis").text
        hidden = dict(HIDDEN.findall(page))
        assert len(hidden) == 2, page
        form = {"source": "sepsis", **hidden, "purpose": f"bench of {self.name}"}
        where = str(self.post(f"/logs/{identity}/release", **form).url)
        while "Take everything away" not in (shown := self.get(where).text):
            assert 'class="bad"' not in shown, shown
            for path in ("/", "/budgets?source=sepsis", "/releases"):
                self.get(path)
            time.sleep(1)
        assert self.get(f"{where}/bundle").content[:2] == b"PK"
        self.released += 1

    def get(self, where: str) -> httpx2.Response:
        """A page, timed."""
        return self._timed("GET", where)

    def post(self, where: str, **form: str) -> httpx2.Response:
        """A form, timed."""
        return self._timed("POST", where, {"csrf": self.csrf, **form})

    def _timed(
        self, method: str, where: str, data: dict[str, str] | None = None
    ) -> httpx2.Response:
        began = time.perf_counter()
        answer = self.client.request(method, where, data=data)
        self.times.append(time.perf_counter() - began)
        assert answer.status_code == 200, (where, answer.status_code, answer.text[:300])
        return answer


class Memory(threading.Thread):
    """The largest resident memory of the server and of any of its jobs, in MiB."""

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.server, self.job = server, 0.0, 0.0

    def run(self) -> None:
        """Look every half second."""
        while True:
            self.server = max(self.server, _resident(self.pid))
            children = Path(f"/proc/{self.pid}/task").glob("*/children")
            for listed in children:
                for child in listed.read_text().split():
                    self.job = max(self.job, _resident(int(child)))
            time.sleep(0.5)


def _resident(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    """Start a server, let users at it, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--log", default="Sepsis.xes.gz")
    parser.add_argument("--upload", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), given.users, given.seconds, given.log, given.upload)


def _measure(folder: Path, users: int, seconds: float, log: str, upload: bool) -> None:
    where = locate(folder / "ledger.db")
    with Ledger(where, create=True) as ledger:
        ledger.set_budget("sepsis", Budget(1000, 1e-3), filter="basic")
    house = House(Settings(folder=folder / "web", ledger=where))
    for number in range(users):
        house.people.add("bench", f"user {number}", "steward", PASSWORD)
    house.stop()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--folder", str(folder / "web")]
    server = subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", "serve", str(LOGS), *options],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "DISCREET_LEDGER": str(folder / "ledger.db")},
    )
    try:
        address = f"http://localhost:{port}"
        for _ in range(300):
            try:
                httpx2.get(f"{address}/sign-in")
                break
            except httpx2.ConnectError:
                time.sleep(0.1)
        memory = Memory(server.pid)
        memory.start()
        end = time.monotonic() + seconds
        everybody = [User(address, f"user {number}", log, end, upload) for number in range(users)]
        threads = [threading.Thread(target=user.run) for user in everybody]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    times = np.array([one for user in everybody for one in user.times])
    problems = [one for user in everybody for one in user.problems]
    released = sum(user.released for user in everybody)
    with Ledger(where) as ledger:
        account = ledger.account("sepsis")
        booked = [row for row in ledger.history("sepsis") if row["kind"] == "release"]
        _, wrong = ledger.verify()
    total = sum((Decimal(row["cost"]["epsilon"]) for row in booked), Decimal(0))
    exact = account.spent.epsilon == total and all(row["certificate"] for row in booked)
    exact = exact and released == account.releases == len(booked)
    busy = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"users {users}, seconds {seconds:g}, log {log}; load of the machine {busy}")
    print(f"releases {released}, booked {account.releases}, errors {len(problems)}")
    for problem in problems[:5]:
        print(f"  {problem}")
    print(f"the ledger adds up: {exact}, its chain: {not wrong}")
    shown = np.quantile(times, [0.5, 0.95, 0.99, 1.0])
    print(f"pages {len(times)}: " + ", ".join(f"{one:.3f} s" for one in shown), end="")
    print(" (median, 95%, 99%, longest)")
    print(f"memory: server {memory.server:.0f} MiB, largest job {memory.job:.0f} MiB")
    raw = [path for name in ("uploads", "jobs") for path in (folder / "web").glob(f"{name}/*")]
    print(f"raw files left: {len(raw)}")
    if problems or wrong or not exact or raw:
        sys.exit(1)


if __name__ == "__main__":
    main()
