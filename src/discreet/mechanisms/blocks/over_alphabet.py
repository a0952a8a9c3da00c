"""What the mechanisms share that speak of a public alphabet and may do without a delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.artefacts.release import A_co
from discreet.log.events import EventLog, Reads
from discreet.log.variants import Variants
from discreet.mechanisms.base import Fidelity, Mechanism
from discreet.mechanisms.blocks.alphabet import (
    FROM_LOG,
    alphabet_parameter,
    labels_of,
    outside_advice,
    projected,
    required_alphabet,
)
from discreet.parameters import below_one, parameter


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
        """The labels, or from-log."""
        return required_alphabet(self.alphabet)

    def _seen(self, log: EventLog) -> Variants:
        """The log seen through the alphabet."""
        return projected(log.variants, labels_of(self.public_alphabet, log.variants))

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        return super().advice(log) + outside_advice(log.variants, self.alphabet)
