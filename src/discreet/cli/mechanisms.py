"""The command `discreet mechanisms`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from rich.text import Text
from typer import Argument

from discreet.cli.console import err, out, print_json, show_table
from discreet.cli.options import Json, mechanism_names_for_shells


def mechanisms(
    name: Annotated[
        str | None,
        Argument(
            help="One mechanism, in full: parameters, proof, paper.",
            autocompletion=mechanism_names_for_shells,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the mechanisms, or show one with its parameters and its proof.

    The list says what each returns and what it guarantees by default.

    [bold]Examples[/bold]

      discreet mechanisms
      discreet mechanisms travas
    """
    if name is None:
        _all(as_json)
    else:
        _one(name, as_json)


def _all(as_json: bool) -> None:
    from discreet.releasing.catalogue import mechanism_names, mechanism_problems

    for name, problem in mechanism_problems().items():
        err.print(Text(f"left out: {name}: {problem}"), soft_wrap=True)
    rows = [_row(name) for name in mechanism_names()]
    if as_json:
        print_json(rows)
        return
    lines = [[row[key] for key in ("name", "returns", "guarantee", "summary")] for row in rows]
    show_table(("name", "returns", "guarantee by default", "what it does"), lines)


def _row(name: str) -> dict[str, Any]:
    from discreet.releasing.catalogue import mechanism_class

    owner = mechanism_class(name)
    try:
        promise = owner().guarantee()
        stated = f"{promise.status}, {promise.neighbours}"
    except ValueError:
        stated = "depends on its parameters"
    return {
        "name": name,
        "returns": owner.returns,
        "guarantee": stated,
        "summary": owner.summary,
        "paper": owner.paper,
    }


def _one(name: str, as_json: bool) -> None:
    from discreet.releasing.catalogue import mechanism_class

    owner = mechanism_class(name)
    parameters = owner.parameters().values()
    if as_json:
        print_json(
            _row(name)
            | {
                "proof": inspect.getdoc(owner),
                "parameters": [
                    {"name": p.name, "default": p.default, "range": p.range, "help": p.help}
                    for p in parameters
                ],
            }
        )
        return
    out.print(f"[bold]{name}[/bold]: {owner.summary}\n")
    out.print(inspect.getdoc(owner), markup=False)
    out.print()
    show_table(
        ("option", "default", "range", "meaning"),
        [
            (p.option, "none" if p.default is None else str(p.default), p.range, p.help)
            for p in parameters
        ],
    )
    out.print(f"\n{owner.paper}", markup=False)
