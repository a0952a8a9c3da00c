from __future__ import annotations

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.headtail import pruning
from discreet.models.inductive import inductive_miner
from discreet.models.replay import replay
from discreet.models.similarity import relative_log_similarity


def test_pruning_leaves_out_what_blurs_the_model() -> None:
    head = Variants.from_counts({("a", "b", "c", "d"): 500, ("a", "b", "d"): 300})
    rare = {("d", "c", "b", "a"): 2, ("c", "a", "d", "b"): 2, ("a", "b", "c", "c", "d"): 40}
    release = Variants.from_counts([*head, *rare.items()])
    found = pruning.pruned(release, head)
    assert found.cases == release.cases
    assert {s for s, _ in head} <= {s for s, _ in found}
    assert ("d", "c", "b", "a") not in found.to_dict()

    def clearness(variants: Variants) -> float:
        return replay(inductive_miner(variants, 0.2), release).precision

    assert clearness(found) > clearness(release)
    kept, moved = pruning.Judge(release, head).kept(
        np.array([s in found.to_dict() for s, _ in release])
    )
    assert kept == found
    assert moved @ release.counts < 0.01


def test_pruning_hardly_touches_real_variants() -> None:
    head = Variants.from_counts({("a", "b"): 5, ("b", "a"): 4, ("c",): 3, ("a", "c", "b"): 1})
    assert pruning.pruned(head, head) == head
    often: dict[tuple[str, ...], int] = {
        ("a", "b", "c", "d", "e"): 5000,
        ("a", "c", "b", "d", "e"): 3000,
    }
    odd = {("e", "c", "b", "d", "a"): 10, ("d", "b", "c", "a"): 10, ("c", "e", "a", "d"): 10}
    release = Variants.from_counts(often | odd)
    found = pruning.pruned(release, release)
    assert found.cases == release.cases
    assert set(often) <= set(found.to_dict())
    judge = pruning.Judge(release, release)
    _, moved = judge.kept(np.array([s in found.to_dict() for s, _ in release]))
    assert moved @ release.counts <= pruning.SHOWN
    assert len(found) < len(release)


@pytest.mark.parametrize("seed", range(3))
def test_a_clear_model_costs_no_more_than_is_said(seed: int) -> None:
    """What is left of a release, here one of much disorder, is as like it as MOVED says."""
    rng = np.random.default_rng(seed)
    rows = [("".join(rng.choice(list("abcd"), size=5)), int(rng.integers(1, 4))) for _ in range(12)]
    release = Variants.from_counts([*rows, ("abcd", 60), ("acbd", 40)])
    found = pruning.pruned(release, Variants.empty(release.activities))
    assert found.cases == release.cases
    assert len(found) < len(release)
    assert relative_log_similarity(release, found) >= 1 - pruning.MOVED - 1e-9


def test_many_activities_are_left_as_they_are() -> None:
    """A model of so many is not looked at, and looking for one would take minutes."""
    rows = [((f"a{number}", f"a{number + 1}"), 1 + number % 3) for number in range(100)]
    release = Variants.from_counts(rows)
    assert pruning.pruned(release, Variants.empty(release.activities)) is release
