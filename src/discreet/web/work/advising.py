"""The sweep of `advise`: what each budget would leave of the log. For its steward only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.advice.advising import advise as look
from discreet.advice.page import budget_table, curves, trial_table
from discreet.web.work.reading import read


def advise(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Try budgets for about as long as was asked for."""
    given = spec["choice"]["parameters"]
    bound = given.get("cases_per_individual")
    advice = look(
        read(spec),
        delta=given.get("delta", 1e-6),
        parameters={} if bound is None else {"cases_per_individual": bound},
        names=("travas",),
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
