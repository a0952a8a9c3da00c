from __future__ import annotations

from pathlib import Path

import pytest

from discreet.log.samples import sample_log
from discreet.log.writing import write_log

PLAN = """
title = "A small grid"
logs = ["small.csv"]
epsilon = [2, 1]
delta = [0.01, 0.001]
repetitions = {repetitions}
measures = ["similarity", "size"]

[[mechanism]]
name = "travas"
parameters = {{ fidelity = "published" }}

[[mechanism]]
name = "not-there"
"""


@pytest.fixture
def small_plan(tmp_path: Path) -> Path:
    """A folder with a log and a plan of 8 runs on it, besides the controls."""
    write_log(sample_log("hospital", cases=120, seed=5), tmp_path / "small.csv")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(repetitions=2))
    return path
