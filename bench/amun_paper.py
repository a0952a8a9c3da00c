"""The measures of Amun's paper on the logs there are, and its Fig. 3 as SVG.

python bench/amun_paper.py --runs 10 --all    the tables of docs/mechanisms/amun.md
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from discreet.log.events import EventLog
from discreet.log.instants import since_start
from discreet.log.loading import read_log
from discreet.mechanisms.whole.amun import Amun
from discreet.mechanisms.whole.oversampling import Published, publish
from discreet.privacy.randomness import Randomness
from discreet.utility.before_after import active_cases_plot, smape, variant_frequencies_plot
from discreet.utility.calendar import duration_distance, throughput_distance, times_smape

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
NAMES = (
    "Sepsis",
    "Unrineweginfectie",
    "RoadTrafficFines",
    "CCC19",
    "BPIC2013_incidents",
    "BPIC2013_closed_problems",
)


def time_error(log: EventLog, fresh: Published) -> float:
    """SMAPE of the times since the start of a case, each new event against its own old one."""
    new = fresh.times - np.repeat(fresh.times[fresh.offsets[:-1]], np.diff(fresh.offsets))
    return smape(since_start(log)[fresh.positions], new)


def published_table(logs: dict[str, EventLog], runs: int) -> None:
    """Means over some runs, precision 0.1."""
    print("published, precision 0.1, means of", runs, "runs")
    print(f"{'log':<26}{'advantage':>10}{'oversampling ratio':>20}{'SMAPE':>8}{'R1':>5}")
    for name, log in logs.items():
        for advantage in (0.2, 0.3, 0.4):
            ratios, errors, same = [], [], True
            for _ in range(runs):
                rng = Randomness.system()
                fresh = publish(log, advantage, 0.1, rng)
                ratios.append(len(fresh.origin) / log.cases)
                errors.append(time_error(log, fresh))
                variants = fresh.assemble(log, rng).variants
                same &= variants.to_dict().keys() == log.variants.to_dict().keys()
            print(
                f"{name:<26}{advantage:>10}{np.mean(ratios):>20.3f}{np.mean(errors):>8.3f}"
                f"{'yes' if same else 'no':>5}",
                flush=True,
            )


def measured(log: EventLog, new: EventLog) -> tuple[float, ...]:
    """Shares of cases and variants that are left; errors of gaps, durations and weeks."""
    return (
        new.cases / log.cases,
        len(new.variants) / len(log.variants),
        times_smape(log, new),
        duration_distance(log, new),
        throughput_distance(log, new),
    )


def strict_table(logs: dict[str, EventLog], runs: int) -> None:
    """Means over some runs, delta 1e-6."""
    print("\nstrict, delta 1e-6, means of", runs, "runs")
    print(
        f"{'log':<26}{'epsilon':>8}{'cases':>8}{'variants':>10}{'gaps':>7}{'durations':>11}"
        f"{'weeks':>7}"
    )
    for name, log in logs.items():
        for epsilon in (1.0, 2.0, 8.0):
            rows = []
            for _ in range(runs):
                new = Amun(epsilon=epsilon).release(log).artefact
                rows.append(measured(log, new) if new.cases else (0, 0, 1, 1, 1))
            means = np.mean(rows, axis=0)
            print(
                f"{name:<26}{epsilon:>8g}{means[0]:>8.2f}{means[1]:>10.3f}{means[2]:>7.2f}"
                f"{means[3]:>11.2f}{means[4]:>7.2f}",
                flush=True,
            )


def figures(logs: dict[str, EventLog], folder: Path) -> None:
    """Fig. 3: active cases and variant frequencies of Sepsis and of the traffic fines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("Sepsis", "RoadTrafficFines"):
        if name not in logs:
            continue
        log = logs[name]
        for fidelity, mechanism in (
            ("published", Amun(fidelity="published")),
            ("strict", Amun(epsilon=2.0)),
        ):
            new = mechanism.release(log).artefact
            stem = f"amun-{name.lower()}-{fidelity}"
            (folder / f"{stem}-active.svg").write_text(active_cases_plot(log, new))
            (folder / f"{stem}-variants.svg").write_text(variant_frequencies_plot(log, new))
            print(f"{folder}/{stem}-active.svg, {stem}-variants.svg")


def main() -> None:
    """Print the tables; with --figures FOLDER draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="all logs of the paper, not the first")
    parser.add_argument("--figures", type=Path)
    arguments = parser.parse_args()
    names = NAMES if arguments.all else NAMES[:1]
    logs = {name: read_log(path) for name in names if (path := LOGS / f"{name}.xes.gz").is_file()}
    if not logs:
        print(f"no logs in {LOGS}; name their folder in DISCREET_LOGS")
        return
    published_table(logs, arguments.runs)
    strict_table(logs, arguments.runs)
    if arguments.figures is not None:
        figures(logs, arguments.figures)


if __name__ == "__main__":
    main()
