"""Write the golden releases anew."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from tests.golden import EXPECTED, LOG, RELEASES, arithmetic, found, in_engine, reading


def main() -> None:
    """Write the log, if there is none, and what releases of it look like."""
    if not LOG.exists():
        write_log(sample_log("permits", cases=300, seed=1), LOG)
    with tempfile.TemporaryDirectory() as folder:
        releases = {}
        for name in RELEASES:
            releases[name] = found(name, read_log(LOG, **reading(name)), Path(folder))
            if in_engine(name):
                counted = read_log(LOG, engine="duckdb", **reading(name))
                releases[name]["counted"] = found(name, counted, Path(folder))["digest"]
    held = {"arithmetic": arithmetic(), "releases": releases}
    text = json.dumps(held, ensure_ascii=False, indent=1, sort_keys=True)
    EXPECTED.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
