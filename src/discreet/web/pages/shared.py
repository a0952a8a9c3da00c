"""Pages for both roles: signing in, budgets, releases, requests, certificates, trust."""

from __future__ import annotations

import inspect
import io
import secrets
import zipfile

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import UploadFile

from discreet.audits.audit_tables import shipped_tables
from discreet.errors import DiscreetError
from discreet.language import LanguageError, language, translate
from discreet.releasing.catalogue import mechanism_class, mechanism_names
from discreet.report.pages import render_page
from discreet.web import choosing
from discreet.web.asked import ask_for, asked_of, bring_certificate
from discreet.web.guard import BROWSER, LANGUAGE, SESSION, STILL, cookie_options
from discreet.web.house import House
from discreet.web.pages.common import (
    Anybody,
    Form,
    Inside,
    Steward,
    back_to,
    download,
    page,
    picture,
    status_of,
    text,
    to,
)
from discreet.web.people import REMEMBERED, Person, SignInError
from discreet.web.proofs import proof_lines
from discreet.web.seeing import history_of, own_job, released, releases_of, requests_of
from discreet.web.settings import MissingError, WebError

router = APIRouter(include_in_schema=False)

# Tuned
HISTORY = 200
"""Most entries listed below a budget's curve; the command line and the API list all."""


@router.get("/enter")
def enter(request: Request, house: Inside, key: str = "") -> Response:
    """Start a session by the server's link."""
    if house.settings.team:
        return to("/sign-in")
    try:
        session = house.people.enter(key, local_name())
    except SignInError as error:
        return _entering(request, house, str(error))
    answer = to("/")
    answer.set_cookie(SESSION, session, **cookie_options(house.settings))
    return answer


def local_name() -> str:
    """The name of the user of this computer."""
    from discreet.ledger.entries import user_name

    return user_name()


@router.get("/sign-in")
def sign_in_page(request: Request, house: Inside) -> Response:
    """Show the form for name and password."""
    return _entering(request, house)


def _entering(request: Request, house: House, problem: str = "") -> Response:
    """The page for signing in: by a password, if anyone has one, or by the link."""
    status, known = (403 if problem else 200), house.people.anybody_signs_in()
    return page(request, "enter.html", status, problem=problem, passwords=known)


@router.post("/sign-in")
async def sign_in(request: Request, house: Inside) -> Response:
    """Sign in; another site cannot send this form, since the guard checks its origin."""
    from anyio.to_thread import run_sync

    form = await request.form(max_files=0, max_fields=10)
    name, password = text(form, "name", 200), str(form.get("password", ""))
    browser = request.cookies.get(BROWSER, "")
    try:
        signed_in = await run_sync(
            house.people.sign_in, name, password, browser, limiter=request.app.state.signing_in
        )
    except SignInError as error:
        return _entering(request, house, str(error))
    answer, options = to("/"), cookie_options(house.settings)
    answer.set_cookie(SESSION, signed_in.session, **options)
    answer.set_cookie(BROWSER, signed_in.browser, max_age=int(REMEMBERED), **options)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, house: Inside, person: Anybody, form: Form) -> Response:
    """End the session."""
    house.people.sign_out(request.cookies.get(SESSION, ""), person.name)
    answer = to("/sign-in")
    answer.delete_cookie(SESSION)
    return answer


@router.get("/language/{named}")
def speak(request: Request, house: Inside, named: str, back: str = "/") -> Response:
    """Switch to another language."""
    try:
        spoken = language(named)
    except LanguageError:
        raise MissingError(named) from None
    answer = back_to(back)
    answer.set_cookie(LANGUAGE, spoken, max_age=31536000, **cookie_options(house.settings))
    return answer


@router.get("/jobs/{identity}/status")
def status(request: Request, house: Inside, person: Anybody, identity: str) -> Response:
    """Show the state of a job; the page is reloaded when it is over."""
    job = own_job(house, person, identity)
    answer = page(request, "status.html", job=job)
    if job.over:
        answer.headers["hx-refresh"] = "true"
    return answer


@router.post("/jobs/{identity}/cancel")
def cancel(request: Request, house: Inside, person: Anybody, form: Form, identity: str) -> Response:
    """Cancel a job."""
    job = own_job(house, person, identity)
    house.jobs.cancel(job)
    house.database.note(person.name, "cancelled", f"{job.kind}, job {job.id}")
    return back_to(text(form, "back"))


@router.get("/budgets")
def budgets(request: Request, house: Inside, person: Anybody, source: str = "") -> Response:
    """Show the budgets: what is left, and how it was spent."""
    return budgets_page(request, house, person, source)


def budgets_page(
    request: Request, house: House, person: Person, source: str, problem: str | Exception = ""
) -> Response:
    """The page of budgets, one of them with its curve, and any problem with a form."""
    told = house.budgets_for(person)
    known = told.all()
    shown = source if source in [one.source for one in known] else ""
    rows = history_of(house, person, shown) if shown else []
    return page(
        request,
        "budgets.html",
        status_of(problem),
        budgets=known,
        source=shown,
        seen=told.seen(shown),
        rows=rows[-HISTORY:],
        all=len(rows),
        problem=str(problem),
    )


@router.get("/budgets/plot")
def budget_plot(house: Inside, person: Anybody, source: str) -> Response:
    """Send the curve of a budget, as SVG."""
    drawn = house.budgets_for(person).plot(source)
    return Response(drawn, media_type="image/svg+xml", headers={"content-security-policy": STILL})


@router.get("/releases")
def releases(request: Request, house: Inside, person: Anybody) -> Response:
    """List the releases; analysts see those they asked for."""
    return page(request, "releases.html", releases=releases_of(house, person))


@router.get("/releases/{identity}")
def show_release(request: Request, house: Inside, person: Anybody, identity: str) -> Response:
    """Show a release: finished, or for stewards also one in progress."""
    job = None
    if person.role == "steward":
        job = house.jobs.get(identity)
        if house.release_of(identity=identity) is None:
            if job.kind != "release":
                raise MissingError(translate("There is no such release."))
            return page(request, "releasing.html", job=job)
    row = released(house, person, identity)
    here = job is not None and house.jobs.folder(job.id).is_dir()
    report = house.report(job) if job is not None else None
    return page(request, "release.html", release=row, job=job, raw=here, report=report)


@router.get("/releases/{identity}/bundle")
def bundle(house: Inside, person: Anybody, identity: str) -> Response:
    """Send the released files as one archive."""
    row = released(house, person, identity)
    folder = house.settings.releases / row.id
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in row.summary["files"]:
            archive.write(folder / name, name)
    house.database.note(person.name, "took away", f"{row.source}, release {row.id}")
    name = row.file.partition(".")[0]
    return Response(
        stream.getvalue(),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{name}.zip"'},
    )


@router.get("/releases/{identity}/files/{name}")
def release_file(house: Inside, person: Anybody, identity: str, name: str) -> Response:
    """Send a released file; the officer's page and the picture are shown, all others saved."""
    row = released(house, person, identity)
    if name not in row.summary["files"]:
        raise MissingError(translate("There is no such file."))
    path = house.settings.releases / row.id / name
    if name.endswith(".certificate.html"):
        return HTMLResponse(
            path.read_text(encoding="utf-8"), headers={"content-security-policy": STILL}
        )
    if name == "picture.svg":
        return picture(path)
    return download(path, name)


@router.post("/releases/{identity}/report")
def measure(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Queue a measurement of a release's utility."""
    job = house.jobs.get(released(house, person, identity).job)
    if not house.jobs.folder(job.id).is_dir():
        raise MissingError(translate("This log is not here any more: bring it again."))
    house.measure(job, person)
    return to(f"/releases/{identity}")


@router.get("/releases/{identity}/report")
def report(house: Inside, person: Steward, identity: str) -> Response:
    """Send the steward's own report on a release, as a file marked private."""
    row = released(house, person, identity)
    job = house.report(house.jobs.get(identity))
    if job is None or job.state != "done":
        raise MissingError(translate("The report is gone: it is removed when the server stops."))
    folder, found = house.jobs.folder(job.id), job.result
    listed = [file for picture in found["pictures"] for file in picture["files"]]
    drawn = {file: (folder / file).read_text(encoding="utf-8") for file in listed}
    made = render_page("discreet.web", "report.html", release=row, report=found, drawn=drawn)
    name = f"PRIVATE-report-{row.file.partition('.')[0]}.html"
    return Response(
        made,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


@router.get("/sources")
def sources(request: Request, house: Inside, person: Anybody) -> Response:
    """List what analysts may ask for."""
    return _sources(request, house, person)


def _sources(
    request: Request, house: House, person: Person, problem: str | Exception = ""
) -> Response:
    standing = {one.source: one for one in house.budgets_for(person).all()}
    shown = [
        {
            "id": one.id,
            "source": one.source,
            "about": one.about,
            "at_once": one.at_once,
            "at_once_delta": one.at_once_delta,
            "standing": standing[one.source],
            "what": choosing.words(one.choice["what"])[0],
            "mechanism": one.choice["mechanism"],
            "has_delta": "delta" in choosing.declared_by(one.choice["mechanism"]),
        }
        for one in house.asking.offers()
        if one.source in standing
    ]
    levels = [(one, choosing.short_words(one)) for one in choosing.LEVELS]
    return page(
        request,
        "sources.html",
        status_of(problem),
        offers=shown,
        levels=levels,
        once=secrets.token_hex(16),
        problem=str(problem),
    )


@router.post("/requests")
def ask(request: Request, house: Inside, person: Anybody, form: Form) -> Response:
    """Enter a request for a release; within the steward's limit it spends at once."""
    word = text(form, "once", 64)
    if not word:
        raise WebError(translate("This form is too old: go back, reload the page and try again."))
    try:
        ask_for(
            house,
            person,
            text(form, "offer", 64),
            text(form, "epsilon"),
            text(form, "delta") or "0",
            text(form, "purpose"),
            word,
        )
    except DiscreetError as error:
        return _sources(request, house, person, error)
    return to("/requests")


@router.get("/requests")
def requests(request: Request, house: Inside, person: Anybody) -> Response:
    """List the requests and their states."""
    return requests_page(request, house, person)


def requests_page(
    request: Request, house: House, person: Person, problem: str | Exception = ""
) -> Response:
    """The page of requests, and any problem with a form."""
    offers = house.asking.offers() if person.role == "steward" else []
    return page(
        request,
        "requests.html",
        status_of(problem),
        requests=requests_of(house, person),
        asked=asked_of(house) if person.role == "steward" else {},
        offers=offers,
        rhythm=house.settings.rhythm,
        problem=str(problem),
    )


@router.get("/verify")
def verify_page(request: Request, house: Inside, person: Anybody, job: str = "") -> Response:
    """Show the form for checking a certificate, and the findings of a check."""
    found = own_job(house, person, job) if job else None
    if found is not None and found.state == "done" and not found.result:
        raise MissingError(translate("There is no such page."))
    return page(request, "verify.html", job=found)


@router.post("/verify")
def verify(house: Inside, person: Anybody, form: Form) -> Response:
    """Queue a check of an uploaded release, its certificate or both."""
    sent = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
    files = [(one.filename or "", one.file) for one in sent]
    return to(f"/verify?job={bring_certificate(house, person, files)}")


@router.get("/verify/{identity}/page")
def verified_page(house: Inside, person: Anybody, identity: str) -> Response:
    """Show the officer's page of a checked certificate."""
    job = own_job(house, person, identity)
    path = house.jobs.folder(job.id) / "certificate.html"
    if job.kind != "verify" or not path.is_file():
        raise MissingError(translate("There is no such page."))
    return HTMLResponse(
        path.read_text(encoding="utf-8"), headers={"content-security-policy": STILL}
    )


@router.get("/trust")
def trust(request: Request, person: Anybody, mechanism: str = "") -> Response:
    """Show why a mechanism can be trusted, and what it does not protect."""
    names = mechanism_names()
    name = mechanism if mechanism in names else choosing.SHARED[choosing.usual()].recommended
    owner = mechanism_class(name)
    try:
        promise = owner().guarantee()
        words = promise.explain().splitlines()
    except ValueError:
        words = []
    return page(
        request,
        "trust.html",
        names=names,
        name=name,
        summary=owner.summary,
        paper=owner.paper,
        proof=proof_lines(inspect.getdoc(owner) or ""),
        words=words,
        audits=shipped_tables().about(name),
    )


@router.get("/account")
def account(request: Request, house: Inside, person: Anybody) -> Response:
    """Show the user's own tokens and the form for a new password."""
    tokens = house.people.tokens_of(person)
    return page(request, "account.html", tokens=tokens, fresh="", problem="")


@router.post("/account/tokens")
def token(request: Request, house: Inside, person: Anybody, form: Form) -> Response:
    """Make a token for programs, shown once; or delete one."""
    if text(form, "drop"):
        house.people.drop_token(person, text(form, "drop"))
        return to("/account")
    fresh = house.people.fresh_token(person, text(form, "name", 100) or "token")
    tokens = house.people.tokens_of(person)
    return page(request, "account.html", tokens=tokens, fresh=fresh, problem="")


@router.post("/account/password")
def password(request: Request, house: Inside, person: Anybody, form: Form) -> Response:
    """Change the user's own password."""
    try:
        session = house.people.change_password(
            person, str(form.get("before", "")), str(form.get("fresh", ""))
        )
    except DiscreetError as error:
        tokens = house.people.tokens_of(person)
        return page(request, "account.html", 422, tokens=tokens, fresh="", problem=str(error))
    answer = to("/account")
    answer.set_cookie(SESSION, session, **cookie_options(house.settings))
    return answer
