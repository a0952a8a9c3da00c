"""The page: what was promised, to whom, at what cost, and what it does not promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.certificate import Certificate, Finding
from discreet.drawing.pages import render_page
from discreet.officer.checking import Entry
from discreet.privacy.guarantee import Guarantee, Part
from discreet.privacy.words import odds, vocabulary

MARKS = {"holds": "✓", "fails": "✗", "unknown": "?"}

LEDGER = {
    "none": "The release was not booked: there was no ledger where it was made. Whether other "
    "releases of the same data add to its cost cannot be told from here.",
    "booked": "The release was booked before it was made, against a cap on all releases of the "
    "same data source.",
    "bypassed": "There was a ledger, and whoever made the release chose not to book it. It adds to "
    "what other releases of the same data cost, and no cap takes account of it.",
}


def officer_page(
    certificate: Certificate, findings: Sequence[Finding], *, file: str, entry: Entry | None = None
) -> str:
    """One self-contained, printable page about a certificate."""
    promise = certificate.guarantee
    failed = any(finding.outcome == "fails" for finding in findings)
    return render_page(
        "discreet.officer",
        "officer.html",
        file=file,
        certificate=certificate,
        promise=promise,
        verdict=_verdict(promise, failed),
        paragraphs=promise.explain().splitlines(),
        terms=_terms(promise),
        steps=list(_steps(promise.parts)),
        parameters=[(key, _shown(value)) for key, value in certificate.parameters.items()],
        ledger=LEDGER[certificate.ledger],
        entry=entry,
        findings=[(MARKS[f.outcome], f.outcome, f.check, f.detail) for f in findings],
    )


def _verdict(promise: Guarantee, failed: bool) -> tuple[str, str]:
    """How the page opens: a class of the style, and one sentence."""
    if failed:
        return "bad", "A check failed: do not rely on this certificate before that is cleared up."
    words = promise.level()
    shown = f"{words[0].upper()}{words[1:]}"
    if not promise.private:
        return "bad", f"{shown}."
    style = {"strong": "good", "moderate": "good", "weak": "warning"}.get(promise.strength, "bad")
    if style == "good" and promise.status == "conditional":
        style = "warning"
    return style, f"{shown}: {promise.holds}. {vocabulary().status[promise.status]}"


def _terms(promise: Guarantee) -> list[tuple[str, str]]:
    """Each term of the guarantee with what it means here."""
    one, many = ("case", "cases") if promise.unit == "case" else ("person", "people")
    found = [("Protected", _protected(promise))]
    if promise.neighbours == "add-remove":
        words = f"the log with and without any one {one}, so the number of {many} is protected too"
    else:
        words = f"the log and the log with one {one} replaced; how many {many} there are is public"
    found.append(("Neighbours", f"what must look alike: {words}"))
    if promise.holds is not None:
        epsilon, delta = promise.holds.epsilon, promise.holds.delta
        found.append(
            (
                f"ε = {epsilon:.4g}",
                f"whether or not a {one} is in the log, every outcome is equally likely up to a "
                f"factor of {odds(epsilon)}; smaller is more private, 0 tells nothing",
            )
        )
        words = "no exception: the factor holds for every outcome"
        if delta:
            words = (
                f"outcomes beyond that factor have at most this probability for each {one}, 1 in "
                f"{1 / delta:,.0f}; it should be far below one over the number of {many}"
            )
        found.append((f"δ = {delta:.4g}", words))
    if promise.claimed is not None and promise.claimed != promise.holds:
        found.append(("Claimed", f"{promise.claimed}; what counts is what holds"))
    noise = "the operating system's secure generator, drawn exactly in whole numbers"
    if promise.randomness == "seeded":
        noise = "a seed: whoever knows or guesses it can take the noise out again"
    return [*found, ("Randomness", noise)]


def _protected(promise: Guarantee) -> str:
    """The unit, and by which column it is told."""
    column = f", told apart by the column “{promise.case_column}”" if promise.case_column else ""
    if promise.unit == "case":
        return (
            f"each single case{column}. A person with several cases is protected less: by "
            "the number of their cases"
        )
    person = f" (column “{promise.individual_column}”)" if promise.individual_column else ""
    many = promise.cases_per_individual
    return f"each person{person} with all of their cases{column}; at most {many} of each were used"


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
