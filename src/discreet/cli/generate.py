"""The command `discreet generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from discreet.cli.console import print_json, show_written, stage
from discreet.cli.options import Force, Json


def generate(
    model: Annotated[Path, Argument(metavar="MODEL", help="A model written by discreet train.")],
    output: Annotated[
        Path, Option("--output", "-o", help="Where to write: .xes, .csv (both also .gz), .parquet.")
    ],
    cases: Annotated[
        int | None,
        Option(help="How many cases; by default about as many as the model was trained on."),
    ] = None,
    seed: Annotated[
        int | None, Option(help="Draw the same log again. Safe: nothing but the model is read.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw logs from a trained model, as many and as large as you like.

    Everything drawn has the model's guarantee and costs nothing more: the log that the model was
    trained on is not read again. A certificate is written beside (and, where the format allows,
    inside). A model that was changed after its training is refused.

    [bold]Examples[/bold]

      discreet generate model.discreet -o drawn.xes
      discreet generate model.discreet --cases 10000 -o drawn.csv.gz
    """
    from discreet.releases import check_target, check_unused
    from discreet.training.trained_model import load_model

    check_target(output)
    check_unused(output, model, force=force)
    with stage(f"reading {model.name}"):
        trained = load_model(model)
    with stage(f"drawing from {model.name}"):
        drawn = trained.generate(cases, seed=seed)
    with stage(f"writing {output.name}"):
        certificate = drawn.write(output, overwrite=force)
    if as_json:
        print_json({"output": str(output), "certificate": certificate.to_dict()})
    else:
        show_written(certificate, output, drawn.describe())
