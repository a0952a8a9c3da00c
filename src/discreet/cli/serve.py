"""The command `discreet serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from discreet.cli.console import out

if TYPE_CHECKING:
    from discreet.web.house import House
    from discreet.web.settings import Settings

PORT = 8765
DEMO = "sample hospital"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    logs: Annotated[
        Path | None, Argument(metavar="FOLDER", help="A folder of logs to choose from.")
    ] = None,
    host: Annotated[
        str, Option(help="The address to listen on; others than this computer's need users.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on.", min=1, max=65535)] = PORT,
    name: Annotated[
        list[str] | None,
        Option(help="For a team: a name under which browsers reach it; may be repeated."),
    ] = None,
    team: Annotated[bool, Option("--team", help="People sign in by name and password.")] = False,
    plain: Annotated[
        bool, Option("--plain-http", help="For a team: no HTTPS in front. Passwords are readable.")
    ] = False,
    folder: Annotated[
        Path | None, Option(help="Where the server keeps its things; private to it.")
    ] = None,
    database: Annotated[
        str | None, Option(help="Keep people, jobs and requests in this PostgreSQL, by its URL.")
    ] = None,
    workers: Annotated[int, Option(help="Jobs at a time.", min=1)] = 2,
    memory: Annotated[float, Option(help="GiB that a job may take.", min=1)] = 8.0,
    minutes: Annotated[float, Option(help="How long a job may take.", min=0.1)] = 60.0,
    upload: Annotated[float, Option(help="GiB of the largest upload.", min=0.001)] = 2.0,
    demo: Annotated[
        bool, Option("--demo", help="Show everything with a sample log; keeps nothing.")
    ] = False,
) -> None:
    """Open the web app: release a log step by step, or answer what analysts ask for.

    By default only this computer reaches it, by a link that works once. Raw logs are read in
    processes of their own, kept in a private folder and deleted when the server stops.

    [bold]Examples[/bold]

      discreet serve
      discreet serve --demo
      discreet serve /data/logs
      discreet serve /data/logs --team --host 0.0.0.0 --name discreet.hospital.example
    """
    import tempfile

    from discreet.ledger.location import data_folder, locate
    from discreet.web.settings import GIB, LOCAL, Settings, WebError

    _check_extra()
    outside = host not in LOOPBACK
    if outside and not (team and name):
        raise WebError(
            f"on {host} everybody in the network reaches the server: add --team, so that people "
            "sign in, and --name with the name that browsers use"
        )
    if logs is not None and not logs.is_dir():
        raise WebError(f"{logs} is not a folder; name a folder of logs, or leave it out")
    kept = None if database is None else locate(database)
    if kept is not None and kept.file is not None:
        raise WebError(
            f"--database takes the URL of a PostgreSQL, not {database}; without it, all is kept in "
            "a file in the folder that --folder names"
        )
    temporary = tempfile.TemporaryDirectory(prefix="discreet-demo-") if demo else None
    place = Path(temporary.name) if temporary else folder or data_folder() / "web"
    settings = Settings(
        folder=place.absolute(),
        logs=_sample(place / "samples") if demo else logs and logs.absolute(),
        ledger=locate(place / "ledger.db") if demo else locate(),
        database=None if kept is None else kept.url,
        hosts=(*LOCAL, *(one.lower() for one in name or ())),
        team=team,
        secure=team and not plain,
        workers=workers,
        memory=int(memory * GIB),
        seconds=60 * minutes,
        upload=int(upload * GIB),
        rhythm=5 if demo else 60,
    )
    try:
        _open(settings, host, port, demo)
    finally:
        if temporary is not None:
            temporary.cleanup()


def _open(settings: Settings, host: str, port: int, demo: bool) -> None:
    from discreet.web.app import bound
    from discreet.web.app import serve as answer
    from discreet.web.house import House

    with bound(host, port) as place:
        house = House(settings)
        try:
            _tell(settings, host, port, house, demo)
            answer(settings, place, house)
        finally:
            house.stop()


def _tell(settings: Settings, host: str, port: int, house: House, demo: bool) -> None:
    """Print how to sign in."""
    from discreet.web.settings import WebError

    if settings.team and not house.people.anybody_signs_in("steward"):
        raise WebError(
            "nobody can sign in yet: start once without --team and with the same --folder, open "
            "the link, and let a steward in under People"
        )
    password = _demonstrate(house) if demo else ""
    shown = "localhost" if host in ("127.0.0.1", "::1") else host
    if settings.team:
        out.print(f"Sign in: http://{shown}:{port}/", markup=False)
    else:
        link = house.people.fresh_link()
        out.print("Open this link; it works once:", markup=False)
        out.print(f"  http://{shown}:{port}/enter?key={link}", markup=False, soft_wrap=True)
    if password:
        out.print(
            "To be an analyst as well, sign in there in a private window:\n"
            f"  name analyst, password {password}",
            markup=False,
        )
    out.print("Stop with Ctrl-C: uploaded logs are deleted then.", markup=False)


def _check_extra() -> None:
    from importlib.util import find_spec

    from discreet.web.settings import WebError

    missing = [one for one in ("fastapi", "uvicorn", "argon2", "multipart") if not find_spec(one)]
    if missing:
        raise WebError(f"the web app needs {', '.join(missing)}: pip install 'discreet[web]'")


def _sample(folder: Path) -> Path:
    """Write a sample log into the folder and return the folder."""
    from discreet.log.samples import sample_log
    from discreet.log.writing import write_log

    folder.mkdir(mode=0o700)
    write_log(sample_log("hospital", cases=2000, seed=1), folder / "hospital.xes")
    return folder


def _demonstrate(house: House) -> str:
    """Set up a budget, a log that is chosen and offered, and an analyst; return the password."""
    import secrets

    from discreet.web.choosing import chosen

    house.budgets.set("demo", DEMO, {"epsilon": "3", "delta": "1e-5"})
    log = house.logs.choose("demo", "hospital.xes")
    house.logs.set_choice(log, chosen({"parameters": {"epsilon": 1.0}}))
    log = house.logs.get(log.id)
    house.asking.offer("demo", DEMO, log, "Patients of a sample hospital", 0.5, 2e-6)
    password = secrets.token_urlsafe(12)
    house.people.add("demo", "analyst", "analyst", password)
    return password
