"""Results of audits as tables of text: for the page, the command line and the web app.

`results.json` beside this module holds those of the last audit of all mechanisms; the page
`docs/audits.md` is rendered from them, and the web app shows them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.audits.result import Audit, Evidence, PairAudit
from discreet.privacy.guarantee import Budget

SHIPPED = Path(__file__).with_name("results.json")
"""Results of the last audit of all mechanisms."""

Rows = Sequence[Sequence[str]]
OVERVIEW = (
    *("mechanism", "parameters", "claimed", "certified"),
    *("ε at least", "verdict", "event", "pair"),
)
STEPS = (
    *("mechanism", "step", "ε at least", "mutant: ε at least", "mutant"),
    *("missed", "against", "runs", "pair", "parameters"),
)
PAIRS = ("pair", "runs", "against", "measured", "exact", "event", "seen")


@dataclass(frozen=True)
class AuditTables:
    """Audits of all mechanisms as text, with what they took."""

    command: str
    """The command that repeats them."""
    version: str
    date: str
    minutes: int
    """Minutes that they take on two processors."""
    runs: int
    """Most runs of a pair."""
    caught: int
    """Number of mutants that were caught."""
    overview: Rows
    """One row per audit, under the heads OVERVIEW."""
    findings: Sequence[tuple[str, str, Sequence[str]]]
    """Title of an audit, the reason of its guarantee, and the events that refute a budget."""
    left_out: Mapping[str, str]
    """Mechanisms that were not audited, with the reason."""
    steps: Rows
    """One row per noisy step, under the heads STEPS."""
    pairs: Sequence[tuple[str, Rows]]
    """Title of an audit, and one row per pair under the heads PAIRS."""

    @classmethod
    def of(cls, audits: Sequence[Audit], left_out: Mapping[str, str], command: str) -> AuditTables:
        """The tables of these audits, made today."""
        powers = [power for audit in audits for power in audit.powers]
        seconds = sum(pair.seconds for audit in audits for pair in audit.pairs)
        seconds += sum(power.seconds for power in powers)
        return cls(
            command=command,
            version=__version__,
            date=f"{date.today():%-d %B %Y}",
            minutes=max(1, round(seconds / 120)),
            runs=max((pair.runs for audit in audits for pair in audit.pairs), default=0),
            caught=sum(power.caught for power in powers),
            overview=[overview(audit) for audit in audits],
            findings=[
                (_title(audit), audit.guarantee.reason, list(_broken(audit)))
                for audit in audits
                if audit.claim_refuted or audit.verdict == "violated"
            ],
            left_out=left_out,
            steps=step_rows(audits),
            pairs=[(_title(audit), pair_rows(audit)) for audit in audits],
        )

    def about(self, mechanism: str) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows of the tables that say something of a mechanism, without its name."""
        tables = ((OVERVIEW, self.overview), (STEPS, self.steps))
        found = [(heads[1:], [r[1:] for r in rows if r[0] == mechanism]) for heads, rows in tables]
        return [(heads, rows) for heads, rows in found if rows]

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> AuditTables:
        """Inverse of `to_json`."""
        return cls(**json.loads(text))


@cache
def shipped_tables() -> AuditTables:
    """The results that come with the library."""
    return AuditTables.from_json(SHIPPED.read_text(encoding="utf-8"))


def overview(audit: Audit) -> tuple[str, ...]:
    """One row: mechanism, parameters, claimed, certified, bound, verdict, event, pair."""
    worst = audit.worst
    evidence = worst.evidence if worst else None
    told = evidence if evidence and evidence.bound else None
    promise = audit.guarantee
    return (
        audit.mechanism,
        _listed(audit.parameters),
        _budget(promise.claimed),
        _budget(promise.holds),
        _number(audit.epsilon) + (" (exact)" if evidence and _is_exact(evidence) else ""),
        audit.words(),
        told.event if told else "",
        worst.pair if worst and told else "",
    )


def step_rows(audits: Sequence[Audit]) -> list[tuple[str, ...]]:
    """One row per noisy step: bound, what its mutant scores, against what, runs, pair."""
    return [
        (
            audit.mechanism,
            power.step,
            _number(
                max(a.epsilon_of(power.step) for a in audits if a.mechanism == audit.mechanism)
            ),
            _number(power.mutant),
            "violated" if power.caught else "**not caught**",
            _chance(power.missed),
            _budget(power.against) + (" alone" if power.alone else ""),
            f"{power.runs:,}",
            power.pair,
            _listed(power.parameters),
        )
        for audit in audits
        for power in audit.powers
    ]


def pair_rows(audit: Audit) -> list[tuple[str, ...]]:
    """One row per pair and budget: pair, runs, budget, measured, exact, event, shares."""
    return [row for pair in audit.pairs for row in _rows(pair)]


def _rows(pair: PairAudit) -> Iterable[tuple[str, ...]]:
    for evidence in (pair.promise, pair.claim):
        if evidence is not None:
            yield (
                pair.pair,
                f"{pair.runs:,}",
                ("" if evidence is pair.promise else "claim ") + _budget(evidence.against),
                _number(evidence.epsilon),
                _number(evidence.exact.epsilon) if evidence.exact else "",
                evidence.event,
                f"{_share(evidence.shares[0])} / {_share(evidence.shares[1])}",
            )


def _broken(audit: Audit) -> Iterable[str]:
    """The events that break a budget, with how to repeat them, in Markdown."""
    for pair in audit.pairs:
        for evidence in (pair.promise, pair.claim):
            if evidence is None or not evidence.contradicts:
                continue
            likely, other = evidence.shares
            yield (
                f"**{pair.pair}** ({pair.logs}). Event: {evidence.event}; seen in "
                f"{_share(likely)} of the runs on one log and in {_share(other)} on the other. "
                f"At δ = {evidence.against.delta:g} that takes ε ≥ {_number(evidence.bound)}, "
                f"where {evidence.against.epsilon:g} was "
                f"{'certified' if evidence is pair.promise else 'claimed'}. "
                f'Repeat: `{audit.command} --pair "{pair.pair}"`'
            )


def _title(audit: Audit) -> str:
    return f"{audit.mechanism} {_listed(audit.parameters)}".rstrip()


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        str(value) if key == "fidelity" else f"{key} {_short(value)}"
        for key, value in parameters.items()
    )


def _short(value: Any) -> str:
    """A value in a table: lists of texts without quotes and brackets."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_short(one)}" for key, one in value.items())
    if isinstance(value, tuple):
        return "/".join(" ".join(one) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)


def _is_exact(evidence: Evidence) -> bool:
    return evidence.exact is not None and evidence.exact.epsilon >= evidence.epsilon


def _budget(budget: Budget | None) -> str:
    if budget is None:
        return "none"
    return f"ε {budget.epsilon:.4g}" + (f", δ {budget.delta:.3g}" if budget.delta else "")


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f}"


def _chance(value: float) -> str:
    return (
        f"< 10^{math.floor(math.log10(max(value, 1e-12))) + 1}" if value < 0.1 else f"{value:.1f}"
    )


def _share(value: float) -> str:
    return f"{100 * value:.2f}%"
