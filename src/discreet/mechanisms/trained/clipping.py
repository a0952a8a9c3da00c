"""Every case's gradient bounded and added up, without ever writing one out.

All parameters sit in linear maps, each used once or several times per case (time steps, draws of
a diffusion): z = W·[x, 1]. A case's gradient for W is the sum over its uses of b ⊗ [x, 1], b the
loss's derivative by z. So its norm follows from inner products of a few short vectors, and the
sum over cases of clipped gradients is one matrix product.

The exact form keeps the promise to the last bit. Inputs and backprops are rounded to integers, so
that a case's part is an integer matrix; its squared norm is computed from these very integers,
exactly or rounded up, and is at most Δ² with Δ an integer; and the sum over cases is exact, since
all its terms and partial sums are integers below 2⁵³, which is as far as floats count without a
gap. In no order of summation does the machine lose or add anything. The unit of the integers is
clip/Δ.

What this rests on: that a case's rows of inputs and backprops do not depend on who else is in the
batch. Mathematically they are. A machine may round a row of a matrix product differently in a
batch of another size, in the last bit of a float, and where that falls on the edge between two
integers the part of another case moves by one unit. Rows that are computed for all public
possibilities, whatever the batch (as strict ddpm and travag do, a row for every column), do
not depend on the batch at all, and there the promise holds as it stands; where rows are computed
for the sampled cases it holds up to such rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Proof: products and sums of these integers stay where doubles are exact
INPUT_BITS = 8
"""Bits of the largest input of a use; a use's inputs are multiples of one power of two."""
LARGEST_BOUND = 1 << 24
"""Largest Δ, the norm of a case's part in integer units."""
LARGEST_DEVIATION = 1 << 30
"""Largest deviation of the noise in integer units, for noise of 64 bits."""
LARGEST_BACKPROP = float(1 << 20)
"""Largest rounded backprop."""
LARGEST_INPUT = float(2 << INPUT_BITS)
"""Largest rounded input."""
EXACT = 2.0**53
"""Below it every integer is a double."""


@dataclass(frozen=True)
class Factors:
    """How the cases of a batch used one linear map.

    `inputs` is cases × uses × in, with the constant 1 of the bias as its last entry where the map
    has one; `backprops` is cases × uses × out. A map used once may leave out the middle axis.
    Uses that a case does not have (a shorter sequence) have backprops of zero. A row must be a
    function of its own case and of public things alone: no normalisation over the batch.
    """

    inputs: Tensor
    backprops: Tensor

    def __post_init__(self) -> None:
        for name in ("inputs", "backprops"):
            value = getattr(self, name)
            if value.dim() == 2:
                object.__setattr__(self, name, value.unsqueeze(1))
        if self.inputs.shape[:2] != self.backprops.shape[:2]:
            raise ValueError("inputs and backprops must belong to the same cases and uses")

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return int(self.inputs.shape[0])


def squared_norms(factors: Factors) -> Tensor:
    """Squared norm of each case's gradient: Σ_{t,s} (a_t·a_s)(b_t·b_s), in double precision."""
    return _gram(factors.inputs.double(), factors.backprops.double())[0]


def _gram(inputs: Tensor, backprops: Tensor) -> tuple[Tensor, Tensor]:
    """Squared norms and a bound on the error of computing them."""
    uses = inputs.shape[1]
    if uses == 1:
        squares = inputs.square().sum((1, 2)) * backprops.square().sum((1, 2))
        return squares, torch.zeros_like(squares)
    left = torch.bmm(inputs, inputs.transpose(1, 2))
    right = torch.bmm(backprops, backprops.transpose(1, 2))
    products = left * right
    return products.sum((1, 2)), products.abs().sum((1, 2)) * (uses * uses + 16) * 2.0**-52


def clipped_sum(
    layers: Sequence[Factors], clip: float, counts: Tensor | None = None
) -> list[Tensor]:
    """The sum of the cases' gradients, each scaled to norm at most `clip`: the plain form.

    One norm over all layers. `counts` says how many equal cases each row stands for. Floats, so
    rounding may pass the clip by a hair; a release uses `exact_sum`.
    """
    norms = sum(squared_norms(factors) for factors in layers)
    assert isinstance(norms, Tensor)
    scale = (clip / norms.sqrt().clamp_min(1e-300)).clamp_max(1.0)
    if counts is not None:
        scale = scale * counts
    return [
        (f.backprops.double() * scale[:, None, None]).flatten(0, 1).T
        @ f.inputs.double().flatten(0, 1)
        for f in layers
    ]


def grid_bound(noise_multiplier: float) -> int:
    """Δ: the largest norm of a case's part in integer units, for noise of deviation zΔ.

    As fine as 64-bit noise allows, up to 2²⁴ units.
    """
    room = LARGEST_DEVIATION / noise_multiplier
    return min(LARGEST_BOUND, 1 << max(0, math.floor(math.log2(room))))


def exact_sum(
    layers: Sequence[Factors], clip: float, bound: int, counts: Tensor | None = None
) -> list[Tensor]:
    """Integers, in units of clip/bound: the sum of parts of norm at most `bound` each.

    A part is a function of its own case alone. One that cannot be represented within the bound
    (infinite or undefined gradients) is zero.
    """
    rows = [_Integers.of(factors, bound / clip) for factors in layers]
    cases = layers[0].cases
    norms = sum(row.float_norms() for row in rows)
    assert isinstance(norms, Tensor)
    scale = (bound / norms.sqrt()).clamp_max(1.0).nan_to_num(0.0)
    for _ in range(4):
        for row in rows:
            row.round(scale)
        squares = sum(row.norms_rounded_up() for row in rows)
        assert isinstance(squares, Tensor)
        over = squares > float(bound) ** 2
        if not over.any():
            break
        shrunk = scale * bound / squares.sqrt() * (1 - 2.0**-8)
        scale = torch.where(over, shrunk, scale)
    else:
        for row in rows:
            row.integers[over] = 0
    weights = torch.ones(cases, dtype=torch.float64) if counts is None else counts.double()
    return [row.total(weights) for row in rows]


class _Integers:
    """One layer's inputs, and its backprops once a scale per case is known, as whole numbers.

    Each use's inputs are scaled by a power of two of its own so that the largest is near
    2**INPUT_BITS; the backprops take the rest of the unit, so their product has the same unit in
    every use of every case.
    """

    def __init__(self, inputs: Tensor, backprops: Tensor) -> None:
        self.inputs = inputs
        self.backprops = backprops
        self.integers = torch.zeros_like(backprops)

    @classmethod
    def of(cls, factors: Factors, unit: float) -> _Integers:
        inputs, backprops = factors.inputs.double(), factors.backprops.double()
        sound = (_largest(inputs) + _largest(backprops)).isfinite()
        if not sound.all():
            alone = sound[:, None, None]
            inputs, backprops = torch.where(alone, inputs, 0.0), torch.where(alone, backprops, 0.0)
        largest = inputs.abs().amax(2, keepdim=True)
        exponent = torch.frexp(largest.clamp(1e-30, 1e30)).exponent
        power = torch.ldexp(torch.ones_like(largest), INPUT_BITS - exponent)
        integers = (inputs * power).round().clamp(-LARGEST_INPUT, LARGEST_INPUT)
        return cls(integers, backprops * (unit / power))

    def float_norms(self) -> Tensor:
        """Squared norms before clipping."""
        squares, error = _gram(self.inputs, self.backprops)
        return squares + error

    def round(self, scale: Tensor) -> None:
        """Scale the cases' backprops and round them."""
        scaled = (self.backprops * scale[:, None, None]).round()
        self.integers = scaled.nan_to_num(0.0).clamp(-LARGEST_BACKPROP, LARGEST_BACKPROP)

    def norms_rounded_up(self) -> Tensor:
        """Squared norms of the integer parts, exact where they matter or else rounded up.

        With one use both factors are exact (integers below 2⁵³), and so is their product up to
        Δ² ≤ 2⁴⁸; a larger one stays larger. With several, the Gram products may cancel: the
        bound for what rounding did to them is added.
        """
        squares, error = _gram(self.inputs, self.integers)
        return squares + error

    def total(self, weights: Tensor) -> Tensor:
        """The sum over cases, weighted by whole numbers, exact because it stays below 2⁵³.

        Where a product of matrices might not, halves of the cases are added up by themselves; a
        sum of whole parts is at most Δ times the number of cases, which always fits.
        """
        uses = self.inputs.shape[1]
        reach = _largest(self.inputs) * _largest(self.integers) * weights
        if float(reach.sum()) * uses < EXACT:
            weighted = self.integers * weights[:, None, None]
            return weighted.flatten(0, 1).T @ self.inputs.flatten(0, 1)
        if len(weights) == 1:
            return (self.integers[0].T @ self.inputs[0]) * weights
        middle = len(weights) // 2
        return self._rows(slice(None, middle)).total(weights[:middle]) + self._rows(
            slice(middle, None)
        ).total(weights[middle:])

    def _rows(self, rows: slice) -> _Integers:
        part = _Integers(self.inputs[rows], self.backprops[rows])
        part.integers = self.integers[rows]
        return part


def _largest(values: Tensor) -> Tensor:
    """The largest magnitude of each case."""
    if values.numel() == 0:
        return values.new_zeros(len(values))
    return values.abs().amax((1, 2))
