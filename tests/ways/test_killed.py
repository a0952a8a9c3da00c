"""A release that is killed: nothing half-written, nothing unbooked, nothing left on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.log.engines.duckdb import PREFIX, Scratch
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.privacy.guarantee import Budget

pytest.importorskip("duckdb", reason="needs the extra duckdb")

SCRIPT = """
import signal, sys
from pathlib import Path

def stop(*anything, **named):
    print("now", flush=True)
    signal.pause()

where, log, output = sys.argv[1:]
from discreet.log.engines.duckdb import DuckDBEngine
from discreet.mechanisms.travas import TraVaS
if where == "counting":
    DuckDBEngine._count_variants = stop
elif where == "drawing":
    TraVaS._draw = stop
else:
    import polars
    def partly(frame, file, **named):
        file.write(b"PAR1 half of a file")
        file.flush()
        stop()
    polars.DataFrame.write_parquet = partly
from discreet.cli import main
sys.argv = ["discreet", "release", log, "-o", output, "--mechanism", "travas", "--engine", "duckdb",
            "--source", "clinic", "--memory", "200MB"]
main()
"""


@pytest.mark.parametrize(("where", "spent"), [("counting", 0), ("drawing", 1), ("writing", 1)])
def test_killed_in_the_middle(
    where: str, spent: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(signal, "SIGKILL"):
        pytest.skip("there is no SIGKILL here")
    log, output, temporary = tmp_path / "log.parquet", tmp_path / "out", tmp_path / "tmp"
    output.mkdir()
    temporary.mkdir()
    write_log(sample_log("permits", cases=60, seed=1), log)
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("clinic", Budget(5, 1e-3))
    given = [where, str(log), str(output / "shared.variants.parquet")]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        if said != "now\n":
            child.kill()
            pytest.fail(child.communicate()[1])
        assert [entry.name[: len(PREFIX)] for entry in temporary.iterdir()] == [PREFIX]
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert not (output / "shared.variants.parquet").exists()
    assert not list(output.glob("*.json"))
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.account("clinic").spent.epsilon == spent
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    mine = Scratch()  # as the next start does
    assert list(temporary.iterdir()) == [mine.path]
    mine.close()
    assert not list(temporary.iterdir())
