"""The application and its commands, one module each."""

from __future__ import annotations

import inspect as inspection
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer import Option

from discreet.cli import budget
from discreet.cli.options import extended
from discreet.language import VARIABLE
from discreet.language import language as known_language


def _version(asked: bool) -> None:
    if asked:
        from discreet._version import __version__

        typer.echo(__version__)
        raise typer.Exit


def _language(named: str | None) -> str | None:
    if named:
        known_language(named)
        os.environ[VARIABLE] = named
    return named


def taught(function: Callable[..., object]) -> str:
    """Format a docstring as help: paragraphs flow, indented lines (examples) stay as they are."""
    paragraphs = (inspection.getdoc(function) or "").split("\n\n")
    return "\n\n".join(
        text if text.startswith("  ") else text.replace("\n", " ") for text in paragraphs
    )


def discreet(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    language: Annotated[
        str | None,
        Option(
            envvar=VARIABLE, callback=_language, help="Language of promises and pages: en or de."
        ),
    ] = None,
) -> None:
    """Share an event log without giving away the people in it.

    Reads a log, releases it under differential privacy, and writes a certificate that says what
    is promised and what it rests on.

    [bold]Try it:[/bold]

      discreet sample hospital -o hospital.xes
      discreet inspect hospital.xes
      discreet advise hospital.xes
      discreet release hospital.xes -o shared.xes --mechanism travas --epsilon 1 --delta 1e-6
      discreet certificate shared.xes
      discreet evaluate hospital.xes shared.xes
    """


COMMANDS = (
    *("sample", "inspect", "advise", "release", "expand", "train", "generate", "mechanisms"),
    *("certificate", "audit", "evaluate", "compare", "bench", "serve"),
)
"""Names of the commands; each is a function in a module of the same name."""

LEDGER = "budget"
"""Name of the group of commands on what may be spent."""


def build(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the application, with the options that its commands have for these arguments.

    If the arguments begin with a command, no other is built: there are hundreds of options in all.
    """
    called = set(arguments[:1]) & {*COMMANDS, LEDGER}
    app = typer.Typer(
        name="discreet",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=taught(discreet))(discreet)
    for name in called & set(COMMANDS) if called else COMMANDS:
        command = getattr(import_module(f"discreet.cli.{name}"), name)
        app.command(help=taught(command))(extended(command, arguments))
    if not called or LEDGER in called:
        app.add_typer(_ledger(arguments), name=LEDGER)
    return app


def _ledger(arguments: Sequence[str]) -> typer.Typer:
    ledger = typer.Typer(
        no_args_is_help=True, help="What each data source may spend, and has spent."
    )
    for name, action in budget.COMMANDS.items():
        ledger.command(name, help=taught(action))(extended(action, arguments))
    return ledger
