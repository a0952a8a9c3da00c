"""The command `discreet train`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from discreet.cli.console import complain, err, out, print_json, show_promise, stage, steward_note
from discreet.cli.options import (
    Json,
    LogPath,
    Seed,
    TakesOptions,
    given_parameters,
    mechanism_option,
    request_of,
)

if TYPE_CHECKING:
    from discreet.mechanisms.trained.base import Generative
    from discreet.training.checkpoint import Progress, StoppedError

# Tuned
LINES_EVERY = 10.0
"""Seconds between lines of progress without a terminal."""
UPDATE_EVERY = 0.3
"""Seconds between updates of the progress on a terminal."""


@TakesOptions(parameters=True, booking=True, default="sequence")
def train(
    log: LogPath,
    output: Annotated[
        Path, Option("--output", "-o", help="Where to write the model: NAME.discreet.")
    ],
    mechanism: Annotated[
        str,
        mechanism_option(
            "ddpm, sequence or travag; with --help after it, its own parameters are shown."
        ),
    ] = "sequence",
    insecure_seed: Seed = None,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Train a model under differential privacy, once; then draw any number of logs from it.

    The model's file carries its certificate. Logs drawn from it by `discreet generate` have the
    same guarantee and cost nothing more.

    Training may be interrupted (Ctrl-C) and survives a crash: meanwhile it is kept in
    NAME.discreet.checkpoint, and the same command resumes from there. It is paid for once, before
    its first step. The checkpoint is as secret as the log, and so is what is printed on standard
    error.

    [bold]Examples[/bold]

      discreet train log.xes -o model.discreet --epsilon 1 --delta 1e-6
      discreet train log.xes -o model.discreet --mechanism ddpm --epsilon 1 --delta 1e-6
      discreet train log.xes -o model.discreet --source hospital-a --purpose "yearly report"
      discreet generate model.discreet --cases 10000 -o drawn.xes
    """
    from discreet.releasing.request import Product
    from discreet.releasing.way import carry_out
    from discreet.training.checkpoint import StoppedError

    product = Product(mechanism, given_parameters(values), model=True)
    request = request_of(log, output, product, values, insecure_seed)
    try:
        outcome = carry_out(request, tell=steward_note, progress=stage, watch=_progress)
    except StoppedError as stopped:
        _explain(stopped)
        raise typer.Exit(128 + stopped.by) from None
    certificate = outcome.certificate
    assert certificate is not None
    if as_json:
        print_json({"output": str(output), "certificate": certificate.to_dict()})
        return
    show_promise(certificate)
    out.print(f"Written: {output}", markup=False)
    out.print(f"Draw logs from it: discreet generate {output} -o drawn.xes", markup=False)


def _explain(stopped: StoppedError) -> None:
    complain(
        f"stopped; the training is kept in {stopped.path} and paid for. Run the same command "
        "again to resume it. Until then keep that file as secret as the log"
    )


@contextmanager
def _progress(mechanism: Generative) -> Iterator[Callable[[Progress], None]]:
    """Show loss, ε so far and time left: continuously on a terminal, else a line now and then."""
    from rich import progress as rich

    meter = _Meter(mechanism)
    columns = (rich.TextColumn("training"), rich.BarColumn(), rich.TextColumn("{task.description}"))
    quiet = not err.is_terminal
    with rich.Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task("", total=meter.total)

        def show(progress: Progress) -> None:
            text = meter.read(progress, LINES_EVERY if quiet else UPDATE_EVERY)
            if text is None:
                return
            if quiet:
                err.print(f"training: {text}", markup=False, soft_wrap=True)
            else:
                bar.update(task, completed=meter.done, description=text)

        yield show


class _Meter:
    """Describes a training's progress, no more often than anyone would read it."""

    def __init__(self, mechanism: Generative) -> None:
        self._mechanism = mechanism
        self._planned = {name for name, plan in mechanism.plans.items() if plan.steps > 1}
        self.total = sum(mechanism.plans[name].steps for name in self._planned)
        self.done = 0
        self._first: tuple[float, int] | None = None
        self._last = float("-inf")

    def read(self, progress: Progress, every: float) -> str | None:
        """Return the text to show now, if any."""
        now = monotonic()
        self.done = sum(n for name, n in progress.taken.items() if name in self._planned)
        if self._first is None:
            self._first = now, self.done
        if now - self._last < every and self.done < self.total:
            return None
        self._last = now
        spent = self._mechanism.epsilon_so_far(progress.taken)
        text = f"{progress.network} {progress.done:,}/{progress.steps:,}, ε so far {spent:.3g}"
        if progress.loss == progress.loss:
            text += f", loss {progress.loss:.4g} (not for publication)"
        begun, before = self._first
        if before < self.done < self.total:
            left = (now - begun) / (self.done - before) * (self.total - self.done)
            text += f", about {_duration(left)} left"
        return text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
