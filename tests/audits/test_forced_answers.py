"""Answers that are given lead a mechanism where its small log would not, at the same promise."""

from __future__ import annotations

import pytest

from discreet.audits.audit_report import page
from discreet.audits.audit_tables import AuditTables
from discreet.audits.forced_answers import with_answers
from discreet.audits.measurement import releases
from discreet.audits.result import GIVEN, Audit
from discreet.audits.subjects import find_pair, subjects_of
from discreet.mechanisms.headtail import HeadTail
from discreet.parameters import ParameterError
from discreet.privacy.steps import Laplace

PROBE = "coverage probe"


def test_a_given_answer_leads_the_way() -> None:
    sound = HeadTail(delta=1e-6, alphabet=("a", "b"))
    log = find_pair("one more").logs[0]
    for answer, way in (
        ((0, 800), "no head"),
        ((60, 0), "few hidden"),
        ((600, 800), "many hidden"),
    ):
        led = with_answers(sound, {PROBE: answer})
        assert led.guarantee() == sound.guarantee()
        (run,) = releases(led, log, 1)
        assert [tuple(one) for one in run.answers[PROBE]] == [answer]
        assert {name.split(":")[0] for name in run.answers} == {PROBE, way}
    assert type(sound.step(PROBE, Laplace)) is Laplace


def test_only_counts_that_a_mechanism_has_can_be_given() -> None:
    with pytest.raises(ParameterError, match="no step 'votes' that could be given"):
        with_answers(HeadTail(delta=1e-6), {"votes": (1,)})


def test_what_was_given_is_said_but_is_no_option() -> None:
    subject = next(one for one in subjects_of("headtail") if one.case.given)
    pair = subject.pairs()[0]
    assert subject.parameters[GIVEN] == dict(subject.case.given)
    found = Audit("headtail", subject.parameters, subject.build(pair).guarantee(), ())
    assert found.command == "discreet audit headtail --delta 1e-06"
    assert "given coverage probe = 0/800" in page(
        AuditTables.of([found], {}, "discreet audit --all")
    )
