"""A release, which spends: booked, drawn once, written with certificate and officer's page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.certificate import certificate_path
from discreet.log.follows import Follows
from discreet.releases import Release
from discreet.releasing.request import Output, Request
from discreet.releasing.verification import checked, entry_of
from discreet.releasing.way import carry_out
from discreet.report import draw
from discreet.report.officer import officer_page
from discreet.report.pages import write_page
from discreet.report.process_maps import draw_follows
from discreet.utility.subject import subject_of
from discreet.web.jobs import job_mark
from discreet.web.work.pictures import EACH, most_frequent
from discreet.web.work.reading import check_unpacked

SHARE = "share"
"""Name of the folder of files that may leave the server."""

# Tuned
ACTIVITIES = 30
"""Most activities in the picture of a release."""


def release(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Spend and release: `share` holds everything that goes out, the rest is the steward's."""
    notes: list[str] = []
    request = request_of_job(spec, folder)
    check_unpacked(Path(request.log or ""), spec["unpacked"])
    (folder / SHARE).mkdir(mode=0o700)
    outcome = carry_out(request, tell=notes.append)
    drawn, certificate, path = outcome.release, outcome.certificate, request.file
    assert drawn is not None
    assert certificate is not None
    files = [path.name, certificate_path(path).name]
    for further in (_officer, _picture):
        try:
            files.append(further(drawn, path))
        except Exception as error:  # must not lose what is paid for and written
            notes.append(f"{type(error).__name__}: {error}")
    holds = certificate.guarantee.holds
    return {
        "files": files,
        "entry": outcome.booking.entry,
        "notes": notes,
        "summary": {
            "mechanism": certificate.mechanism,
            "what": drawn.describe(),
            "epsilon": None if holds is None else holds.epsilon,
            "delta": None if holds is None else holds.delta,
            "level": certificate.guarantee.level(),
            "unit": certificate.guarantee.unit,
            "individual": certificate.guarantee.individual_column,
            "cases_per_individual": certificate.guarantee.cases_per_individual,
            "digest": certificate.content_sha256,
            "files": files,
        },
    }


def request_of_job(spec: dict[str, Any], folder: Path) -> Request:
    """The request of a job, writing into the job's own folder and booked under its mark."""
    asked = Request.from_dict(spec["request"])
    purpose = f"{asked.payment.purpose} {job_mark(spec['job'])}".strip()
    return replace(
        asked,
        payment=replace(asked.payment, purpose=purpose),
        output=Output(str(folder / SHARE / asked.file)),
    )


def _officer(drawn: Release, path: Path) -> str:
    """Write the page for the data-protection officer; return its name."""
    found, findings = checked(path)
    page = path.with_name(f"{path.name}.certificate.html")
    write_page(page, officer_page(found, findings, file=path.name, entry=entry_of(found)))
    return page.name


def _picture(drawn: Release, path: Path) -> str:
    """Draw a picture from the release alone, so it costs no more budget; return its name."""
    subject = subject_of(drawn)
    if subject.variants is not None:
        shown = Follows.of_variants(most_frequent(subject.variants, ACTIVITIES))
        picture = draw_follows(shown, each=EACH)
    else:
        picture = draw(drawn.artefact)
    path.with_name("picture.svg").write_text(picture, encoding="utf-8")
    return "picture.svg"
