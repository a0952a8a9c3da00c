"""Transcripts: what steps answered is kept, up to an answer, and nothing that stays unsaid."""

from __future__ import annotations

from discreet.privacy.transcript import note, transcript, unheard


def test_answers_are_kept_by_step() -> None:
    with transcript() as kept:
        note("counts", [1, 2])
        note("", [3])
        note("counts", [4])
    assert [answer.tolist() for answer in kept["counts"]] == [[1, 2], [4]]
    assert list(kept) == ["counts"]
    note("counts", [5])
    assert len(kept["counts"]) == 2


def test_a_block_ends_with_the_answer_that_was_waited_for() -> None:
    reached = []
    with transcript("votes") as kept:
        note("counts", [1])
        note("votes", [2])
        reached.append("behind it")
    assert not reached
    assert list(kept) == ["counts", "votes"]
    with transcript() as kept:
        note("votes", [2])
    assert list(kept) == ["votes"]


def test_what_is_not_said_is_not_kept() -> None:
    with transcript("names") as kept:
        with unheard():
            note("names", [7, 1, 1])
        assert not kept
        note("names", [7])
    assert kept["names"][0].tolist() == [7]
