"""Logs drawn from a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.training.run import train
from discreet.training.trained_model import TrainedModel
from tests.cli.conftest import Desk

pytest.importorskip("torch", reason="the extra generative is missing")

MODEL = "model.discreet"


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    log = sample_log("permits", cases=50, seed=3)
    return train(log, "sequence", max_length=8, steps=2, alphabet="from-log")


@pytest.fixture
def at(desk: Desk, model: TrainedModel) -> Desk:
    model.save(desk.folder / MODEL)
    return desk


@pytest.mark.parametrize("name", ["drawn.xes", "drawn.xes.gz", "drawn.csv", "drawn.parquet"])
def test_every_format_with_the_models_certificate(at: Desk, name: str) -> None:
    shown = at.run("generate", MODEL, "--cases", "40", "-o", name)
    assert f"Written: {name} (40 cases" in shown.stdout
    assert read_log(at.folder / name).cases == 40
    mine, models = at.json("certificate", name), at.json("certificate", MODEL)
    assert mine["guarantee"] == models["guarantee"]
    assert mine["mechanism"] == "sequence"
    assert {check["outcome"] for check in mine["checks"]} == {"holds"}
    assert any("no further cost" in note for note in mine["notes"])


def test_a_seed_repeats_and_the_ledger_is_not_asked(at: Desk) -> None:
    at.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    for name in ("one.csv", "two.csv"):
        at.run("generate", MODEL, "--seed", "7", "-o", name)
    assert (at.folder / "one.csv").read_bytes() == (at.folder / "two.csv").read_bytes()
    at.run("generate", MODEL, "-o", "three.csv")
    assert (at.folder / "three.csv").read_bytes() != (at.folder / "one.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "none.discreet", "-o", "out.xes"], "no file"),
        (["generate", "log.csv", "-o", "out.xes"], "not a model of discreet"),
        (["generate", MODEL, "-o", "out.json"], "ends in"),
        (["generate", MODEL, "-o", "out.xes", "--cases", "-1"], "cases must be"),
    ],
)
def test_bad_input_is_one_message(at: Desk, arguments: list[str], message: str) -> None:
    assert message in at.refused(*arguments)
    assert list(at.folder.glob("out*")) == []


def test_a_tampered_model_is_refused(at: Desk) -> None:
    path: Path = at.folder / MODEL
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert "was changed" in at.refused("generate", MODEL, "-o", "out.xes")
    assert list(at.folder.glob("out*")) == []
    at.run("certificate", MODEL, code=1)


def test_help_teaches(desk: Desk) -> None:
    shown = desk.run("generate", "--help").stdout
    assert "discreet generate model.discreet --cases 10000" in shown
