"""The sweep of `advise`: what each budget would leave of the log, for its steward only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.advice.advising import advise as look
from discreet.advice.page import budget_table, curves, trial_table
from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE
from discreet.web.work.reading import read


def advise(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Try budgets for about the seconds asked for; return the pictures and tables."""
    choice = spec["choice"]
    given = dict(choice["parameters"])
    given.pop("epsilon", None)
    if choice["mechanism"] not in (WHOLE, DEFAULT_MECHANISM):
        given = {name: given[name] for name in given if name in ("delta", "cases_per_individual")}
    advice = look(
        read(spec),
        delta=given.pop("delta", 1e-6),
        parameters=given,
        names=("travas",),
        times=False if choice["what"] == "variants" else None,
        seconds=spec["seconds"],
        repetitions=3,
    )
    shown = []
    for number, (name, meaning, drawing) in enumerate(curves(advice)):
        file = f"advice-{number}.svg"
        (folder / file).write_text(drawing, encoding="utf-8")
        shown.append({"name": name, "reading": meaning, "files": [file]})
    return {
        "pictures": shown,
        "budgets": budget_table(advice),
        "trials": trial_table(advice),
        "short": advice.trials.short_of_time,
    }
