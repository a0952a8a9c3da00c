"""How a log is read, declared once, and the table under XES names that comes of it.

Every value is read by itself, by the options and by what is public of the file. The options can be
kept in a file, so that the next export is read like the last.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import polars as pl

from discreet.log.cautions import looks_like_a_person
from discreet.log.columns import WORDS, RawTable, choose, existing
from discreet.log.datatypes import TYPES, Type, check_plain, declared, text_of, typed
from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, Classifier, EventLog, LeftOut
from discreet.log.files import atomic_write, readable
from discreet.log.timestamps import (
    Clocks,
    Instants,
    check_timezone,
    first_bare,
    read_times,
    readings,
    shown,
    why_unread,
)
from discreet.parameters import Parameter, ParameterError, parameter
from discreet.parameters import declared as parameters_of

Order = Literal["time", "file"]
Duplicates = Literal["error", "merge"]
EngineName = Literal["auto", "memory", "duckdb", "spark"]
XesReader = Literal["auto", "strict"]

ALL = ("command", "form", "file")
"""The faces that offer an option about how a log is written: the command line, the web app and
mapping files. Python takes every option."""


class MappedTable(NamedTuple):
    """A table under XES names, its individual column, and what the file called the columns."""

    table: pl.DataFrame
    individual: str | None
    names: dict[str, str]
    left_out: LeftOut
    tie_break: tuple[str, ...] = ()
    clocks: Clocks = Clocks()
    further: Mapping[str, str] = {}
    """The names here of columns without a role, by their names in the file."""
    transitions: tuple[str, ...] = ()


def listed(text: str) -> tuple[str, ...]:
    """Names of columns as a command line writes them: `age, sex`."""
    return distinct(text.split(","))


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once and without spaces around it."""
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a log is read: which column is what, how its values are written, what counts them.

    All of it is public, and so are the names and types of a header or schema. Nothing else may
    decide how a value is read: then a case is read the same whatever the other cases are.

    Every face takes its options from here: keywords of `read_log`, the command line, the web form
    and API, mapping files and the reference.
    """

    case: str | None = parameter(None, "column of the case id (CSV, Parquet)", faces=ALL)
    activity: str | None = parameter(None, "column of the activity", faces=ALL)
    timestamp: str | None = parameter(None, "column of the timestamp", faces=ALL)
    lifecycle: str | None = parameter(None, "column of the lifecycle transition", faces=ALL)
    individual: str | None = parameter(
        None, "column that names the person a case belongs to", faces=ALL
    )
    classifier: Classifier = parameter(
        "activity", "what counts as an activity: activity, or activity+lifecycle", faces=ALL
    )
    case_attributes: Sequence[str] | str = parameter(
        (),
        "columns that describe a whole case, as in age,sex",
        read=listed,
        canonical=distinct,
        faces=ALL,
    )
    transitions: Sequence[str] | str = parameter(
        (),
        "lifecycle transitions whose events are kept, as in complete",
        read=listed,
        canonical=distinct,
        faces=ALL,
    )
    timezone: str | None = parameter(
        None, "zone of times that carry no offset, as in Europe/Amsterdam; default UTC", faces=ALL
    )
    timestamp_format: str | None = parameter(
        None,
        "day-first, month-first, a format such as '%d/%m/%Y %H:%M', or seconds, milliseconds or "
        "microseconds since 1970",
        faces=ALL,
    )
    types: Mapping[str, Type] | str | None = parameter(
        None,
        "types of further columns, otherwise text, as in amount:number, case:age:integer "
        "(text, integer, number, boolean, date)",
        read=declared,
        faces=ALL,
    )
    decimal: Literal[".", ","] = parameter(".", "the decimal mark of numbers: . or ,", faces=ALL)
    delimiter: str | None = parameter(
        None,
        "what separates the fields of a CSV file; by default what separates its header",
        faces=ALL,
    )
    encoding: str | None = parameter(
        None,
        "encoding of a CSV file, as in windows-1252; by default UTF-8, or UTF-16 if marked",
        faces=ALL,
    )
    sheet: str | None = parameter(None, "sheet of an Excel file that has several", faces=ALL)
    order: Order = parameter(
        "time", "time, or file to keep the order of the file and leave times out", faces=ALL
    )
    duplicates: Duplicates = parameter(
        "error",
        "XES traces of one name: error, or merge to read them as one case",
        faces=ALL,
    )
    drop_incomplete: bool = parameter(
        False, "leave out cases that lack a required value", faces=ALL
    )
    tie_break: Sequence[str] | str = parameter(
        (),
        "columns that order the events of a case at the same time, before their position in the "
        "file does",
        read=listed,
        canonical=distinct,
        faces=ALL,
    )
    query: str | None = parameter(
        None,
        "table or query of a database: a .duckdb file, or an address such as "
        "postgresql://host/name",
        faces=("command", "file"),
    )
    engine: EngineName = parameter(
        "auto",
        "where events are sorted and counted: memory, duckdb or spark; auto takes memory while "
        "the files fit into it",
        faces=("command",),
    )
    memory: str | int | None = parameter(
        None,
        "how much memory may be used, as in 4GB; default: half of the machine's",
        faces=("command",),
    )
    xes_reader: XesReader = parameter(
        "auto", "strict reads XES element by element even if the file is plain", faces=("python",)
    )
    further: bool = parameter(
        True, "keep columns that have no role; without them reading is faster", faces=("python",)
    )
    allow_empty: bool = parameter(
        False, "take a log without events, which may be a release", faces=("python",)
    )

    def __post_init__(self) -> None:
        if isinstance(self.memory, int):
            object.__setattr__(self, "memory", f"{self.memory}B")
        try:
            for name, declaration in self.parameters().items():
                object.__setattr__(self, name, declaration.check(getattr(self, name)))
        except ParameterError as error:
            raise LogError(str(error)) from None
        if self.delimiter is not None and len(self.delimiter.encode()) != 1:
            raise LogError(f"delimiter={self.delimiter!r} must be one ASCII character")
        if self.timezone is not None:
            check_timezone(self.timezone)
        for kind in self.kinds.values():
            if kind not in TYPES:
                raise LogError(f"unknown type {kind!r}: {' or '.join(TYPES)}")

    @classmethod
    def parameters(cls, face: str = "python") -> dict[str, Parameter]:
        """The options by name, all of them or those that a face offers."""
        found = parameters_of(cls)  # type: ignore[arg-type]
        if face == "python":
            return found
        return {name: one for name, one in found.items() if face in one.faces}

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, as JSON values and keywords of `Reading`."""
        found = {name: getattr(self, name) for name in self.parameters()}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value != self.parameters()[name].default
        }

    @property
    def kinds(self) -> Mapping[str, Type]:
        """The declared types of further columns, by the name of the column."""
        return cast("Mapping[str, Type]", self.types or {})

    def of(self, raw: RawTable) -> MappedTable:
        """The table under XES names; raises where a required value is missing."""
        columns = raw.table.columns
        timed = self.order == "time"
        given = {
            CASE: self.case,
            ACTIVITY: self.activity,
            TIME: self.timestamp,
            LIFECYCLE: self.lifecycle,
        }
        needed = (CASE, ACTIVITY, TIME) if timed else (CASE, ACTIVITY)
        staged = (*needed, LIFECYCLE) if self.transitions else needed
        chosen = choose(columns, given, staged, usual=raw.public_names)
        if self.transitions:
            raw = self._of_transitions(raw, chosen[LIFECYCLE])
        left_out = LeftOut()
        if self.drop_incomplete:
            required = [chosen[role] for role in needed]
            if self.individual is not None:
                required.append(existing(columns, self.individual, "individual"))
            raw, left_out = _complete(raw, chosen[CASE], required)
        shaped: dict[str, pl.Series] = {}
        for role in (CASE, ACTIVITY, LIFECYCLE):
            if role in chosen:
                shaped[role] = _as_text(raw.table[chosen[role]], WORDS[role])
        for role in (CASE, ACTIVITY):
            _check_present(shaped[role], WORDS[role], raw)
        clocks = Clocks()
        if timed:
            shaped[TIME], clocks = self._times(raw, chosen[TIME])
        renamed = {column: role for role, column in chosen.items()}
        types = {existing(columns, name, "types"): kind for name, kind in self.kinds.items()}
        names = dict(chosen)
        displaced = {role for role in given if chosen.get(role, role) != role}
        displaced |= set() if timed else {TIME}
        of_cases = {existing(columns, name, "case_attributes") for name in self.case_attributes}
        further = {}
        for column in columns:
            if column not in renamed:
                name = _kept_name(column, displaced)
                if column in of_cases and not name.startswith("case:"):
                    name = f"case:{name}"
                    if name in (*columns, CASE):
                        raise LogError(f"there is a column {name!r} already; rename one of the two")
                    names[name] = column
                shaped[name] = self.further_column(raw, column, types.pop(column, None))
                renamed[column] = further[column] = name
        if types:
            raise LogError(f"the column {next(iter(types))!r} has a role; its type is fixed")
        person = None
        if self.individual is not None:
            person = renamed[existing(columns, self.individual, "individual")]
            if person not in shaped or person == TIME:
                raise LogError(
                    f"the column {self.individual!r} cannot be both timestamp and individual"
                )
            shaped[person] = _as_text(shaped[person], "individual")
            _check_present(shaped[person], "individual", raw)
        table = pl.DataFrame(shaped)
        for column in of_cases:
            check_constant(table, renamed[column], column)
        ties = [existing(columns, column, "tie_break") for column in self.tie_break]
        for column in ties:
            _check_orders(table[renamed[column]], column, raw)
        order = tuple(renamed[column] for column in ties)
        transitions = tuple(self.transitions)
        return MappedTable(table, person, names, left_out, order, clocks, further, transitions)

    def without_rows(self, raw: RawTable) -> MappedTable:
        """What the table will look like; raises what is wrong with the name or type of a column."""
        return replace(self, drop_incomplete=False).of(replace(raw, table=raw.table.clear()))

    def roles(self, found: MappedTable) -> list[str]:
        """The columns of a table that are needed to count its cases, and to say whose they are."""
        needed = [column for role, column in found.names.items() if role in WORDS]
        person = () if self.individual is None else (self.individual,)
        likely = (name for name in found.further if looks_like_a_person(name))
        return list(dict.fromkeys((*needed, *person, *self.tie_break, *likely)))

    def narrowed(self, columns: Sequence[str]) -> Reading:
        """The same reading for a table that has only these columns."""
        types = {name: kind for name, kind in self.kinds.items() if name in columns}
        return replace(self, types=types or None, case_attributes=())

    @property
    def zone(self) -> str:
        """The zone of times that carry no offset."""
        return self.timezone or "UTC"

    def kept(self, lifecycle: pl.Series) -> pl.Series:
        """Whether each event is kept: its transition is named, or it carries none."""
        said = _as_text(lifecycle, WORDS[LIFECYCLE])
        return said.is_null() | said.is_in(self.transitions)

    def _of_transitions(self, raw: RawTable, column: str) -> RawTable:
        """The events of the transitions named, each judged by itself."""
        kept = raw.only(self.kept(raw.table[column]))
        if raw.table.height and not kept.table.height:
            raise no_such_transition(self.transitions, column)
        return kept

    def _times(self, raw: RawTable, column: str) -> Instants:
        values = raw.table[column]
        check_plain(column, values.dtype, "the timestamp")
        if values.null_count():
            first = int(values.is_null().arg_max() or 0)
            raise LogError(
                f"{raw.place(first)} has no timestamp ({values.null_count()} of {len(values)} "
                "events have none); fill it in, leave such cases out with drop_incomplete=True "
                f"(--drop-incomplete), or keep the order of the file with {option('order', 'file')}"
            )
        found = read_times(values, self.zone, self.timestamp_format)
        if found.values.null_count():
            unread = found.values.is_null().arg_true().head(1000).to_list()
            if values.dtype.is_temporal():
                raise LogError(f"{raw.place(unread[0])}: {shown(values, unread[0])}; mend it")
            row = _telling(values, unread)
            reason = why_unread(str(values[row]), self.timestamp_format)
            raise LogError(f"{raw.place(row)}: {reason}")
        if self.timezone is None and found.clocks.mixed:
            found.clocks.check(raw.place(first_bare(values)))
        return found

    def further_column(self, raw: RawTable, column: str, kind: Type | None) -> pl.Series:
        """A further column: of the type declared for it, else of that in the schema."""
        values = raw.table[column]
        if kind is None:
            listed = isinstance(values.dtype, pl.Enum | pl.Categorical)
            return values.cast(pl.String) if listed else values
        fresh = typed(values, kind, self.zone, form=self.timestamp_format, decimal=self.decimal)
        if fresh.null_count() > values.null_count():
            first = int((fresh.is_null() & values.is_not_null()).arg_max() or 0)
            raise LogError(
                f"{raw.place(first)}: {shown(values, first)} in the column {column!r} is not of "
                f"the type {kind!r}; correct the value, or declare the column as text"
            )
        return fresh


def load_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The options of reading that a TOML file holds, checked."""
    path = Path(path)
    try:
        with readable(path):
            found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{path.name} is not TOML: {error}") from None
    known = Reading.parameters("file")
    for key in found:
        if key not in known:
            raise LogError(
                f"{path.name}: {key!r} is not an option of reading; known are "
                f"{', '.join(sorted(known))}"
            )
    try:
        Reading(**found)
    except LogError as error:
        raise LogError(f"{path.name}: {error}") from None
    return found


def save_mapping(
    path: str | os.PathLike[str], log: EventLog, options: Mapping[str, Any] | None = None
) -> None:
    """Keep how a log was read: the columns that were found, and the options that were given.

    Standard names of columns need no entry. An existing file is left alone.
    """
    path = Path(path)
    if path.exists():
        raise LogError(f"{path} exists already; choose another name, or remove it first")
    kept = {WORDS[role]: name for role, name in log.names.items() if name != role and role in WORDS}
    offered = Reading.parameters("file")
    said = {key: value for key, value in (options or {}).items() if key in offered}
    kept |= {key: value for key, value in said.items() if value is not None}
    given: Mapping[str, str] | str = kept.pop("types", {})
    types = declared(given) if isinstance(given, str) else given
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in kept.items()]
    if types:
        lines += ["", "[types]"]
        lines += [f"{json.dumps(name)} = {json.dumps(kind)}" for name, kind in types.items()]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())


def no_such_transition(transitions: Sequence[str], column: str) -> LogError:
    """The error for a log in which no event has one of the transitions named."""
    named = " or ".join(map(repr, transitions))
    return LogError(
        f"no event has the transition {named} in the column {column!r}; name those to keep with "
        f"{option('transitions')}, written as they are there"
    )


def check_constant(table: pl.DataFrame, name: str, column: str) -> None:
    """Refuse an attribute that is declared as one of cases and changes within one."""
    if name in WORDS:
        raise LogError(f"the column {column!r} has a role; it cannot be an attribute of a case too")
    check_plain(column, table[name].dtype, "an attribute of a case")
    values = pl.struct(pl.col(name))
    mixed = table.group_by(CASE, maintain_order=True).agg(values.n_unique().alias("many"))
    mixed = mixed.filter(pl.col("many") > 1)
    if mixed.height:
        raise LogError(
            f"the column {column!r} has several values in the case {mixed[CASE][0]!r}; correct "
            f"them, or leave it out of {option('case_attributes')}"
        )


def _telling(values: pl.Series, unread: list[int]) -> int:
    """The first unread row; among dates of unclear order one whose two readings differ."""
    if readings(str(values[unread[0]])) is not None:
        for row in unread:
            both = readings(str(values[row]))
            if both is not None and both[0] != both[1]:
                return row
    return unread[0]


def _complete(raw: RawTable, case: str, required: list[str]) -> tuple[RawTable, LeftOut]:
    """The table without incomplete cases and events without a case, each judged alone."""
    table = raw.table
    lacks = table.select(pl.any_horizontal(pl.col(required).is_null())).to_series()
    incomplete = table[case].filter(lacks).drop_nulls().unique()
    kept = table[case].is_not_null() & ~table[case].is_in(incomplete.implode())
    if not kept.any():
        raise LogError("every case lacks a required value; nothing is left to read")
    return raw.only(kept), LeftOut(len(incomplete), int((~kept).sum()))


def _kept_name(column: str, displaced: set[str]) -> str:
    """The name of a column here: its own, with a prefix if that now means another column."""
    if column in displaced:
        return f"original:{column}"
    if column.startswith("original:") and column.removeprefix("original:") in displaced:
        raise LogError(
            f"the column {column!r} has a name that is kept for columns whose own name is taken; "
            "rename it"
        )
    return column


def _as_text(values: pl.Series, word: str) -> pl.Series:
    check_plain(values.name, values.dtype, f"the {word}")
    if values.dtype.is_float():
        raise LogError(
            f"the column {values.name!r} holds floating-point numbers, which cannot be the {word}: "
            "long identifiers lose digits and become one; store it as text or whole numbers"
        )
    return text_of(values)


def _check_orders(values: pl.Series, column: str, raw: RawTable) -> None:
    """Refuse a tie-break whose order is not plain: every engine must sort it alike."""
    kind = values.dtype
    check_plain(column, kind, "the order of events")
    if not (kind.is_integer() or kind.is_temporal() or kind == pl.String):
        raise LogError(
            f"the column {column!r} holds {kind}, which cannot break ties; name one of whole "
            "numbers, times or texts"
        )
    _check_present(values, f"value in {column!r}, which breaks ties", raw)


def _check_present(values: pl.Series, word: str, raw: RawTable) -> None:
    if values.null_count():
        first = int(values.is_null().arg_max() or 0)
        raise LogError(
            f"{raw.place(first)} has no {word} ({values.null_count()} of {len(values)} events "
            f"have none); fill it in, or leave such cases out with drop_incomplete=True "
            "(--drop-incomplete)"
        )
