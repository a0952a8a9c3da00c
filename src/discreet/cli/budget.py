"""The commands `discreet budget`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from discreet.cli.console import out, print_json, show_table
from discreet.cli.options import Json

if TYPE_CHECKING:
    from discreet.ledger.account import Account

Source = Annotated[str, Argument(metavar="SOURCE", help="The data source's name.")]
AnySource = Annotated[
    str | None, Argument(metavar="SOURCE", help="One data source; by default all.")
]
Purpose = Annotated[str, Option(help="Why; kept in the ledger.")]


def set_budget(
    source: Source,
    epsilon: Annotated[float, Option(help="What all releases together may cost: epsilon.")],
    delta: Annotated[float, Option(help="And delta; 0 admits only pure releases.")],
    filter: Annotated[
        Literal["best", "basic", "zcdp", "gdp", "advanced"],
        Option(
            help="How costs add up. basic: by sums; zcdp: by squares, for many small or Gaussian "
            "releases; best: either, with half of delta each. Fixed with the first release."
        ),
    ] = "best",
    neighbours: Annotated[
        Literal["add-remove", "swap"],
        Option(help="Protect against adding or removing one, or replacing one."),
    ] = "add-remove",
    unit: Annotated[Literal["case", "individual"], Option(help="Whom the cap protects.")] = "case",
    raised: Annotated[
        bool, Option("--raise", help="Needed to set a cap higher than before.")
    ] = False,
    purpose: Purpose = "",
    as_json: Json = False,
) -> None:
    """Set what all releases of a data source may spend; begins the ledger if there is none.

    A source is a population that you name, not a file: a log that has grown or was edited is
    still the same source.

    [bold]Examples[/bold]

      discreet budget set hospital-a --epsilon 3 --delta 1e-5
      discreet budget set hospital-a --epsilon 4 --delta 1e-5 --raise --purpose "board, 3 May"
    """
    from discreet.ledger.errors import LedgerError
    from discreet.ledger.ledger import Ledger
    from discreet.privacy.guarantee import Budget

    try:
        cap = Budget(epsilon, delta)
    except ValueError as error:
        raise LedgerError(str(error)) from error
    with Ledger(create=True) as ledger:
        account = ledger.set_budget(
            source,
            cap,
            filter=filter,
            neighbours=neighbours,
            unit=unit,
            raised=raised,
            purpose=purpose,
        )
    if as_json:
        print_json(_facts(source, account))
    else:
        out.print(f"{source}: {account.left()}.", markup=False)


def show(source: AnySource = None, as_json: Json = False) -> None:
    """Show what every source may spend and what is left.

    "Used" refers to the filter that has the most left. It is a share of the cap, not a statement of
    the privacy lost so far: only the cap is a guarantee.

    [bold]Examples[/bold]

      discreet budget show
      discreet budget show hospital-a --json
    """
    from discreet.ledger.ledger import Ledger

    with Ledger() as ledger:
        accounts = ledger.accounts() if source is None else {source: ledger.account(source)}
    if as_json:
        print_json([_facts(name, account) for name, account in accounts.items()])
        return
    lines = []
    for name, account in accounts.items():
        room = [f"ε ≤ {e:.4g}, δ ≤ {d:.3g}" for e, d in account.room().values() if e]
        cap = f"{account.cap}\n{account.neighbours}, {account.unit}"
        used, following = f"{100 * account.used:.0f}%", "\nor ".join(room) or "nothing left"
        lines.append((name, cap, account.filter, str(account.releases), used, following))
    show_table(("source", "cap", "filter", "releases", "used", "next release"), lines)


def history(source: AnySource = None, as_json: Json = False) -> None:
    """List what was booked, oldest first: when, by whom, what for, at what cost.

    [bold]Examples[/bold]

      discreet budget history hospital-a
      discreet budget history --json
    """
    from discreet.ledger.ledger import Ledger

    with Ledger() as ledger:
        rows = ledger.history(source)
    if as_json:
        print_json(rows)
        return
    heads = ("no.", "time (UTC)", "source", "user", "what", "ε", "δ", "purpose")
    show_table(heads, map(_line, rows))


def verify(
    head: Annotated[str | None, Option(help="A head that was noted or exported earlier.")] = None,
    as_json: Json = False,
) -> None:
    """Check that no entry was changed, removed or moved, and that no cap was passed.

    Keep the head that this prints in another place, such as with the data-protection officer: with
    --head it also finds a ledger that was rewritten as a whole. Exit code 1 if something is wrong.

    [bold]Examples[/bold]

      discreet budget verify
      discreet budget verify --head 5f2c...
    """
    from discreet.ledger.ledger import Ledger

    with Ledger() as ledger:
        found, problems = ledger.verify(head)
    if as_json:
        print_json({"entries": found.count, "head": found.hash, "problems": problems})
    else:
        for problem in problems:
            out.print(f"✗ {problem}", markup=False)
        if not problems:
            out.print(f"✓ {found.count:,} entries, each as it was written", markup=False)
        out.print(f"head: {found.hash}", markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def export(
    output: Annotated[Path, Option("--output", "-o", help="A .csv or .json file.")],
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write the ledger to a file for the data-protection officer.

    JSON holds every entry word for word with its hash, so that the chain can be checked again; CSV
    is for reading. Fingerprints of logs never leave the ledger.

    [bold]Examples[/bold]

      discreet budget export -o ledger.csv
      discreet budget export -o ledger.json
    """
    from discreet.ledger.errors import LedgerError
    from discreet.ledger.ledger import Ledger, as_csv, as_document
    from discreet.log.files import atomic_write
    from discreet.releases import check_unused

    suffix = output.suffix.lower()
    if suffix not in (".csv", ".json"):
        raise LedgerError(f"{output.name}: the ledger is exported as .csv or .json")
    check_unused(output, force=force)
    with Ledger() as ledger:
        exported = ledger.export()
    content = as_csv(exported) if suffix == ".csv" else as_document(exported)
    with atomic_write(output) as stream:
        stream.write(content)
    if as_json:
        print_json({"output": str(output), "head": exported["head"]})
    else:
        out.print(f"Written: {output} ({exported['head']['entries']:,} entries)", markup=False)


def clock(purpose: Purpose = "", as_json: Json = False) -> None:
    """Continue from the present time if the clock was ahead when something was booked.

    Otherwise nothing is booked until that time has come. The history keeps a note of it.

    [bold]Example[/bold]

      discreet budget clock --purpose "the laptop's clock was a year ahead"
    """
    from discreet.ledger.ledger import Ledger

    with Ledger() as ledger:
        entry = ledger.accept_clock(purpose=purpose)
    time = entry.content()["time"]
    if as_json:
        print_json({"time": time})
    else:
        out.print(f"The ledger continues from {time}.")


COMMANDS: dict[str, Callable[..., None]] = {
    "set": set_budget,
    "show": show,
    "history": history,
    "verify": verify,
    "export": export,
    "clock": clock,
}


def _facts(source: str, account: Account) -> dict[str, Any]:
    room = {name: {"epsilon": e, "delta": d} for name, (e, d) in account.room().items()}
    return {"source": source, **account.to_dict(), "used": account.used, "next": room}


def _line(row: dict[str, Any]) -> list[str]:
    """One entry as a line of the history."""
    epsilon = delta = ""
    if row["kind"] == "release":
        what = row["mechanism"] + ("" if row["certificate"] else " (not noted as written)")
        holds = row["guarantee"]["holds"]
        epsilon, delta = f"{holds['epsilon']:.4g}", f"{holds['delta']:.3g}"
    elif row["kind"] == "budget":
        what = "cap"
        epsilon, delta = f"{row['account']['epsilon']:.4g}", f"{row['account']['delta']:.3g}"
    else:
        what = "clock set right"
    time = row["time"][:19].replace("T", " ")
    number, source, user = str(row["number"]), row["source"], row["user"]
    return [number, time, source, user, what, epsilon, delta, row["purpose"]]
