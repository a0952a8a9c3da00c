"""Plans: what a benchmark runs, from a short TOML file."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet.bench import baselines
from discreet.bench.baselines import BASELINES
from discreet.bench.controls import CONTROLS
from discreet.log.reading import Reading
from discreet.mechanisms.registry import mechanism, mechanism_class, mechanism_names
from discreet.parameters import ParameterError
from discreet.utility.evaluation import GROUPS, USUAL, Group

PACKAGED = files("discreet.bench") / "plans"


@dataclass(frozen=True)
class PlanEntry:
    """One mechanism of a plan: a label, fixed parameters, and axes of its own."""

    name: str
    label: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    by_log: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Parameters for one log; several, each with an epsilon or delta, for one budget each."""

    @property
    def installed(self) -> bool:
        """Whether the mechanism, or baseline, is there."""
        return self.name in BASELINES or self.name in mechanism_names()

    def narrowed(self, asked: dict[str, list[float]]) -> PlanEntry:
        """With axes of its own reduced to what is asked, as far as it has any of that."""
        grid = {
            axis: [v for v in values if v in asked.get(axis, values)] or asked[axis]
            for axis, values in self.grid.items()
        }
        return replace(self, grid=grid)


@dataclass(frozen=True)
class PlanLog:
    """A log of a plan: a file, and how it is read."""

    file: str
    classifier: str = "activity"
    reading: dict[str, Any] = field(default_factory=dict)
    """Further options of `read_log`: which column is which, how values are written."""

    @classmethod
    def of(cls, file: str, **options: Any) -> PlanLog:
        """A log read with these options."""
        known = Reading.parameters("file")
        for name in options:
            if name not in known:
                raise ParameterError(
                    f"{name!r} is not an option of reading {file}; known are "
                    f"{', '.join(sorted(known))}"
                )
        return cls(file, options.pop("classifier", "activity"), options)

    def read_as(self, options: dict[str, Any]) -> PlanLog:
        """The same log, read with these options where they say something."""
        return PlanLog.of(self.file, **{"classifier": self.classifier, **self.reading, **options})

    @property
    def options(self) -> dict[str, Any]:
        """All options of reading."""
        return {"classifier": self.classifier, **self.reading}

    @property
    def name(self) -> str:
        """Its name in tables."""
        stem = Path(self.file).name.partition(".")[0]
        return stem if self.classifier == "activity" else f"{stem} ({self.classifier})"


@dataclass(frozen=True)
class Cell:
    """One run: a log, a mechanism with all its parameters, one repetition."""

    log: PlanLog
    path: str
    digest: str
    label: str
    mechanism: str
    parameters: dict[str, Any]
    repetition: int
    measures: tuple[Group, ...]
    timeout: float

    @property
    def key(self) -> str:
        """A digest of everything that determines its result but chance."""
        read: object = self.log.options if self.log.reading else self.log.classifier
        content = [self.digest, read, self.label, self.mechanism, self.parameters]
        text = json.dumps([*content, self.repetition, self.measures], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper with the figure it speaks of and the range it gives."""

    text: str
    label: str
    measure: str
    logs: tuple[str, ...] = ()
    epsilon: float | None = None
    low: float | None = None
    high: float | None = None
    some: bool = False
    """Whether one setting in the range is enough ("may", "can"), instead of all."""


@dataclass(frozen=True)
class BenchPlan:
    """A grid, and what a paper says about it."""

    name: str
    title: str
    logs: tuple[PlanLog, ...]
    entries: tuple[PlanEntry, ...]
    epsilon: tuple[float, ...]
    delta: tuple[float, ...] = ()
    repetitions: int = 10
    measures: tuple[Group, ...] = USUAL
    timeout: float = 600.0
    about: str = ""
    published: str | None = None
    reasons: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()

    def reduced(
        self,
        *,
        logs: Sequence[str] = (),
        mechanisms: Sequence[str] = (),
        epsilon: Sequence[float] = (),
        delta: Sequence[float] = (),
        repetitions: int | None = None,
        reading: dict[str, Any] | None = None,
    ) -> BenchPlan:
        """A smaller plan: only these logs, labels, budgets; each if any are named.

        `reading` are options with which all logs are read.
        """
        kept = tuple(log for log in self.logs if not logs or {log.name, log.file} & set(logs))
        asked = {"epsilon": list(epsilon), "delta": list(delta)}
        entries = tuple(
            entry.narrowed({axis: values for axis, values in asked.items() if values})
            for entry in self.entries
            if not mechanisms or {entry.label, entry.name} & set(mechanisms)
        )
        if not kept or not entries:
            raise ParameterError(
                f"nothing of the plan {self.name} is left: it has the logs "
                f"{', '.join(log.name for log in self.logs)} and the mechanisms "
                f"{', '.join(entry.label for entry in self.entries)}"
            )
        return replace(
            self,
            logs=tuple(log.read_as(reading or {}) for log in kept),
            entries=entries,
            epsilon=tuple(epsilon) or self.epsilon,
            delta=tuple(delta) or self.delta,
            repetitions=repetitions or self.repetitions,
        )

    def missing_mechanisms(self) -> list[str]:
        """Labels of mechanisms that are not installed."""
        return [entry.label for entry in self.entries if not entry.installed]

    def settings(self, entry: PlanEntry, log: PlanLog) -> Iterator[dict[str, Any]]:
        """The parameters of every run of a mechanism on a log; raises on a wrong one."""
        baseline = entry.name in BASELINES
        declared = {"delta"} if baseline else mechanism_class(entry.name).parameters().keys()
        axes: dict[str, Sequence[Any]] = {}
        if "epsilon" not in entry.parameters:
            axes["epsilon"] = self.epsilon
        if "delta" in declared and "delta" not in entry.parameters:
            axes["delta"] = self.delta
        axes |= entry.grid
        for values in itertools.product(*axes.values()):
            chosen = entry.parameters | dict(zip(axes, values, strict=True))
            for special in entry.by_log.get(log.name, ()):
                if all(chosen[k] == special[k] for k in ("epsilon", "delta") if k in special):
                    chosen = chosen | special
            try:
                if baseline:
                    baselines.check(entry.name, chosen)
                else:
                    mechanism(entry.name, **chosen)
            except ParameterError as error:
                raise ParameterError(
                    f"plan {self.name}, mechanism {entry.label!r} on {log.name}: {error}"
                ) from error
            yield chosen

    def check(self) -> None:
        """Raise a ParameterError if any installed mechanism would refuse its parameters."""
        for entry in self.entries:
            if entry.installed:
                for log in self.logs:
                    for _ in self.settings(entry, log):
                        pass

    def cells(self, folder: Path | None) -> tuple[list[Cell], list[str]]:
        """Every run of what is installed, controls first, and the logs that were not found."""
        cells: list[Cell] = []
        absent = []
        for log in self.logs:
            path = Path(log.file) if Path(log.file).is_file() else (folder or Path()) / log.file
            if not path.is_file():
                absent.append(log.file)
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            runs: list[tuple[str, str, dict[str, Any]]] = [
                (name, f"control:{name}", {})
                for name, control in CONTROLS.items()
                if (not control.model_only or "model" in self.measures)
                and (not control.times_only or "times" in self.measures)
            ]
            runs += [
                (entry.label, entry.name, chosen)
                for entry in self.entries
                if entry.installed
                for chosen in self.settings(entry, log)
            ]
            cells += [
                Cell(
                    log=log,
                    path=os.fspath(path),
                    digest=digest,
                    label=label,
                    mechanism=name,
                    parameters=chosen,
                    repetition=repetition,
                    measures=self.measures,
                    timeout=self.timeout,
                )
                for label, name, chosen in runs
                for repetition in range(self._repetitions(name))
            ]
        return cells, absent

    def _repetitions(self, name: str) -> int:
        control = CONTROLS.get(name.removeprefix("control:")) if ":" in name else None
        return control.repetitions(self.repetitions) if control else self.repetitions


def plan_names() -> list[str]:
    """The plans that come with the library."""
    return sorted(
        f"{folder.name}/{plan.name.removesuffix('.toml')}"
        for folder in PACKAGED.iterdir()
        if folder.is_dir()
        for plan in folder.iterdir()
        if plan.name.endswith(".toml")
    )


def load_plan(name: str) -> BenchPlan:
    """A plan by its packaged name, as in papers/travas, or from a TOML file."""
    if name in plan_names():
        text = (PACKAGED / f"{name}.toml").read_text(encoding="utf-8")
    elif Path(name).is_file():
        text = Path(name).read_text(encoding="utf-8")
    else:
        raise ParameterError(
            f"there is no plan {name!r}: give a TOML file or one of {', '.join(plan_names())}"
        )
    try:
        return _parsed(name, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError, KeyError, AttributeError) as error:
        raise ParameterError(f"the plan {name} cannot be read: {error}") from error


def _parsed(name: str, values: dict[str, Any]) -> BenchPlan:
    _only(name, values, _KEYS)
    for needed in ("logs", "mechanism", "epsilon"):
        if not values.get(needed):
            raise ParameterError(f"the plan {name} names no {needed}")
    measures = tuple(values.get("measures", USUAL))
    if set(measures) - set(GROUPS):
        unknown = ", ".join(sorted(set(measures) - set(GROUPS)))
        raise ParameterError(
            f"the plan {name} asks for the unknown measures {unknown}; known: {', '.join(GROUPS)}"
        )
    given: dict[str, Any] = {"title": name}
    given |= {key: values[key] for key in _PLAIN & values.keys()}
    given |= {key: tuple(values[key]) for key in _LISTS & values.keys()}
    return BenchPlan(
        name=name,
        logs=tuple(PlanLog(x) if isinstance(x, str) else PlanLog.of(**x) for x in values["logs"]),
        entries=tuple(_entry(name, entry) for entry in values["mechanism"]),
        claims=tuple(
            Claim(**{**claim, "logs": tuple(claim.get("logs", ()))})
            for claim in values.get("claim", ())
        ),
        **given,
    )


_PLAIN = {"title", "about", "repetitions", "timeout", "published"}
_LISTS = {"epsilon", "delta", "measures", "reasons"}
_KEYS = {"logs", "mechanism", "claim", *_PLAIN, *_LISTS}


def _entry(plan: str, values: dict[str, Any]) -> PlanEntry:
    _only(f"{plan}, mechanism {values.get('name')}", values, _ENTRY_KEYS)
    name = values["name"]
    return PlanEntry(
        name=name,
        label=values.get("label", name),
        parameters=values.get("parameters", {}),
        grid=values.get("grid", {}),
        by_log={
            log: one if isinstance(one, list) else [one]
            for log, one in values.get("log", {}).items()
        },
    )


_ENTRY_KEYS = {"name", "label", "parameters", "grid", "log"}


def _only(where: str, values: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(values) - known)
    if unknown:
        raise ParameterError(
            f"the plan {where} has unknown keys {', '.join(unknown)}; known: "
            f"{', '.join(sorted(known))}"
        )
