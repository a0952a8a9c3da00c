"""Shared by all tests: where the real logs are, and what is known about them."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.lookalikes import generate

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.privacy.randomness import Randomness

ROOT = Path(__file__).parent.parent

_NUMBERS = count()

# Numeric libraries start a thread for every core, and those of torch wait by spinning: with one
# worker of pytest per core that is most of the work. To be set before any of them is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

# The same examples every time, however slow the machine: a failure is never chance.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever changes a bound see what other noise does to it."""
    parser.addoption(
        "--fresh-noise",
        action="store_true",
        help="draw the tests' noise from the operating system, other noise in every run",
    )


def pytest_collection_finish() -> None:
    """What was imported and collected lives to the end, so it is not searched for cycles again."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # or what is left then would be called leaked
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give each test noise of its own, the same in every run, and nobody's settings.

    A failure is never chance, nor one of the order of tests: a command may set the language. Such
    noise counts as secure, since a test is about the release that anybody would get. What
    another process draws, and what was asked for while tests were collected, is the system's.
    """
    from discreet.privacy.randomness import Randomness

    known = Randomness.seeded(zlib.crc32(item.nodeid.encode()))

    def system(owner: type[Randomness]) -> Randomness:
        return owner(known.words, secure=True)

    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("DISCREET_")]:
            patch.delenv(name)
        if not item.config.getoption("--fresh-noise"):
            patch.setattr(Randomness, "system", classmethod(system))
        return (yield)


@dataclass(frozen=True)
class RealLog:
    """A public log and its counts, established by two other readers; or by who generated it."""

    file: str
    cases: int
    variants: int
    events: int
    activities: int
    with_lifecycle: tuple[int, int] | None = None  # variants and activities by name+lifecycle
    generated: bool = False

    def __str__(self) -> str:
        return self.file.partition(".")[0]


REAL_LOGS = (
    RealLog("Sepsis.xes.gz", 1050, 846, 15214, 16),
    RealLog("BPIC2013_incidents.xes.gz", 7554, 1511, 65533, 4, (2278, 13)),
    RealLog("BPIC2013_closed_problems.xes.gz", 1487, 183, 6660, 4, (327, 7)),
    RealLog("BPIC2013_open_problems.xes.gz", 819, 108, 2351, 3, (182, 5)),
    RealLog("BPIC2012_A.xes.gz", 13087, 17, 60849, 10),
    RealLog("CoSeLoG_receipt.xes.gz", 1434, 116, 8577, 27),
    RealLog("RoadTrafficFines.xes.gz", 150370, 231, 561470, 11),
    RealLog("BPIC2020_DomesticDeclarations.xes.gz", 10500, 99, 56437, 17),
    RealLog("BPIC2020_PrepaidTravelCost.xes.gz", 2099, 202, 18246, 29),
    RealLog("CCC19.xes.gz", 20, 20, 697, 29),
    RealLog("Unrineweginfectie.xes.gz", 1650, 50, 6973, 10),
)


@pytest.fixture(autouse=True)
def no_ledger_of_ones_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the tests away from the ledger of whoever runs them, each with a folder of its own."""
    own = tmp_path_factory.getbasetemp() / f"data-{next(_NUMBERS)}"  # made by who needs it
    monkeypatch.setenv("XDG_DATA_HOME", str(own))


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C works in every test, also where whoever started them ignores it (nohup, some CI)."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


FOLDER = Path(os.environ.get("DISCREET_LOGS", ROOT.parent / "shared" / "logs"))
"""Where public logs are looked for."""


@dataclass(frozen=True)
class RealLogs:
    """The public logs by name; in place of one that is not at hand, one generated in its shape."""

    spare: Path
    """The folder of those that are generated."""

    @cache  # noqa: B019
    def __getitem__(self, name: str) -> tuple[RealLog, Path]:
        log = next(log for log in REAL_LOGS if str(log) == name)
        if (path := FOLDER / log.file).is_file():
            return log, path
        path = self.spare / log.file
        counted = generate(name, path)
        return RealLog(log.file, **vars(counted), generated=True), path


@pytest.fixture(scope="session")
def real_logs(tmp_path_factory: pytest.TempPathFactory) -> RealLogs:
    """The public logs by name, each with its path."""
    return RealLogs(tmp_path_factory.mktemp("lookalikes"))


@pytest.fixture(params=map(str, REAL_LOGS))
def real_log(request: pytest.FixtureRequest, real_logs: RealLogs) -> tuple[RealLog, Path]:
    """Every real log in turn, with its path."""
    return real_logs[request.param]


@pytest.fixture(params=[str(log) for log in REAL_LOGS if log.events < 100_000])
def small_real_log(request: pytest.FixtureRequest, real_logs: RealLogs) -> tuple[RealLog, Path]:
    """Every real log but the biggest."""
    return real_logs[request.param]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to add real logs, where some are missing."""
    missing = [log.file for log in REAL_LOGS if not (FOLDER / log.file).is_file()]
    if missing:
        terminalreporter.write_line(
            f"{len(missing)} of {len(REAL_LOGS)} public logs, such as {missing[0]}, are not in "
            f"{FOLDER}: generated ones of their shape stood in. CONTRIBUTING.md says where to get "
            "them; name their folder in DISCREET_LOGS."
        )


@cache
def read_once(path: Path) -> EventLog:
    """A real log as it is read without options; nobody changes a log, so all tests share it."""
    from discreet.log.loading import read_log

    return read_log(path)
