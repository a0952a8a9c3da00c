"""Models as files: what is written is read, and nothing else is believed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.certificate import CertificateError
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.trained.base import ModelState
from discreet.mechanisms.trained.sequence import Sequence
from discreet.parameters import ParameterError
from discreet.releasing.verification import check_certificate
from discreet.training.run import train
from discreet.training.tensors import pack, unpack
from discreet.training.trained_model import ModelError, TrainedModel, load_model

pytest.importorskip("torch", reason="the extra generative is missing")


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    log = sample_log("hospital", cases=60, seed=1)
    return train(log, "sequence", epsilon=2, max_length=20, steps=3, alphabet=log.activities)


@pytest.fixture
def path(model: TrainedModel, tmp_path: Path) -> Path:
    model.save(tmp_path / "model.discreet")
    return tmp_path / "model.discreet"


def changed(
    path: Path, *, tensors: dict[str, Any] | None = None, **metadata: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Rewrite a model's file with other tensors, or with other metadata made of the old."""
    held, texts = unpack(path.read_bytes())
    for key, change in metadata.items():
        texts[key] = change(texts[key])
    held = held if tensors is None else tensors
    path.write_bytes(pack(held, texts))
    return held, texts


def test_round_trip(model: TrainedModel, path: Path) -> None:
    again = load_model(path)
    assert again.mechanism == model.mechanism
    assert again.guarantee == model.guarantee
    assert again.state.facts == model.state.facts
    for name, tensor in model.state.tensors.items():
        np.testing.assert_array_equal(again.state.tensors[name], tensor)
    assert again.generate(50, seed=3).artefact == model.generate(50, seed=3).artefact


def test_what_is_drawn_has_the_models_guarantee(model: TrainedModel, tmp_path: Path) -> None:
    drawn = model.generate(123)
    assert drawn.guarantee == model.guarantee
    assert drawn.artefact.cases == 123
    assert model.generate().artefact.cases == model.cases
    assert model.generate(0).artefact.cases == 0
    assert set(drawn.artefact.activities) <= set(model.state.facts["activities"])
    drawn.write(tmp_path / "drawn.xes")
    certificate, findings = check_certificate(tmp_path / "drawn.xes")
    assert {finding.outcome for finding in findings} == {"holds"}
    assert certificate.mechanism == "sequence"
    with pytest.raises(ParameterError, match="cases must be"):
        model.generate(-1)
    with pytest.raises(ParameterError, match="cases must be"):
        model.generate(10**9)


def test_two_drawings_differ_and_a_seed_repeats(model: TrainedModel) -> None:
    assert model.generate(200).artefact != model.generate(200).artefact
    assert model.generate(200, seed=5).artefact == model.generate(200, seed=5).artefact


def test_a_seeded_training_says_so_in_the_file(tmp_path: Path) -> None:
    log = sample_log("hospital", cases=20, seed=1)
    settings: dict[str, Any] = {"max_length": 8, "steps": 2}
    model = train(log, "sequence", insecure_seed=1, **settings)
    model.save(tmp_path / "m.discreet")
    again = load_model(tmp_path / "m.discreet")
    assert again.guarantee.randomness == "seeded"
    assert not again.generate(3).guarantee.private
    twin = train(log, "sequence", insecure_seed=1, **settings)
    for name, tensor in model.state.tensors.items():
        np.testing.assert_array_equal(twin.state.tensors[name], tensor)


def test_the_file_holds_nothing_raw(path: Path) -> None:
    tensors, metadata = unpack(path.read_bytes())
    assert set(metadata) == {"format", "facts", "certificate"}
    assert set(json.loads(metadata["facts"])) == {"activities", "cases", "trained_on"}
    assert set(tensors) == {"direct", "memory", "correction"}


def test_the_certificate_inside_is_checked(path: Path) -> None:
    certificate, findings = check_certificate(path)
    assert certificate.artefact == "model"
    assert {finding.outcome for finding in findings} == {"holds"}
    tensors, _ = unpack(path.read_bytes())
    changed(path, tensors=tensors | {"direct": tensors["direct"] + 1})
    _, findings = check_certificate(path)
    assert "fails" in {finding.outcome for finding in findings}


def test_a_changed_model_is_refused(path: Path) -> None:
    original = path.read_bytes()
    tensors, _ = unpack(original)
    changed(path, tensors=tensors | {"direct": np.nextafter(tensors["direct"], np.float32(9))})
    with pytest.raises(ModelError, match="was changed"):
        load_model(path)
    path.write_bytes(original)
    changed(path, facts=lambda text: text.replace('"cases": ', '"cases": 1'))
    with pytest.raises(ModelError, match="was changed"):
        load_model(path)


@pytest.mark.parametrize(
    ("find", "put"),
    [
        ('"epsilon": 2.0', '"epsilon": 1.0'),
        ('"ledger": "none"', '"ledger": "booked"'),
        ('"max_length": 20', '"max_length": 30'),
        ("1e-06", "1E-06"),
    ],
)
def test_a_changed_certificate_is_refused(path: Path, find: str, put: str) -> None:
    assert find in unpack(path.read_bytes())[1]["certificate"]
    changed(path, certificate=lambda text: text.replace(find, put))
    with pytest.raises(ModelError, match="certificate"):
        load_model(path)


def test_every_flipped_byte_is_noticed(path: Path) -> None:
    original = path.read_bytes()
    generator = np.random.default_rng(1)
    for place in generator.integers(0, len(original), 150).tolist():
        damaged = bytearray(original)
        damaged[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        with pytest.raises((ModelError, CertificateError)):
            load_model(path)


@pytest.mark.parametrize("length", [0, 4, 8, 100, -1])
def test_a_cut_file_is_refused(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelError, match="not a model"):
        load_model(path)


def test_other_files_are_refused(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other.discreet"
    other.write_bytes(pack({"x": np.zeros(1)}, {"format": "something else"}))
    with pytest.raises(ModelError, match="not written by discreet train"):
        load_model(other)
    changed(path, format=lambda _: "discreet model 99")
    with pytest.raises(ModelError, match="not written by discreet train"):
        load_model(path)
    with pytest.raises(ValueError, match="no file"):
        load_model(tmp_path / "none.discreet")
    with pytest.raises(ValueError, match="folder"):
        load_model(tmp_path)


def forged(model: TrainedModel, path: Path, **changes: Any) -> None:
    """A file whose digest and seal are right, though what it holds is not."""
    replace(model, **changes).save(path, overwrite=True)


@pytest.mark.parametrize(
    "facts",
    [
        {"activities": ["a"]},
        {"activities": "abc"},
        {"activities": [1, 2]},
        {"activities": []},
        {"activities": ["b", "a"]},
        {"cases": 0},
        {"cases": "many"},
        {"cases": 10**12},
    ],
)
def test_facts_that_make_no_sense_are_refused(
    model: TrainedModel, tmp_path: Path, facts: dict[str, Any]
) -> None:
    state = ModelState(model.state.tensors, model.state.facts | facts)
    forged(model, tmp_path / "m.discreet", state=state)
    with pytest.raises(ModelError):
        load_model(tmp_path / "m.discreet")


def test_tensors_of_another_shape_are_refused(model: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "m.discreet"
    held = model.state.tensors
    for tensors in (
        {},
        {"direct": held["direct"]},
        held | {"more": held["direct"]},
        held | {"memory": held["memory"][:, 1:]},
        held | {"memory": held["memory"].astype(np.float64)},
    ):
        forged(model, path, state=ModelState(tensors, model.state.facts))
        with pytest.raises(ModelError, match="does not hold what sequence needs"):
            load_model(path)


def test_a_mechanism_that_trains_nothing_is_refused(model: TrainedModel, tmp_path: Path) -> None:
    forged(
        model,
        tmp_path / "m.discreet",
        mechanism=mechanism("travas"),
        guarantee=mechanism("travas").guarantee(),
    )
    with pytest.raises(ModelError, match="not a trained model"):
        load_model(tmp_path / "m.discreet")
    with pytest.raises(ParameterError, match="trains no model"):
        train(sample_log("hospital", cases=5, seed=1), "travas")


def test_bad_names_are_refused_before_anything(model: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in .discreet"):
        model.save(tmp_path / "model.bin")
    with pytest.raises(ValueError, match="no folder"):
        model.save(tmp_path / "none" / "model.discreet")


def test_without_torch_a_model_can_be_checked_but_not_used(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [
        name for name in sys.modules if name.startswith("discreet.mechanisms.trained.sequence.")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert check_certificate(path)[0].mechanism == "sequence"
    model = load_model(path)
    with pytest.raises(ParameterError, match=r"discreet\[generative\]"):
        model.generate(3)
    with pytest.raises(ParameterError, match=r"discreet\[generative\]"):
        train(sample_log("hospital", cases=5, seed=1), Sequence())
    with pytest.raises(ParameterError, match=r"discreet\[generative\]"):
        Sequence().release(sample_log("hospital", cases=5, seed=1))
