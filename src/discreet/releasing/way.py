"""The one way of a release: `carry_out` takes a request from its words to the file it asks for.

    1 build   2 afford   3 read   4 check   5 warn   6 recognise   7 pay   8 draw   9 write
    10 confirm

Steps 1 and 2 read nothing but public words and refuse what they can. Step 7 spends, so a failure
from then on says what stands. A log is recognised only after it was checked, since that
leaves a note on the ledger; its warning still comes before anything is spent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from discreet.errors import DiscreetError, warn
from discreet.log.engines.capacity import choose_engine
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.files import files_of, origin_of
from discreet.log.formats.variant_tables import is_variant_table
from discreet.log.loading import read_as
from discreet.log.reading import Reading
from discreet.mechanisms.base import Mechanism
from discreet.parameters import ParameterError
from discreet.releases import Release, check_room, check_target, check_unused
from discreet.releasing.booking import Booking, Tell, Warn, booking_for, silent
from discreet.releasing.request import Payment, Product, Request, RequestError

if TYPE_CHECKING:
    from discreet.certificate import Certificate
    from discreet.mechanisms.trained.base import Generative
    from discreet.training.run import Show
    from discreet.training.trained_model import TrainedModel

End = Literal["afford", "warn", "draw", "confirm"]
"""The last step taken: a rehearsal, a look, a release in memory, or a file."""

Stage = Callable[[str], AbstractContextManager[None]]
"""Shows that a step is running."""

Watch: TypeAlias = "Callable[[Generative], AbstractContextManager[Show | None]]"
"""Shows the progress of a training."""


def unseen(text: str) -> AbstractContextManager[None]:
    """Show no progress."""
    return nullcontext()


def unwatched(mechanism: Generative) -> AbstractContextManager[None]:
    """Show no progress of a training."""
    return nullcontext()


@dataclass
class Outcome:
    """How far a request was carried out, and its results."""

    request: Request
    mechanism: Mechanism
    """The mechanism for the log; before the log is read, the one asked for."""
    booking: Booking
    warned: bool = False
    release: Release | None = None
    model: TrainedModel | None = None
    certificate: Certificate | None = None
    """The certificate of the file, once it is written."""


class RescuedError(DiscreetError):
    """A release could not be written to its place, and lies somewhere else."""

    def __init__(self, reason: str, place: Path) -> None:
        super().__init__(f"{reason}; what was drawn is not lost: it was written to {place}")
        self.reason, self.place = reason, place


def carry_out(
    request: Request,
    *,
    data: Any = None,
    tell: Tell = silent,
    warn: Warn | None = None,
    progress: Stage = unseen,
    watch: Watch = unwatched,
    until: End = "confirm",
) -> Outcome:
    """Carry out a release or training; spends, unless it is not booked or stops before.

    `data` is the log if it is in memory already. `tell` gets what the holder of the log may want to
    know, `warn` what should be thought about before the release; without `warn`, `tell` gets that
    too. `watch` shows a training as it runs. Until "afford" nothing is read, until "warn" nothing
    spent or written.
    """
    given = request.log if data is None else data
    if given is None:
        raise RequestError("this request names no log, and none was given with it")
    chosen = request.resolved()
    outcome = _afford(request, chosen.mechanism, given, tell, warn, until)
    if until == "afford":
        return outcome
    log = read(given, chosen.reading(request.reading), tell=tell, progress=progress)
    mechanism = outcome.mechanism = chosen.of(log)
    if until == "confirm" and request.output is not None and not request.product.model:
        check_room(request.file, log.events)
    outcome.warned = _warn(outcome, log)
    if until == "warn":
        return outcome
    if request.product.model:
        return _train(outcome, log, watch)
    outcome.booking.recognise(log)
    with _what_stands(outcome.booking):
        with progress(f"releasing with {mechanism.name}"):
            outcome.release = outcome.booking.draw(mechanism, log, request.seed)
        if until == "confirm" and request.output is not None:
            with progress(f"writing {request.file.name}"):
                outcome.certificate = _write(outcome.release, request)
    return outcome


def _afford(
    request: Request, mechanism: Mechanism, given: Any, tell: Tell, warn: Warn | None, until: End
) -> Outcome:
    """Refuse on public grounds: whom it protects, where it is written, what the budget bears."""
    if until != "warn" and not request.product.cases_alone:
        mechanism.check_people(request.reading.individual)
    if request.output is not None:
        _check_output(request, mechanism, given)
    if not request.payment.allow_weak:
        mechanism.target.refuse_if_too_weak()
    booking = _booking(request.payment, tell, warn)
    if not _begun(request):
        booking.check(mechanism, seeded=request.seed is not None)
    return Outcome(request, mechanism, booking)


def _booking(payment: Payment, tell: Tell, warn: Warn | None) -> Booking:
    return booking_for(
        payment.source,
        purpose=payment.purpose,
        bypass=payment.bypassed,
        user=payment.user,
        cost=payment.cost,
        tell=tell,
        warn=warn,
    )


def _check_output(request: Request, mechanism: Mechanism, given: Any) -> None:
    """Refuse a file that could not hold what the mechanism releases, or would replace another."""
    assert request.output is not None
    suffixes, file = mechanism.suffixes, request.file
    if request.product.model:
        from discreet.training.run import trainable
        from discreet.training.trained_model import SUFFIX

        trainable(mechanism)
        suffixes = (SUFFIX,)
    check_target(file, suffixes)
    if is_variant_table(file) and mechanism.returns != "variants":
        raise LogError(
            f"{mechanism.name} releases a {mechanism.returns}, of which {file.name} would "
            "keep the variants only; use a name that does not end in .variants.parquet"
        )
    origin = given.origin if isinstance(given, EventLog) else origin_of(given)
    check_unused(file, *origin, force=request.output.overwrite)
    check_room(file)


def _begun(request: Request) -> bool:
    """Whether this is a training that was begun, and paid for, before."""
    if not request.product.model or request.output is None:
        return False
    from discreet.training.checkpoint import checkpoint_path

    return checkpoint_path(request.file).exists()


def read(data: Any, reading: Reading, *, tell: Tell = silent, progress: Stage = unseen) -> EventLog:
    """Read the log, and tell what reads it, what was left out and how times were read."""
    if isinstance(data, EventLog):
        return data
    if isinstance(data, str | os.PathLike) and not _elsewhere(data):
        choice = choose_engine(files_of(Path(data)), reading.engine, reading.memory)
        reading = replace(reading, engine=choice.engine)
        if choice.reason:
            tell(f"Reading with the engine {choice.engine}: {choice.reason}.")
    with progress(f"reading {_name(data)}"):
        log = read_as(data, reading)
    if log.left_out.events:
        lost = zip(log.left_out, ("case", "event"), strict=True)
        shown = ", ".join(f"{n:,} {word}{'s' if n != 1 else ''}" for n, word in lost)
        tell(f"left out because values are missing: {shown}")
    for note in log.clocks.notes(reading.zone):
        tell(note)
    return log


def _elsewhere(data: str | os.PathLike[str]) -> bool:
    """Whether the data are standard input or the address of a database."""
    text = os.fspath(data)
    return text == "-" or re.match(r"[A-Za-z][A-Za-z0-9+]+://", text) is not None


def _name(data: Any) -> str:
    return Path(data).name if isinstance(data, str | os.PathLike) else "the log"


def _warn(outcome: Outcome, log: EventLog) -> bool:
    """Refuse what the log lacks, then warn its holder; return whether there was a warning."""
    mechanism, booking = outcome.mechanism, outcome.booking
    mechanism.check(log)
    return booking.advise(mechanism, log)


@contextmanager
def _what_stands(booking: Booking) -> Iterator[None]:
    """Say, if something is stopped or fails, what was spent and what to do."""
    try:
        yield
    except RescuedError:
        raise
    except BaseException as error:
        error.add_note(booking.standing())
        raise


def _write(released: Release, request: Request) -> Certificate:
    """Write the release, or else write it elsewhere, since it cannot be drawn again."""
    try:
        assert request.output is not None
        return released.write(request.file, overwrite=request.output.overwrite)
    except Exception as error:
        found = released.rescue(request.file)
        if found is None:
            raise
        raise RescuedError(str(error) or type(error).__name__, found[0]) from error


def _train(outcome: Outcome, log: EventLog, watch: Watch) -> Outcome:
    """Train, which spends, or finish what was stopped; then write the model and confirm."""
    from discreet.training.run import trainable

    mechanism, booking = trainable(outcome.mechanism), outcome.booking
    output, seed = outcome.request.file, outcome.request.seed
    with watch(mechanism) as show:
        trained = booking.train(mechanism, log, output, seed=seed, show=show)
    outcome.model, outcome.certificate = trained.model, trained.certificate
    return outcome


def try_out(request: Request, log: EventLog) -> Release:
    """Draw once for the holder of the log; spends nothing, so the release must never leave."""
    return request.resolved().of(log).release(log, insecure_seed=request.seed)


def release(
    log: EventLog | pl.DataFrame | pl.LazyFrame | str | os.PathLike[str] | Any,
    mechanism: str | None = None,
    *,
    epsilon: float = 1.0,
    times: bool | None = None,
    attributes: Sequence[str] = (),
    source: str | None = None,
    purpose: str = "",
    no_ledger: bool = False,
    allow_weak: bool = False,
    insecure_seed: int | None = None,
    **options: Any,
) -> Release:
    """Release a log, a frame or a file under differential privacy; spends if it is booked.

    With `times` the variants are completed into a whole log; `attributes` are columns to release
    with it, such as `"org:resource"` or `"case:amount:number"`. Where no mechanism is named,
    variants are headtail's, and times come with them if the log has any, unless `times=False`.

    What the holder of the log should know before it is released comes as a `DiscreetWarning`;
    made an error by a filter, it stops the release before anything is spent.

    `options` are parameters of the mechanism (`delta`, `alphabet`, …) and, unless `log` has been
    read already, options of `read_log` (`case`, `activity`, `individual`, …). As on the command
    line, where there is a ledger a release is booked on a `source`, or says `no_ledger`, and a
    budget that protects hardly anybody is refused unless `allow_weak`. `write` of what comes back
    notes on the ledger that it was written.

    Where a column looks as if it named people and single cases are protected, a PeopleWarning says
    so to the holder of the log; a TransitionsWarning, where starts and completions are read as
    events of their own.

    >>> import discreet
    >>> rows = discreet.sample_log("permits", cases=2000, seed=1).to_polars()
    >>> people = {"individual": "case:person", "cases_per_individual": 2}
    >>> release = discreet.release(rows, epsilon=1, delta=1e-6, no_ledger=True, **people)
    >>> release.guarantee.bound()
    "ε = 1, δ = 1e-06 for any one person (column 'case:person', at most 2 cases each)"
    """
    reading = {name: options.pop(name) for name in Reading.parameters() if name in options}
    if reading and isinstance(log, EventLog):
        raise ParameterError(
            f"{', '.join(reading)}: how a log is read is decided by then; give it to read_log"
        )
    given = {"epsilon": epsilon, **options}
    if attributes:
        given["attributes"] = tuple(attributes)
    place = os.fspath(log) if isinstance(log, str | os.PathLike) else None
    request = Request(
        log=place,
        reading=Reading(**reading),
        product=Product(mechanism, given, times),
        payment=Payment(source, purpose, bypassed=no_ledger, allow_weak=allow_weak),
        seed=insecure_seed,
    )
    data = log if place is None else None
    drawn = carry_out(request, data=data, warn=warn, until="draw").release
    assert drawn is not None
    return drawn
