"""Whatever breaks, nothing leaves that was not paid for, and the message says what to do."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import event, make_url, text

from discreet.ledger import entries
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism
from discreet.privacy.guarantee import Budget
from tests.conftest import ROOT
from tests.ledger.racer import promise


def book(ledger: Ledger, epsilon: float = 0.1) -> int:
    return ledger.book("s", promise(epsilon), mechanism="m", parameters={}).number


@pytest.fixture
def file(sqlite_url: str) -> Path:
    """A SQLite ledger with a budget and one release."""
    with Ledger(sqlite_url, create=True) as ledger:
        ledger.set_budget("s", Budget(10), filter="basic")
        book(ledger)
    return Path(sqlite_url)


def test_a_full_database_grants_nothing(file: Path) -> None:
    with Ledger(file) as ledger:

        @event.listens_for(ledger.storage.engine, "connect")
        def limited(connection: object, _: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]

        ledger.storage.engine.dispose()
        granted: list[int] = []
        with pytest.raises(LedgerError, match=r"nothing was released.*full.*make room"):
            granted.extend(book(ledger) for _ in range(100))
    with Ledger(file) as ledger:
        booked = [row["number"] for row in ledger.history("s") if row["kind"] == "release"]
        assert booked[1:] == granted
        assert ledger.verify()[1] == []


FULL_DISK = """
import resource, sys
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from tests.ledger.racer import promise
ledger = Ledger(sys.argv[1])
ledger.account("s")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for granted in range(1000):
    try:
        ledger.book("s", promise(0.001), mechanism="m", parameters={})
    except LedgerError as error:
        print(granted, error)
        break
"""


def test_a_write_that_the_system_refuses_grants_nothing(file: Path) -> None:
    room = 150_000
    ended = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file), str(room)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    granted, _, said = ended.stdout.partition(" ")
    assert "nothing was released" in said
    assert "make room on its disk" in said
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != room
    with Ledger(file) as ledger:
        assert ledger.account("s").releases == 1 + int(granted)
        assert ledger.verify()[1] == []
        book(ledger)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder, and for root the place of somebody who may not write everywhere."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        os.seteuid(os.getuid())
        folder.chmod(0o755)


def test_a_read_only_ledger_grants_nothing(unprivileged: Path) -> None:
    file = unprivileged / "ledger.db"
    with Ledger(file, create=True) as ledger:
        ledger.set_budget("s", Budget(10), filter="basic")
    file.chmod(0o444)
    unprivileged.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    with (
        pytest.raises(LedgerError, match=r"nothing was released.*(read|write)"),
        closing(Ledger(file)) as ledger,
    ):
        book(ledger)
    with pytest.raises(LedgerError, match=r"nothing was released.*(read|write)"):
        Ledger(unprivileged / "other.db", create=True)


def test_damaged_databases_grant_nothing(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for content in (b"this is not a database, nor was it ever one" * 100, whole[:5000]):
        file.write_bytes(content)
        with (
            pytest.raises(LedgerError, match=r"damaged: restore it from a backup"),
            closing(Ledger(file)) as ledger,
        ):
            book(ledger)
    with Ledger(tmp_path / "page.db", create=True) as ledger:
        ledger.set_budget("s", Budget(10), filter="basic")
        for _ in range(20):
            book(ledger)
    damaged = bytearray((tmp_path / "page.db").read_bytes())
    for page in range(1, len(damaged) // 4096):
        damaged[page * 4096 : page * 4096 + 64] = bytes(range(192, 256))
    (tmp_path / "page.db").write_bytes(damaged)
    with pytest.raises(LedgerError), closing(Ledger(tmp_path / "page.db")) as ledger:
        book(ledger)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger(tmp_path / "absent.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger(tmp_path / "empty.db")
    with pytest.raises(LedgerError, match=r"mysql://…, which is not a ledger"):
        Ledger("mysql://somewhere/else")


def test_a_lost_head_grants_nothing(file: Path) -> None:
    with Ledger(file) as ledger:
        with ledger.storage.engine.connect() as connection:
            connection.execute(text("DELETE FROM discreet_head"))
        for ask in (lambda: book(ledger), ledger.verify):
            with pytest.raises(LedgerError, match="restore it from a backup"):
                ask()


def test_a_clock_that_went_backwards(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)

    def at(shift: timedelta) -> None:
        monkeypatch.setattr(entries, "_now", lambda: now + shift)

    with Ledger(file) as ledger:
        at(timedelta(days=365))
        book(ledger)
        at(timedelta(hours=1))
        with pytest.raises(LedgerError, match=r"Set the clock.*discreet budget clock"):
            book(ledger)
        assert ledger.account("s").releases == 2
        ledger.accept_clock(purpose="it was a year ahead")
        book(ledger)
        at(timedelta(minutes=59, seconds=30))
        book(ledger)
        times = [row["time"] for row in ledger.history("s")]
        assert times[-1] == times[-2], "small differences between clocks do not run backwards"
        assert ledger.verify()[1] == []


def test_waiting_for_a_turn_has_an_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.storage.LOCK_SECONDS", 0.1)
    with (
        Ledger(file) as one,
        Ledger(file) as other,
        one.storage.writing(),
        pytest.raises(LedgerError, match=r"locked.*wait and try again"),
    ):
        book(other)


class Proxy:
    """Stands between a client and PostgreSQL and cuts the line at the commit."""

    def __init__(self, url: str, *, deliver: bool) -> None:
        self.target = (make_url(url).host, make_url(url).port)
        self.deliver = deliver
        self.armed = self.muted = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        port = self.listener.getsockname()[1]
        self.url = make_url(url).set(port=port).render_as_string(hide_password=False)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.target) as server:
            answers = threading.Thread(target=self._pass, args=(server, client, False), daemon=True)
            answers.start()
            self._pass(client, server, True)
            answers.join()

    def _pass(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                commit = self.armed and from_client and b"COMMIT" in data
                cut = commit and not self.deliver
                if commit and self.deliver:
                    self.muted = True
                if self.muted and not from_client:
                    cut = True
                if cut:
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()


@pytest.mark.parametrize("deliver", [False, True], ids=["before the server", "after the server"])
def test_a_line_cut_at_the_commit(postgres_url: str, deliver: bool) -> None:
    with Ledger(postgres_url, create=True) as direct:
        direct.set_budget("s", Budget(10), filter="basic")
        with closing(Proxy(postgres_url, deliver=deliver)) as proxy, Ledger(proxy.url) as ledger:
            book(ledger)
            proxy.armed = True
            with pytest.raises(LedgerError, match=r"nothing was released.*budget history.*a spend"):
                book(ledger)
        assert direct.account("s").releases == (2 if deliver else 1)
        assert direct.verify()[1] == []
        book(direct)


def write_while_killed(ledger: Ledger, other: Ledger) -> None:
    with ledger.storage.writing() as (connection, _):
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with other.storage.engine.connect() as killer:
            killer.execute(text(f"SELECT pg_terminate_backend({backend})"))
        connection.execute(text("UPDATE discreet_head SET number = 7"))


def test_a_backend_that_is_killed_in_the_middle(postgres_url: str) -> None:
    with Ledger(postgres_url, create=True) as ledger, Ledger(postgres_url) as other:
        ledger.set_budget("s", Budget(10), filter="basic")
        with pytest.raises(LedgerError, match="nothing was released"):
            write_while_killed(ledger, other)
        book(ledger)
        assert ledger.account("s").releases == 1
        assert ledger.verify()[1] == []


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(LedgerError, match="the database server is running") as caught:
            Ledger(f"postgresql+psycopg://ada:secret@127.0.0.1:{port}/ledger")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [b"text", b"\xff"])
def test_a_column_that_is_not_plain_costs_nothing(file: Path, value: bytes) -> None:
    """Whether its values happen to be readable or not: that decided about a booked release."""
    table = sample_log("permits", cases=20, seed=2).table
    log = read_log(table.with_columns(pl.lit(value).alias("odd")))
    chosen = mechanism("whole", epsilon=1000, variants="travas", attributes="odd")
    with Ledger(file) as ledger:
        ledger.set_budget("fresh", Budget(10_000, 1e-3))
        before = ledger.account("fresh")
        with pytest.raises(LogError, match="'odd' holds Binary"):
            ledger.release(chosen, log, source="fresh")
        assert ledger.account("fresh") == before


def test_a_file_that_was_replaced_costs_nothing(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="needs the extra duckdb")
    path = tmp_path / "log.parquet"
    sample_log("permits", cases=20, seed=2).table.write_parquet(path)
    log = read_log(path, engine="duckdb")
    chosen = mechanism("whole", epsilon=1000, variants="travas")
    sample_log("permits", cases=20, seed=3).table.write_parquet(path)
    with Ledger(file) as ledger:
        ledger.set_budget("fresh", Budget(10_000, 1e-3))
        before = ledger.account("fresh")
        with pytest.raises(LogError, match="was changed after reading began"):
            ledger.release(chosen, log, source="fresh")
        assert ledger.account("fresh") == before
