"""A release: booked, drawn once, written with its certificate and the officer's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.certificate import certificate_path
from discreet.language import translate
from discreet.ledger.booking import LedgerBooking, booking_for
from discreet.log.follows import Follows
from discreet.mechanisms.base import Mechanism
from discreet.releases import Release, check_room
from discreet.report import draw
from discreet.report.officer import officer_page
from discreet.report.pages import write_page
from discreet.report.process_maps import draw_follows
from discreet.utility.subject import subject_of
from discreet.verification import checked, entry_of
from discreet.web.choosing import build
from discreet.web.jobs import job_mark
from discreet.web.settings import WebError
from discreet.web.work.pictures import EACH, most_frequent
from discreet.web.work.reading import read

SHARE = "share"
"""The folder of what may leave."""

ACTIVITIES = 30


def release(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Everything that goes out is in `share`; the rest of the folder is the steward's."""
    notes: list[str] = []
    purpose = f"{spec['purpose']} {job_mark(spec['job'])}".strip()
    mechanism = build(spec["choice"])
    booking = booking_for(spec["source"], purpose=purpose, user=spec["user"], tell=notes.append)
    assert isinstance(booking, LedgerBooking)
    booking.check(mechanism)
    log = read(spec)
    share = folder / SHARE
    share.mkdir(mode=0o700)
    path = share / f"{spec['stem']}{spec['choice']['suffix']}"
    check_room(path)
    check_price(booking, mechanism, spec)
    drawn = booking.release(mechanism, log)
    certificate = drawn.write(path)
    files = [path.name, certificate_path(path).name]
    for further in (_officer, _picture):
        try:
            files.append(further(drawn, path))
        except Exception as error:  # what is paid for and written must not be lost by it
            notes.append(f"{type(error).__name__}: {error}")
    assert booking.paid is not None
    holds = certificate.guarantee.holds
    return {
        "files": files,
        "entry": booking.paid.entry,
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


def check_price(booking: LedgerBooking, mechanism: Mechanism, spec: dict[str, Any]) -> None:
    """Refuse what takes more or less of the budget by now than when it was confirmed."""
    account = booking.ledger.account(spec["source"])
    if account.cost(mechanism.guarantee()).to_dict() != spec["cost"]:
        raise WebError(
            translate(
                "The source counts in another way than when this was confirmed, and the release "
                "would cost something else. Confirm it again."
            )
        )


def _officer(drawn: Release, path: Path) -> str:
    """The page for the data-protection officer."""
    found, findings = checked(path)
    page = path.with_name(f"{path.name}.certificate.html")
    write_page(page, officer_page(found, findings, file=path.name, entry=entry_of(found)))
    return page.name


def _picture(drawn: Release, path: Path) -> str:
    """A picture of what was released: made of that alone, so it costs nothing more."""
    subject = subject_of(drawn)
    if subject.variants is not None:
        shown = Follows.of_variants(most_frequent(subject.variants, ACTIVITIES))
        picture = draw_follows(shown, each=EACH)
    else:
        picture = draw(drawn.artefact)
    path.with_name("picture.svg").write_text(picture, encoding="utf-8")
    return "picture.svg"
