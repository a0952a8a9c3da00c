"""A certificate explained on one page, for the data-protection officer.

The page says what was promised, to whom, at what cost, and what is not promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.certificate import Certificate, Finding
from discreet.language import translate
from discreet.privacy.guarantee import Guarantee, Neighbours, Part, Unit
from discreet.privacy.wording import odds, vocabulary
from discreet.report.pages import render_page

MARKS = {"holds": "✓", "fails": "✗", "unknown": "?"}


@dataclass(frozen=True)
class BookedEntry:
    """An entry of a ledger that booked a release, with the present state of its account."""

    source: str
    number: int
    time: str
    """When it was booked, in UTC and to the minute."""
    purpose: str
    unit: Unit
    neighbours: Neighbours
    cap: str
    releases: int
    used: float
    """The share of the cap that is spent."""
    left: str
    """The most that the next release may cost, in words."""


def officer_page(
    certificate: Certificate,
    findings: Sequence[Finding],
    *,
    file: str,
    entry: BookedEntry | None = None,
) -> str:
    """One self-contained, printable page about a certificate."""
    promise = certificate.guarantee
    failed = any(finding.outcome == "fails" for finding in findings)
    return render_page(
        "discreet.report",
        "officer.html",
        file=file,
        certificate=certificate,
        promise=promise,
        verdict=_verdict(promise, failed),
        paragraphs=promise.explain().splitlines(),
        kind=_kind(certificate.artefact),
        terms=_terms(promise),
        steps=list(_steps(promise.parts)),
        parameters=[(key, _shown(value)) for key, value in certificate.parameters.items()],
        ledger=_ledger(certificate.ledger),
        account=_account(entry) if entry else "",
        entry=entry,
        findings=[
            (MARKS[f.outcome], f.outcome, translate(f.check), translate(f.detail)) for f in findings
        ],
    )


def _kind(artefact: str) -> str:
    """The kind of the released artefact, in words."""
    return {
        "log": translate("A log"),
        "variants": translate("A log"),
        "follows": translate("A directly-follows graph"),
        "process tree": translate("A process tree"),
        "model": translate("A trained model"),
    }.get(artefact, artefact)


def _ledger(state: str) -> str:
    """Whether the release was booked, and what that means."""
    return {
        "none": translate(
            "The release was not booked: there was no ledger where it was made. Whether other "
            "releases of the same data add to its cost cannot be told from here."
        ),
        "booked": translate(
            "The release was booked before it was made, against a cap on all releases of the same "
            "data source."
        ),
        "bypassed": translate(
            "There was a ledger, and whoever made the release chose not to book it. It adds to "
            "what other releases of the same data cost, and no cap takes account of it."
        ),
    }[state]


def _account(entry: BookedEntry) -> str:
    """The unit and the neighbours of the cap of a source."""
    whom = translate("per case") if entry.unit == "case" else translate("per person")
    return f"{whom}, {entry.neighbours}"


def _verdict(promise: Guarantee, failed: bool) -> tuple[str, str]:
    """The opening of the page: a class of the style, and one sentence."""
    if failed:
        return "bad", translate(
            "A check failed: do not rely on this certificate before that is cleared up."
        )
    words = promise.level()
    shown = f"{words[0].upper()}{words[1:]}"
    if not promise.private:
        return "bad", f"{shown}."
    style = {"strong": "good", "moderate": "good", "weak": "warning"}.get(promise.strength, "bad")
    if style == "good" and promise.status == "conditional":
        style = "warning"
    return style, f"{shown}: {promise.bound()}. {vocabulary().status[promise.status]}"


def _terms(promise: Guarantee) -> list[tuple[str, str]]:
    """Each term of the guarantee with what it means here."""
    case = promise.unit == "case"
    found = [
        (translate("Protected"), _protected(promise)),
        (translate("Neighbours"), _neighbours(promise.neighbours, case)),
    ]
    if promise.holds is not None:
        epsilon, delta = promise.holds.epsilon, promise.holds.delta
        found.append((f"ε = {epsilon:.4g}", _epsilon(epsilon, case)))
        found.append((f"δ = {delta:.4g}", _delta(delta, case)))
    if promise.claimed is not None and promise.claimed != promise.holds:
        claimed = translate("%(claimed)s; what counts is what holds", claimed=promise.claimed)
        found.append((translate("Claimed"), claimed))
    noise = translate("the operating system's secure generator, drawn exactly in whole numbers")
    if promise.randomness == "seeded":
        noise = translate("a seed: whoever knows or guesses it can take the noise out again")
    return [*found, (translate("Randomness"), noise)]


def _neighbours(neighbours: str, case: bool) -> str:
    """The definition of neighbours, in words."""
    if neighbours == "add-remove":
        if case:
            return translate(
                "what must look alike: the log with and without any one case, so the number of "
                "cases is protected too"
            )
        return translate(
            "what must look alike: the log with and without any one person, so the number of "
            "people is protected too"
        )
    if case:
        return translate(
            "what must look alike: the log and the log with one case replaced; how many cases "
            "there are is public"
        )
    return translate(
        "what must look alike: the log and the log with one person replaced; how many people "
        "there are is public"
    )


def _epsilon(epsilon: float, case: bool) -> str:
    if case:
        return translate(
            "whether or not a case is in the log, every outcome is equally likely up to a factor "
            "of %(factor)s; smaller is more private, 0 tells nothing",
            factor=odds(epsilon),
        )
    return translate(
        "whether or not a person is in the log, every outcome is equally likely up to a factor of "
        "%(factor)s; smaller is more private, 0 tells nothing",
        factor=odds(epsilon),
    )


def _delta(delta: float, case: bool) -> str:
    if not delta:
        return translate("no exception: the factor holds for every outcome")
    many = f"{1 / delta:,.0f}"
    if case:
        return translate(
            "outcomes beyond that factor have at most this probability for each case, 1 in "
            "%(many)s; it should be far below one over the number of cases",
            many=many,
        )
    return translate(
        "outcomes beyond that factor have at most this probability for each person, 1 in %(many)s; "
        "it should be far below one over the number of people",
        many=many,
    )


def _protected(promise: Guarantee) -> str:
    """The protected unit, and the column that tells units apart."""
    column = person = ""
    if promise.case_column:
        column = translate(", told apart by the column “%(name)s”", name=promise.case_column)
    if promise.unit == "case":
        return translate(
            "each single case%(column)s. A person with several cases is protected less: by the "
            "number of their cases",
            column=column,
        )
    if promise.individual_column:
        person = translate(" (column “%(name)s”)", name=promise.individual_column)
    return translate(
        "each person%(person)s with all of their cases%(column)s; at most %(many)s of each were "
        "used",
        person=person,
        column=column,
        many=promise.cases_per_individual,
    )


def _steps(parts: Sequence[Part], depth: int = 0) -> Iterator[dict[str, Any]]:
    """The tree of steps, line by line."""
    for part in parts:
        yield {
            "depth": depth,
            "name": part.name,
            "epsilon": f"{part.epsilon:.4g}" if part.epsilon else "–",
            "delta": f"{part.delta:.3g}",
            "rho": "" if part.rho is None else f"{part.rho:.4g}",
            "rule": part.rule,
        }
        yield from _steps(part.parts, depth + 1)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
