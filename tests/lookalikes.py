"""Generated logs in place of public ones, for a machine that has none.

Each has the shape of a public log: how its file is written, its kinds of attributes, what is
missing among them, its lifecycle, ties and classifiers, few or many variants; smaller where the
size is not the point. The XES is put together here, without the library, and so are the counts:
both readers and the writer are held to what this file has counted.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

Model: TypeAlias = "str | tuple[Any, ...]"
"""An activity, `+` and its lifecycle; or how parts follow one another, see `played`."""


def played(model: Model, random: Random) -> list[str]:
    """The events of one case.

    Parts come one after the other ("then"), interleaved ("and"), one of them by weight ("or"),
    with a probability ("maybe"), or once and again with a probability each time ("again").
    """
    if isinstance(model, str):
        return [model]
    kind, *parts = model
    if kind == "then":
        return [event for part in parts for event in played(part, random)]
    if kind == "or":
        weights, choices = zip(*parts, strict=True)
        return played(random.choices(choices, weights)[0], random)
    if kind == "maybe":
        return played(parts[1], random) if random.random() < parts[0] else []
    if kind == "again":
        found = played(parts[1], random)
        while random.random() < parts[0]:
            found += played(parts[1], random)
        return found
    assert kind == "and"
    ways = [way for part in parts if (way := played(part, random))]
    found = []
    while ways:
        way = random.choice(ways)
        found.append(way.pop(0))
        ways = [way for way in ways if way]
    return found


@dataclass(frozen=True)
class Attribute:
    """What cases or events carry beside what every log has."""

    key: str
    kind: str = "string"
    share: float = 1.0
    """Of the cases or events that carry it."""
    of: str = ""
    """The only activity whose events carry it."""

    def xml(self, random: Random, begin: datetime, offset: str) -> str:
        """A value, or nothing where it is missing."""
        if random.random() >= self.share:
            return ""
        values: dict[str, Callable[[], str]] = {
            "string": lambda: random.choice(("North & West", "Süd", '"East"', "UNKNOWN")),
            "int": lambda: str(random.randrange(18, 95)),
            "float": lambda: str(round(random.expovariate(0.02), 3)),
            "boolean": lambda: random.choice(("true", "false")),
            "date": lambda: stamp(begin + timedelta(days=random.randrange(60)), offset),
        }
        return one(self.kind, self.key, values[self.kind]())


@dataclass(frozen=True)
class Shape:
    """A public log's shape."""

    cases: int
    model: Model
    of_cases: tuple[Attribute, ...] = ()
    of_events: tuple[Attribute, ...] = ()
    header: str = "<log>"
    name: str = ""
    lifecycle: str = ""
    """Of events whose activity names none."""
    offset: str = "+01:00"
    ties: float = 0.1
    """The share of events at the same time as the one before."""
    late: float = 0.0
    """The share of events that are written before the one that they follow."""
    copies: bool = False
    """Whether events repeat the attributes of their case, as some exports do."""
    minutes: float = 300.0
    unit: int = 0
    """Seconds of which all times are multiples, or 0."""


@dataclass(frozen=True)
class Counted:
    """What a generated log holds, counted while it was generated."""

    cases: int
    variants: int
    events: int
    activities: int
    with_lifecycle: tuple[int, int] | None


def stamp(moment: datetime, offset: str) -> str:
    """A time as such files write it."""
    return f"{moment.isoformat(timespec='milliseconds')}{offset}"


def one(kind: str, key: str, value: str) -> str:
    """An attribute in XES."""
    key, value = (escape(text, {'"': "&quot;"}) for text in (key, value))
    return f'<{kind} key="{key}" value="{value}"/>\n'


def generate(name: str, path: Path) -> Counted:
    """Write the log that has the shape of the public log of this name, the same every time."""
    shape, random = SHAPES[name], Random(zlib.crc32(name.encode()))
    text = [shape.header]
    if shape.name:
        text.append(one("string", "concept:name", shape.name))
    both: set[tuple[str, ...]] = set()
    for case in range(shape.cases):
        events = played(shape.model, random)
        both.add(tuple(events))
        text += trace(shape, case, events, random)
    text.append("</log>\n")
    path.write_bytes(gzip.compress("".join(text).encode(), 1, mtime=0))
    return counted(shape, both, len([line for line in text if line == END]))


END = "</event>\n"
BEGIN = datetime(2017, 1, 9)


def counted(shape: Shape, both: set[tuple[str, ...]], events: int) -> Counted:
    """The counts by activity, and by activity and lifecycle where that is another matter."""
    plain = {tuple(event.partition("+")[0] for event in case) for case in both}
    pairs = len(both), len({event for case in both for event in case})
    names = len({event for case in plain for event in case})
    lifecycle = pairs if pairs[1] > names else None
    return Counted(shape.cases, len(plain), events, names, lifecycle)


def trace(shape: Shape, case: int, events: list[str], random: Random) -> Iterator[str]:
    """One case in XES."""
    moment = BEGIN + timedelta(hours=5 * case, seconds=random.randrange(9999))
    own = "".join(a.xml(random, moment, shape.offset) for a in shape.of_cases)
    yield f"<trace>\n{one('string', 'concept:name', f'case {case:04d}')}{own}"
    rows: list[tuple[datetime, str]] = []
    for event in events:
        if not rows or random.random() >= shape.ties:
            moment += timedelta(seconds=1 + random.expovariate(1 / (60 * shape.minutes)))
            moment = coarse(moment, shape.unit)
        rows.append((moment, event))
    for i in range(1, len(rows)):
        if rows[i - 1][0] < rows[i][0] and random.random() < shape.late:
            rows[i - 1], rows[i] = rows[i], rows[i - 1]
    copied = own.replace('key="', 'key="case:') if shape.copies else ""
    for at, event in rows:
        activity, _, lifecycle = event.partition("+")
        yield f"<event>\n{one('string', 'concept:name', activity)}"
        yield one("date", "time:timestamp", stamp(at, shape.offset))
        if lifecycle := lifecycle or shape.lifecycle:
            yield one("string", "lifecycle:transition", lifecycle)
        for attribute in shape.of_events:
            if attribute.of in ("", activity):
                yield attribute.xml(random, at, shape.offset)
        yield copied
        yield END
    yield "</trace>\n"


def coarse(moment: datetime, unit: int) -> datetime:
    """The first time that is not before `moment`, of those that the log can tell."""
    return moment + (BEGIN - moment) % timedelta(seconds=unit) if unit else moment


EXPORTED = "<?xml version='1.0' encoding='UTF-8'?>\n<log>\n"
OPENXES = """<?xml version="1.0" encoding="UTF-8" ?>
<!-- written as OpenXES does: extensions, defaults, classifiers, nested facts about the log -->
<log xes.version="1.0" xes.features="nested-attributes" openxes.version="1.0RC7">
\t<extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
\t<extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
\t<extension name="Lifecycle" prefix="lifecycle" uri="http://www.xes-standard.org/lifecycle.xesext"/>
\t<global scope="trace">
\t\t<string key="concept:name" value="UNKNOWN"/>
\t</global>
\t<global scope="event">
\t\t<string key="concept:name" value="UNKNOWN"/>
\t\t<date key="time:timestamp" value="1970-01-01T00:00:00.000+01:00"/>
\t\t<string key="org:group" value="UNKNOWN"/>
\t</global>
\t<classifier name="Activity classifier" keys="concept:name lifecycle:transition"/>
\t<classifier name="Resource classifier" keys="org:resource"/>
\t<float key="meta_org:resource_events_average" value="7.626">
\t\t<float key="Süd" value="0.012"/>
\t\t<int key="max" value="7"/>
\t</float>
"""


LABORATORY: Model = ("or", (4, "White cells"), (4, "Protein"), (2, "Lactate"))
TREATMENT: Model = (
    "then",
    ("and", ("maybe", 0.8, "Antibiotics"), ("maybe", 0.7, "Fluids"), ("again", 0.3, LABORATORY)),
    ("maybe", 0.7, (
        "then", "Ward", ("again", 0.65, LABORATORY), ("maybe", 0.1, "Intensive care"))),
    ("or", (60, "Leave A"), (6, "Leave B"), (3, "Leave C"), (3, "Leave D"), (2, "Leave E"),
     (26, ("then",))),
    ("maybe", 0.28, "Return"),
)  # fmt: skip
STAY: Model = (
    "then", "Register", ("maybe", 0.97, "Triage"), "Sepsis form", ("maybe", 0.92, TREATMENT)
)  # fmt: skip
INCIDENT: Model = (
    "then",
    "Accepted+in progress",
    ("again", 0.62, (
        "or", (12, "Accepted+in progress"), (6, "Queued+awaiting assignment"), (2, "Accepted+wait"),
        (1, "Accepted+wait user"), (0.6, "Accepted+assigned"), (0.3, "Accepted+wait vendor"),
        (0.3, "Accepted+wait customer"), (0.1, "Accepted+wait implementation"),
    )),
    ("or", (8, "Completed+resolved"), (4, "Completed+in call"), (0.2, "Unmatched+unmatched"),
     (0.1, "Completed+cancelled")),
    ("maybe", 0.5, "Completed+closed"),
)  # fmt: skip
PROBLEM: Model = (
    "then",
    ("maybe", 0.6, "Queued+awaiting assignment"),
    "Accepted+in progress",
    ("again", 0.5, ("or", (5, "Accepted+in progress"), (2, "Accepted+wait"),
                    (1, "Queued+awaiting assignment"), (1, "Accepted+assigned"),
                    (0.3, "Unmatched+unmatched"))),
    "Completed+closed",
    ("maybe", 0.05, "Completed+cancelled"),
)  # fmt: skip
OPEN: Model = (
    "then",
    ("maybe", 0.5, "Queued+awaiting assignment"),
    ("again", 0.5, ("or", (6, "Accepted+in progress"), (2, "Accepted+wait"),
                    (1, "Accepted+assigned"))),
    ("maybe", 0.3, "Completed+closed"),
)  # fmt: skip
LOAN: Model = (
    "then",
    "Submitted",
    "Partly submitted",
    ("or", (44, "Declined"), (7, "Cancelled"), (49, (
        "then", "Preaccepted", ("or", (15, "Declined"), (15, "Cancelled"), (70, (
            "then", "Accepted", "Finalised", ("or", (15, "Declined"), (40, "Cancelled"), (45, (
                "and", "Registered", "Activated", "Approved")))))))))
)  # fmt: skip
RECEIPT: Model = (
    "then",
    "Confirm receipt",
    ("maybe", 0.95, ("then", "T02 Check receipt", ("maybe", 0.06, "T03 Adjust receipt"))),
    ("or", (88, ("then", "T04 Determine", "T05 Print and send",
                 ("maybe", 0.9, "T06 Determine stop"))),
     (4, ("then", "T07 Draft", "T08 Send draft")), (8, ("then", "T09 Process", "T20 Print"))),
    ("maybe", 0.15, ("and", "T10 Stop indication", "T11 Create document")),
    ("maybe", 0.1, ("then", "T12 Check document", ("maybe", 0.5, "T13 Adjust document"),
                     "T14 Advice", ("maybe", 0.5, "T15 Print advice"))),
    ("maybe", 0.1, ("or", (1, "T16 Report"), (1, "T17 Check report"), (1, "T18 Adjust report"),
                     (1, "T19 Determine report"))),
)  # fmt: skip
FINE: Model = (
    "then",
    "Create",
    ("or", (35, "Pay"), (65, (
        "then", "Send", ("maybe", 0.9, (
            "then", "Notify", ("maybe", 0.05, "Appeal to judge"), ("maybe", 0.9, "Add penalty"),
            ("maybe", 0.05, ("then", "Appeal to prefecture", "Send appeal", "Receive result",
                             "Notify result"))))))),
    ("or", (55, "Collect"), (30, ("again", 0.1, "Pay")), (15, ("then",))),
)  # fmt: skip
DECLARATION: Model = (
    "then",
    ("again", 0.08, (
        "then", "Declaration SUBMITTED by EMPLOYEE",
        ("or", (85, "Declaration APPROVED by ADMINISTRATION"), (15, (
            "then", "Declaration REJECTED by ADMINISTRATION",
            ("maybe", 0.95, "Declaration REJECTED by EMPLOYEE")))),
        ("maybe", 0.3, "Declaration APPROVED by BUDGET OWNER"))),
    ("or", (96, ("then", "Declaration FINAL_APPROVED by SUPERVISOR", "Request Payment",
                 "Payment Handled")),
     (3, ("then", "Declaration REJECTED by SUPERVISOR", "Declaration SAVED by EMPLOYEE")),
     (1, ("then", "Declaration REJECTED by MISSING"))),
)  # fmt: skip
TRAVEL: Model = (
    "then",
    "Permit SUBMITTED by EMPLOYEE",
    ("or", (80, "Permit APPROVED by ADMINISTRATION"), (20, ("then",))),
    ("maybe", 0.3, "Permit APPROVED by BUDGET OWNER"),
    "Permit FINAL_APPROVED by SUPERVISOR",
    ("again", 0.12, (
        "then", "Request SUBMITTED by EMPLOYEE",
        ("or", (80, "Request APPROVED by ADMINISTRATION"),
         (20, ("then", "Request REJECTED by ADMINISTRATION", "Request REJECTED by EMPLOYEE"))),
        ("maybe", 0.2, "Request APPROVED by BUDGET OWNER"))),
    ("or", (90, ("then", "Request FINAL_APPROVED by SUPERVISOR", "Request Payment",
                 "Payment Handled")),
     (10, ("or", (3, "Request REJECTED by MISSING"), (3, "Request REJECTED by SUPERVISOR"),
           (1, "Request SAVED by EMPLOYEE")))),
)  # fmt: skip
STEPS = tuple(f"Step {number:02d}" for number in range(1, 29))
LINE: Model = (
    "then",
    *(("again", 0.25, ("then", *(("maybe", 0.9, step) for step in STEPS[i : i + 4])))
      for i in range(0, 28, 4)),
    "End of lesson",
)  # fmt: skip
WAY: Model = (
    "again",
    0.12,
    ("then", ("or", (8, "Emergency"), (3, "Clinic"), (1, "Day care")),
     ("maybe", 0.5, ("then", "Admission", ("maybe", 0.06, "Transfer"))),
     "Discharge", ("or", (80, "Home"), (12, "Nursing home"), (5, "Hospice"), (3, "Other"))),
)  # fmt: skip

RESOURCES = (
    Attribute("org:group"),
    Attribute("resource country"),
    Attribute("org:role", share=0.8),
    Attribute("impact"),
)
DEADLINE = one("date", "deadline", "1970-01-01T00:00:00.000+01:00")

SHAPES: Mapping[str, Shape] = {
    "Sepsis": Shape(
        1050,
        STAY,
        (
            Attribute("Age", "int", 0.97),
            Attribute("Diagnose", share=0.9),
            Attribute("SIRSCriteria2OrMore", "boolean", 0.98),
            Attribute("Oligurie", "boolean"),
        ),
        (
            Attribute("org:group"),
            Attribute("Leucocytes", "float", 0.95, "White cells"),
            Attribute("CRP", "float", 0.95, "Protein"),
            Attribute("LacticAcid", "float", 1.0, "Lactate"),
        ),
        OPENXES,
        ties=0.4,
        lifecycle="complete",
    ),
    "BPIC2013_incidents": Shape(1200, INCIDENT, (), RESOURCES, "\ufeff" + OPENXES, unit=60),
    "BPIC2013_closed_problems": Shape(1400, PROBLEM, (), RESOURCES, OPENXES, unit=60),
    "BPIC2013_open_problems": Shape(400, OPEN, (), RESOURCES, OPENXES, unit=60),
    "BPIC2012_A": Shape(
        1300,
        LOAN,
        (Attribute("REG_DATE", "date"), Attribute("AMOUNT_REQ")),
        (Attribute("org:resource", share=0.9),),
        EXPORTED,
        offset="+02:00",
        copies=True,
        lifecycle="complete",
    ),
    "CoSeLoG_receipt": Shape(
        1400,
        RECEIPT,
        (
            Attribute("responsible"),
            Attribute("deadline", "date", 0.9),
            Attribute("startdate", "date"),
        ),
        (Attribute("org:group"), Attribute("org:resource"), Attribute("concept:instance")),
        OPENXES.replace("</global>", f"\t{DEADLINE}\t</global>", 1),
        lifecycle="complete",
    ),
    "RoadTrafficFines": Shape(
        6000,
        FINE,
        (),
        (
            Attribute("amount", "float", 1.0, "Create"),
            Attribute("points", "int", 1.0, "Create"),
            Attribute("expense", "float", 1.0, "Send"),
            Attribute("dismissal", share=0.3),
        ),
        OPENXES,
        unit=86_400,
        minutes=50_000,
        lifecycle="complete",
    ),
    "BPIC2020_DomesticDeclarations": Shape(
        1500,
        DECLARATION,
        (Attribute("Amount", "float"), Attribute("BudgetNumber")),
        (Attribute("id"), Attribute("org:resource"), Attribute("org:role")),
        OPENXES,
        name="Domestic Declarations",
    ),
    "BPIC2020_PrepaidTravelCost": Shape(
        700,
        TRAVEL,
        (
            Attribute("RequestedAmount", "float"),
            Attribute("Cost Type", "int"),
            Attribute("Project"),
        ),
        (Attribute("id"), Attribute("org:resource"), Attribute("org:role")),
        OPENXES,
        name="Prepaid Travel Costs",
        late=0.01,
    ),
    "CCC19": Shape(20, LINE, header=EXPORTED, offset="+11:00", ties=0.3, minutes=2, unit=60),
    "Unrineweginfectie": Shape(800, WAY, header=EXPORTED, offset="+00:00", ties=0.0),
}
"""By the name of the public log."""
