"""The public alphabet: which activities a release may speak of.

Mechanisms that invent behaviour need to know the activities without reading the log. They are
given as a file with one label per line, or as a list of labels, and stored in the certificate:
who declares them says that they are public. The text `from-log` takes them from the log instead;
the guarantee then holds only on condition that the set of activities was public anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet.log.events import EventLog, Reads
from discreet.log.variants import Variants
from discreet.mechanisms.base import Fidelity, Mechanism
from discreet.parameters import ParameterError, below_one, parameter
from discreet.privacy.guarantee import Status
from discreet.releases import A_co

FROM_LOG = "from-log"

Alphabet: TypeAlias = "tuple[str, ...] | str | None"
"""Labels, or FROM_LOG, or None where none was given."""


def alphabet_parameter() -> Any:
    """Declare the field `alphabet: tuple[str, ...] | str | None` of a mechanism."""
    return parameter(
        None,
        "the activities that may be named: a file with one label per line, or from-log to take "
        "the log's own (then the guarantee is conditional on that list being public)",
        read=read_alphabet,
        canonical=canonical_alphabet,
    )


def delta_or_alphabet_parameter() -> Any:
    """Declare delta of a mechanism that does without one if the alphabet is public."""
    return parameter(
        1e-6,
        "probability of an exception from epsilon; keep it far below 1/cases. 0 needs an alphabet",
        below_one,
    )


def read_alphabet(text: str) -> tuple[str, ...] | str:
    """The labels of a file with one label per line; `from-log` stays as it is."""
    if text == FROM_LOG:
        return FROM_LOG
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ParameterError(
            f"the alphabet {text!r} cannot be read ({error}); give a UTF-8 text file with one "
            f"activity per line, or {FROM_LOG}"
        ) from error
    return tuple(line for line in (line.rstrip("\r\n") for line in lines) if line.strip())


def required_alphabet(alphabet: Alphabet) -> tuple[str, ...] | str:
    """The alphabet, or an error that says how to supply it where there is none."""
    if alphabet is None:
        raise ParameterError(
            "this mechanism may name activities that are not in the log, so it needs to know the "
            "public list of activities: give --alphabet FILE (one activity per line; in Python "
            f"alphabet=[...]), or --alphabet {FROM_LOG} to declare that the set of activities in "
            "the log is no secret (the certificate then says so)"
        )
    return alphabet


def canonical_alphabet(alphabet: tuple[Any, ...] | str) -> tuple[str, ...] | str:
    """The labels sorted, each once."""
    if isinstance(alphabet, str):
        return alphabet
    if not alphabet:
        raise ParameterError("the alphabet is empty: give at least one activity")
    if not all(isinstance(label, str) for label in alphabet):
        raise ParameterError("the alphabet must be a list of texts, one per activity")
    return tuple(sorted(set(alphabet)))


def labels_of(alphabet: tuple[str, ...] | str, log: Variants) -> tuple[str, ...]:
    """The labels of the alphabet; those of the log, which it reads, for FROM_LOG."""
    if isinstance(alphabet, str):
        used = np.unique(log.codes)
        return tuple(sorted(log.activities[code] for code in used))
    return alphabet


def alphabet_status(alphabet: tuple[str, ...] | str) -> tuple[Status, tuple[str, ...]]:
    """The status of a guarantee that is proved for a public alphabet, and its condition."""
    if isinstance(alphabet, str):
        return "conditional", (
            "the set of activities, which was taken from the log itself and must not be a secret",
        )
    return "proved", (f"the list of {len(alphabet)} activities that was given",)


def projected(log: Variants, labels: tuple[str, ...]) -> Variants:
    """The log without events outside the alphabet, and without the cases that this leaves empty.

    Each case is mapped on its own, without regard to the others. Neighbouring logs therefore stay
    neighbours (or become equal), and what is proved for the projected log under add-remove holds
    for the log itself. Nothing tells afterwards whether something was dropped. Codes of the
    result index `labels`.
    """
    seen = log.through(labels)
    return seen.take(np.flatnonzero(seen.lengths)).merged()


def outside_advice(log: Variants, alphabet: Alphabet) -> list[str]:
    """A warning of events outside the given alphabet, for the holder of the log only."""
    if not isinstance(alphabet, tuple):
        return []
    unknown = sorted(set(labels_of(FROM_LOG, log)) - set(alphabet))
    if not unknown:
        return []
    shown = ", ".join(repr(label) for label in unknown[:5]) + (", …" if len(unknown) > 5 else "")
    return [
        f"{len(unknown)} activities of this log are not in the alphabet; their events are left "
        f"out: {shown}"
    ]


@dataclass(frozen=True, kw_only=True)
class OverAlphabet(Mechanism[A_co]):
    """A mechanism that sees the log through a public alphabet and may name any of its labels."""

    reads: ClassVar[Reads] = "variants"

    delta: float = parameter(
        0.0,
        "probability of an exception from epsilon; 0 for none, else far below 1/cases",
        below_one,
    )
    fidelity: Fidelity = parameter(
        "strict", "strict: the proved form; published: the paper's algorithm, whatever it costs"
    )
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()

    def _validate(self) -> None:
        super()._validate()
        if self.fidelity == "published":
            object.__setattr__(self, "alphabet", self.alphabet or FROM_LOG)
        required_alphabet(self.alphabet)

    @property
    def public_alphabet(self) -> tuple[str, ...] | str:
        """The alphabet, which is always given: labels, or FROM_LOG."""
        return required_alphabet(self.alphabet)

    def _seen(self, log: EventLog) -> Variants:
        """The log seen through the alphabet."""
        return projected(log.variants, labels_of(self.public_alphabet, log.variants))

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        return super().advice(log) + outside_advice(log.variants, self.alphabet)
