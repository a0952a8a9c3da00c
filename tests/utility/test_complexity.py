from __future__ import annotations

import math

import pytest

from discreet.log.variants import Variants
from discreet.utility.complexity import sequence_entropy
from tests.models.small_logs import log_of


def test_one_path_has_no_entropy() -> None:
    assert sequence_entropy(log_of(abc=9)) == 0.0
    assert sequence_entropy(log_of(abc=9, ab=2)) == 0.0
    assert sequence_entropy(Variants.empty()) == 0.0


def test_by_hand() -> None:
    # abc (3 cases) is one part of 9 + 1 events; abd (1 case) leaves it with d: a part of 1...
    # its a and b lie on the first part. 12 events: 11 on the first, 1 on the second.
    total, first, second = 12, 11, 1
    spread = first * math.log(first) + second * math.log(second)
    expected = 1 - spread / (total * math.log(total))
    assert sequence_entropy(log_of(abc=3, abd=1)) == pytest.approx(expected)


def test_cases_with_nothing_in_common_spread_widest() -> None:
    apart = sequence_entropy(log_of(a=1, b=1, c=1, d=1))
    assert apart == pytest.approx(1.0)
    assert sequence_entropy(log_of(ab=1, ac=1, ad=1, ae=1)) < apart


def test_does_not_depend_on_names() -> None:
    assert sequence_entropy(log_of(abc=3, ab=2, ca=1)) == pytest.approx(
        sequence_entropy(log_of(xyz=3, xy=2, zx=1))
    )
