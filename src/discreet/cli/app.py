"""The application and its commands, one module each."""

from __future__ import annotations

import inspect as inspection
from collections.abc import Callable
from typing import Annotated

import typer

from discreet.cli import (
    advise,
    audit,
    bench,
    budget,
    certificate,
    compare,
    evaluate,
    generate,
    inspect,
    mechanisms,
    release,
    sample,
    train,
)

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from discreet._version import __version__

        typer.echo(__version__)
        raise typer.Exit


def taught(function: Callable[..., object]) -> str:
    """A docstring as help: paragraphs flow, indented lines (examples) stay as they are."""
    paragraphs = (inspection.getdoc(function) or "").split("\n\n")
    return "\n\n".join(
        text if text.startswith("  ") else text.replace("\n", " ") for text in paragraphs
    )


def discreet(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
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


app.callback(help=taught(discreet))(discreet)
for _command in (
    sample.sample,
    inspect.inspect,
    advise.advise,
    release.release,
    train.train,
    generate.generate,
    mechanisms.mechanisms,
    certificate.certificate,
    audit.audit,
    evaluate.evaluate,
    compare.compare,
    bench.bench,
):
    app.command(help=taught(_command))(_command)

_budget = typer.Typer(no_args_is_help=True, help="What may be spent on a data source, and was.")
for _name, _action in budget.COMMANDS.items():
    _budget.command(_name, help=taught(_action))(_action)
app.add_typer(_budget, name="budget")
