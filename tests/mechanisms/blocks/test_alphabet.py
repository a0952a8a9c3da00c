from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import (
    FROM_LOG,
    alphabet_status,
    canonical_alphabet,
    labels_of,
    outside_advice,
    projected,
    read_alphabet,
    required_alphabet,
)
from discreet.mechanisms.registry import mechanism
from discreet.parameters import ParameterError

SEQUENCES = st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=6).map(tuple)
LOGS = st.dictionaries(SEQUENCES, st.integers(1, 9), max_size=8)


def test_a_file_holds_one_label_per_line(tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("\ufeffZurück zur Aufnahme\r\nb, with comma\n\na\na\n", encoding="utf-8")
    assert read_alphabet(str(file)) == ("Zurück zur Aufnahme", "b, with comma", "a", "a")
    assert canonical_alphabet(read_alphabet(str(file))) == (
        "Zurück zur Aufnahme",
        "a",
        "b, with comma",
    )
    assert read_alphabet(FROM_LOG) == FROM_LOG


def test_bad_alphabets_say_how_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--alphabet FILE"):
        required_alphabet(None)
    with pytest.raises(ParameterError, match="from-log"):
        read_alphabet(str(tmp_path / "absent.txt"))
    binary = tmp_path / "binary.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="UTF-8"):
        read_alphabet(str(binary))
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    with pytest.raises(ParameterError, match="empty"):
        canonical_alphabet(read_alphabet(str(empty)))
    with pytest.raises(ParameterError, match="list of texts"):
        mechanism("laplace", alphabet=["a", 1])


@pytest.mark.parametrize("name", ["laplace", "df-laplace", "sapa"])
def test_strict_needs_an_alphabet_and_stores_its_labels(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--alphabet"):
        mechanism(name)
    file = tmp_path / "labels.txt"
    file.write_text("b\na\n")
    given_by_file = mechanism(name, alphabet=str(file))
    assert given_by_file.settings["alphabet"] == ("a", "b")
    assert given_by_file.guarantee() == mechanism(name, alphabet=["b", "a"]).guarantee()
    assert given_by_file.guarantee().status == "proved"
    from_log = mechanism(name, alphabet="from-log").guarantee()
    assert from_log.status == "conditional"
    assert "taken from the log" in from_log.conditions[0]


@given(LOGS)
def test_projection_drops_other_events_and_empty_cases(log: dict[tuple[str, ...], int]) -> None:
    expected: dict[tuple[str, ...], int] = {}
    for sequence, count in log.items():
        left = tuple(label for label in sequence if label in "abc")
        if left:
            expected[left] = expected.get(left, 0) + count
    seen = projected(Variants.from_counts(log), ("a", "b", "c", "d"))
    assert seen.to_dict() == expected
    assert seen.activities == ("a", "b", "c", "d")


@given(LOGS, SEQUENCES)
def test_projection_keeps_neighbours_neighbours(
    log: dict[tuple[str, ...], int], case: tuple[str, ...]
) -> None:
    more = dict(log)
    more[case] = more.get(case, 0) + 1
    labels = ("a", "b", "x")
    before = projected(Variants.from_counts(log), labels).to_dict()
    after = projected(Variants.from_counts(more), labels).to_dict()
    differences = [after.get(s, 0) - before.get(s, 0) for s in set(before) | set(after)]
    assert sum(differences) <= 1
    assert sum(abs(d) for d in differences) <= 1


def test_nothing_outside_the_alphabet_is_released_and_only_the_steward_hears_of_it() -> None:
    log = sample_log("hospital", cases=500, seed=1)
    alphabet = log.activities[3:]
    for name in ("laplace", "sapa", "df-laplace"):
        chosen = mechanism(name, alphabet=alphabet, epsilon=50)
        release = chosen.release(log)
        assert set(release.artefact.activities) <= set(alphabet)
        assert not any(label in release.certificate().to_json() for label in log.activities[:3])
        assert log.activities[0] in chosen.advice(log)[-1]
    assert outside_advice(log.variants, log.activities) == []
    assert outside_advice(log.variants, FROM_LOG) == []


def test_labels_from_the_log_are_those_that_occur() -> None:
    variants = Variants.from_counts({("b", "a"): 2, ("c",): 1})
    assert labels_of(FROM_LOG, variants) == ("a", "b", "c")
    assert labels_of(("z",), variants) == ("z",)
    assert alphabet_status(("z",))[0] == "proved"
