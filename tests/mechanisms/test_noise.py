"""What mechanisms of counts draw their noise for, on the pairs of logs that they are audited on."""

from __future__ import annotations

from functools import partial

import pytest

from discreet.audits.subjects import AuditSubject, subjects_of
from discreet.privacy.randomness import Randomness
from tests.watching import Watch


def counting(name: str) -> list[AuditSubject]:
    """A mechanism that is proved, without trees whose splits are noisy decisions, not counts."""
    return [
        one
        for one in subjects_of(name)
        if one.parameters.get("fidelity") != "published"
        and one.parameters.get("form", "levels") != "privtree"
        and not (name in ("laplace", "sacofa") and "form" not in one.parameters)
    ]


def check_noise(subject: AuditSubject) -> None:
    """No step takes more of a case than it pays for, and some pair takes all of one."""
    most = 0.0
    for pair in subject.pairs():
        mechanism, watch = subject.build(pair), Watch()
        for log in pair.logs:
            watch.run(partial(mechanism._draw, log, Randomness.seeded(3)))
        assert not watch.loose
        assert mechanism.spending is not None
        most = max(most, *watch.used(list(mechanism.spending.walk())).values())
    assert most > 0.9


@pytest.mark.parametrize(
    "subject",
    [one for name in ("df-laplace", "sapa", "laplace", "sacofa") for one in counting(name)],
    ids=lambda subject: f"{subject.mechanism} {dict(subject.parameters)}",
)
def test_a_case_costs_no_more_than_its_noise_pays_for(subject: AuditSubject) -> None:
    check_noise(subject)
