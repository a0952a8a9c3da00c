"""Where random bits come from: the operating system, or a seed for tests and experiments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers

Words = npt.NDArray[np.uint64]


class Randomness:
    """A source of independent uniform 64-bit words, and exact uniform choices made of them.

    Nothing is buffered, so a forked process never repeats its parent's words.
    """

    def __init__(self, words: Callable[[int], Words], *, secure: bool) -> None:
        self._words = words
        self.secure = secure

    @classmethod
    def system(cls) -> Randomness:
        """Return the operating system's generator: the only source fit for a private release."""
        return cls(lambda size: np.frombuffer(os.urandom(8 * size), np.uint64), secure=True)

    @classmethod
    def seeded(cls, insecure_seed: int) -> Randomness:
        """Return a reproducible source, for tests and experiments; its releases are not private."""
        return cls(np.random.Philox(insecure_seed).random_raw, secure=False)

    def __repr__(self) -> str:
        return f"Randomness(secure={self.secure})"

    def words(self, size: int) -> Words:
        """Return `size` independent uniform words."""
        return self._words(size)

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits."""
        size = -(-count // 64)
        return int.from_bytes(self.words(size).tobytes(), "little") >> 64 * size - count

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), of any size."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1, not {bound}")
        while (value := self.bits((bound - 1).bit_length())) >= bound:
            pass
        return value

    def integers(self, bound: int | Integers, size: int) -> Integers:
        """Return `size` independent uniform integers in [0, bound), bound ≤ 2⁶³, one or for each.

        Words in the last, incomplete run of `bound` values are drawn again.
        """
        bounds = np.array(bound, np.uint64, ndmin=1)
        if bounds.size and not (bounds.min() >= 1 and bounds.max() <= 1 << 63):
            raise ValueError(f"bound must lie between 1 and 2**63, not {bound}")
        last = ~((~bounds + np.uint64(1)) % bounds)  # 2⁶⁴ − 1 − 2⁶⁴ mod bound
        words = self.words(size)
        while (outside := np.flatnonzero(words > last)).size:
            words = words.copy()
            words[outside] = self.words(outside.size)
        return (words % bounds).astype(np.int64)

    def permutation(self, size: int) -> Integers:
        """Return a uniform ordering of 0 … size-1: that of random keys, redrawn on a tie."""
        while True:
            keys = self.words(size)
            order = np.argsort(keys)
            ranked = keys[order]
            if not (ranked[1:] == ranked[:-1]).any():
                return order.astype(np.int64)


_known: ContextVar[Randomness | None] = ContextVar("known", default=None)


def public_coins(rng: Randomness) -> Randomness:
    """Return the source for choices that privacy never rests on, such as first weights."""
    return _known.get() or rng


@contextmanager
def known_coins() -> Iterator[None]:
    """Draw public coins from a seed that everybody knows, the same in every such block.

    A promise that holds whatever these coins show may be audited with any of them, and an audit
    that knows them sees answers that could otherwise hide behind them.
    """
    token = _known.set(Randomness.seeded(0))
    try:
        yield
    finally:
        _known.reset(token)
