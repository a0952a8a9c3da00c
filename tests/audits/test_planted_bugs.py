"""Every planted bug is caught: by an audit that lets the sound mechanism pass, or by a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.audits import audit, measurement
from discreet.audits.exact import LaplaceCount
from discreet.audits.measurement import TURNS, Effort, Turn, audit_mutant, audit_pair
from discreet.audits.mutation import chance_of_missing, numbered_by_counts
from discreet.audits.subjects import AuditSubject, pairs_of, subjects_of
from discreet.audits.subjects import find_pair as pair
from discreet.log.neighbours import arrow
from discreet.mechanisms.base import Mechanism, with_leaves
from discreet.mechanisms.blocks.contributions import Contributions
from discreet.mechanisms.headtail import tail
from discreet.mechanisms.headtail.loglinear import Examples
from discreet.mechanisms.headtail.mechanism import TIED_HEAD, tied_head
from discreet.mechanisms.trained.dictionary import OverDictionary
from discreet.mechanisms.travas import TraVaS
from tests.audits import bugs
from tests.audits.efforts import exactly
from tests.audits.planted import PLANTED, Planted

MUCH = exactly(16_000)
"""For the bugs that leak little more than they may: none is missed by chance."""
EFFORT = exactly(5_000)
SOME = exactly(2_000)
FEW = exactly(400)
"""For the bugs that leak so much that few runs show it."""
BRIEF = Effort(runs=120, seconds=60.0)
"""For those that fewer show."""
LITTLE = replace(exactly(40), trials=4)
"""For those that take long."""
SHARED = "shared long variant"


@pytest.mark.parametrize(
    ("mechanism", "name", "effort"),
    [
        (bugs.HalfScale(epsilon=1), "one more", EFFORT),
        (bugs.Truncating(epsilon=0.1), "one more", MUCH),
        (bugs.Redrawing(epsilon=1), "first case", MUCH),
        (bugs.EpsilonPerLevel(epsilon=0.5), "three steps", EFFORT),
        (bugs.RawSupport(epsilon=1, delta=0.01), "surgery twice", FEW),
        (bugs.RawSupport(epsilon=1, delta=0.01), "new activity", FEW),
        (bugs.OffByOne(epsilon=1, delta=0.01), "unique variant", EFFORT),
        (bugs.TenfoldDelta(epsilon=1, delta=0.01), "unique variant", EFFORT),
        (bugs.ConstantSeed(epsilon=1, delta=0.01), "one more", FEW),
        (bugs.ForgottenTerm(epsilon=1), "one more", EFFORT),
        (bugs.RefusingEmpty(epsilon=1, delta=0.01), "unique variant", FEW),
    ],
    ids=lambda value: value.name if isinstance(value, Mechanism) else "",
)
def test_a_planted_bug_is_caught(mechanism: Mechanism, name: str, effort: Effort) -> None:
    found = audit(mechanism, pairs=[pair(name)], effort=effort)
    assert found.verdict == "violated"
    assert found.epsilon > mechanism.epsilon


@pytest.mark.parametrize("name", ["one more", "first case", "unique variant", "new activity"])
@pytest.mark.parametrize(
    "mechanism",
    [
        LaplaceCount(epsilon=1),
        TraVaS(epsilon=1, delta=0.01),
        TraVaS(epsilon=1, delta=0.01, fidelity="published"),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_the_sound_one_passes(mechanism: Mechanism, name: str) -> None:
    assert audit(mechanism, pairs=[pair(name)], effort=SOME).verdict == "consistent"


def test_an_off_by_one_threshold_leaks_what_the_mathematics_says() -> None:
    """P[X ≥ k − 1] of the truncated noise, .032 where .01 was promised."""
    mechanism = bugs.OffByOne(epsilon=1, delta=0.01)
    (found,) = audit(mechanism, pairs=[pair("unique variant")], effort=MUCH).pairs
    assert found.promise is not None
    assert found.promise.event.startswith("cases of ⟨a, d⟩ ≥ 1")
    assert found.promise.shares[0] == pytest.approx(0.032, abs=0.01)


def test_an_encoder_trained_without_noise_is_caught() -> None:
    fitted, fixed = (bugs.Autoencoder(delta=0.01, encoder=kind) for kind in ("fitted", "fixed"))
    assert audit(fitted, pairs=[bugs.OUTLIER], effort=FEW).verdict == "violated"
    assert audit(fixed, pairs=[bugs.OUTLIER], effort=FEW).verdict == "consistent"


def test_a_tail_that_reads_every_case_for_the_price_of_a_sample_is_caught() -> None:
    """The cost of a hundredth is ε where reading all of them costs ε + ln 100, nearly."""
    subject = next(one for one in subjects_of("headtail") if "tail_sample" in one.parameters)
    lone = subject.pairs()[0]
    sound = subject.build(lone)
    promise = sound.guarantee().holds
    assert promise is not None
    turn, votes = TURNS[1], "few hidden: votes"
    caught = audit_mutant(with_leaves(sound, bugs.reading_every_case), votes, lone, promise, turn)
    passed = audit_mutant(sound, votes, lone, promise, turn)
    assert caught is not None
    assert passed is not None
    assert caught.contradicts
    assert chance_of_missing(caught.shares, turn.runs(promise.epsilon), promise) < 1e-6
    assert not passed.contradicts


def test_ties_at_the_cut_of_the_votes_that_raw_counts_break_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pair that headtail declares, with thirty variants open to votes in place of a thousand.

    Noise brings the variant to forty as often as the variants it ties with. If raw counts decide,
    it comes first of them while it is one case behind, and is never shown without votes.
    """
    monkeypatch.setattr(tail, "MOST_VOTED", 30)
    subject = subjects_of("headtail")[-1]
    assert subject.pairs() == [TIED_HEAD]
    tied = tied_head(voted=30, tied=40)
    given = {"coverage probe": (1_600, 1_000), "few hidden: number of cases": (400,)}
    case = replace(subject.case, pairs=(tied,), given=given)
    sound = AuditSubject("headtail", case).build(tied)
    caught = audit(numbered_by_counts(sound), pairs=[tied], effort=BRIEF)
    assert caught.verdict == "violated"
    (found,) = caught.pairs
    assert found.promise is not None
    assert found.promise.event == f"cases of {arrow(tied.added.trace)} = 40"
    assert found.promise.shares[1] < 0.02 < 0.4 < found.promise.shares[0]
    assert audit(sound, pairs=[tied], effort=BRIEF).verdict == "consistent"


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_slip_in_the_library_is_caught(planted: Planted) -> None:
    """By tests that pass without it, as they do where they stand."""
    for check in planted.caught_by:
        with planted.growing(), pytest.raises(AssertionError):
            check()


@pytest.mark.parametrize("name", ["whole", "amun"])
def test_noise_32_times_too_small_is_caught_by_an_audit_too(name: str) -> None:
    """Smaller slips are not: a part of one step's cost tells little of a whole release."""
    (weak,) = (one for one in PLANTED if one.name == "noise 32 times too small")
    subject = subjects_of(name)[0]
    lone, step = pair("days apart", pairs_of(name)), "waits by relation, fine"
    mechanism, turn = subject.build(lone), Turn(learnt=20, trials=40, counted=3.0, first=True)
    promise = mechanism.guarantee().holds
    assert promise is not None
    with weak.growing():
        caught = audit_mutant(mechanism, step, lone, promise, turn)
    assert caught is not None
    assert caught.contradicts, caught


def test_bounds_that_hold_for_lone_cases_only_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, shared = bugs.led_there(*bugs.SHARED_BUGS["bounds for lone cases"][:2]), pair(SHARED)
    assert shared in subject.pairs()
    assert audit(subject.build(shared), pairs=[shared], effort=SOME).verdict == "consistent"
    monkeypatch.setattr(Contributions, "noisy_runs", bugs.lone_bounds)
    assert audit(subject.build(shared), pairs=[shared], effort=SOME).verdict == "violated"


def test_clips_that_hold_for_few_cases_only_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the answer of a single one of twenty gradient steps."""
    subject = bugs.led_there(*bugs.SHARED_BUGS["clips for few cases"][:2])
    (endless,) = (one for one in subject.pairs() if one.name == "shared endless variant")
    sound, turn, step = subject.build(endless), Turn(20, 60, 4.0, True), "no head: what follows"
    promise = sound.guarantee().holds
    assert promise is not None
    passed = audit_mutant(sound, step, endless, promise, turn)
    monkeypatch.setattr(Examples, "clipped_sum", bugs.clipping_few)
    caught = audit_mutant(sound, step, endless, promise, turn)
    assert caught is not None
    assert passed is not None
    assert caught.contradicts
    assert not passed.contradicts


@pytest.mark.parametrize("name", ["ddpm", "travag"])
def test_a_raw_number_of_cases_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a noisy one was drawn, and paid for."""
    pytest.importorskip("torch", reason="needs the extra generative")
    from discreet.mechanisms.trained.travag import games as strict

    monkeypatch.setattr(strict, "COMPRESSING_STEPS", 1)
    monkeypatch.setattr(strict, "STARTING_STEPS", 1)
    monkeypatch.setattr(measurement, "FALSE_ALARM", 1e-3)
    monkeypatch.setattr(OverDictionary, "_begin", bugs.raw_number_of_cases)
    subject = bugs.led_there(name, {"steps": 2})
    assert pair(SHARED) in subject.pairs()
    found = audit_pair(subject.build(pair(SHARED)), pair(SHARED), LITTLE, 0.05).promise
    assert found is not None
    assert found.contradicts
