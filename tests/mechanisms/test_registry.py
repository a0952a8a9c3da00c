"""Mechanisms by name, ours and others'."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism, mechanism_class
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from tests.commands import Ended, run_all

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism
from discreet.parameters import between, parameter
from discreet.privacy.steps import Proved, Statement


@dataclass(frozen=True, kw_only=True)
class Silence(Mechanism):
    """Says nothing, so it is private whatever epsilon."""

    name: ClassVar[str] = "silence"
    summary: ClassVar[str] = "releases nothing"
    paper: ClassVar[str] = "none"
    returns: ClassVar[str] = "variants"
    loudness: int = parameter(0, "how loud to be silent", between(0, 11))

    def _spending(self, budget):
        return Proved("nothing", 0.0, 0.0, "constant")

    def _statement(self, asked):
        return Statement("Constant.")

    def _draw(self, log, source):
        return Variants.empty()
'''


class Plugins:
    """Packages of others in a folder of their own, and the command line that sees them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, package: str, module: str, *entries: str) -> None:
        (self.folder / f"{package}.py").write_text(module)
        metadata = self.folder / f"{package}-1.0.dist-info"
        metadata.mkdir()
        head = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        (metadata / "METADATA").write_text(head)
        listed = "\n".join(("[discreet.mechanisms]", *entries, ""))
        (metadata / "entry_points.txt").write_text(listed)

    def run(self, *commands: str) -> list[Ended]:
        return run_all(self.folder, self.folder, [one.split() for one in commands])


@pytest.fixture
def plugins(tmp_path: Path) -> Plugins:
    return Plugins(tmp_path)


def test_a_third_party_registers_through_an_entry_point(plugins: Plugins) -> None:
    plugins.add("quiet", MODULE, "silence = quiet:Silence")
    listed, helped, sampled, released, checked = plugins.run(
        "mechanisms",
        "release -m silence --help",
        "sample loans --cases 5 -o log.csv",
        "release log.csv -o out.csv -m silence --loudness 3",
        "certificate out.csv",
    )
    assert "silence" in listed.stdout
    assert "--loudness" in helped.stdout
    assert sampled.code == released.code == checked.code == 0
    assert "ε = 0" in released.stdout
    assert "✓ the guarantee follows" in checked.stdout
    certificate = json.loads((plugins.folder / "out.csv.certificate.json").read_text())
    assert certificate["versions"]["quiet"] == "1.0"
    assert "discreet" in certificate["versions"]


def test_a_plug_in_that_fails_is_named_and_left_out(plugins: Plugins) -> None:
    plugins.add("quiet", MODULE, "silence = quiet:Silence", "travas = quiet:Silence")
    plugins.add("broken", "import nothing_of_that_name", "broken = broken:Broken")
    plugins.add("crashing", "raise RuntimeError('no licence')", "crash = crashing:Crash")
    plugins.add("mute", MODULE.replace("releases nothing", " "), "mute = mute:Silence")
    plugins.add(
        "careless",
        MODULE.replace('summary: ClassVar[str] = "releases nothing"', ""),
        "silent = careless:Silence",
    )
    plugins.add("renamed", MODULE, "hush = renamed:Silence", "none = renamed:Variants")
    listed, known, refused = plugins.run("mechanisms", "mechanisms travas", "mechanisms broken")
    said = " ".join(listed.stderr.split())
    assert "silence" in listed.stdout
    assert "left out: travas: quiet 1.0 is ignored because discreet" in said
    assert "left out: broken: broken 1.0 cannot be loaded (ModuleNotFoundError" in said
    assert "left out: crash: crashing 1.0 cannot be loaded (RuntimeError: no licence)" in said
    assert "left out: mute: mute 1.0: mute:Silence does not declare summary" in said
    assert "left out: silent: careless 1.0: careless:Silence does not declare summary" in said
    assert "left out: hush: renamed 1.0: renamed:Silence calls itself 'silence'" in said
    assert "left out: none: renamed 1.0: renamed:Variants is not a subclass" in said
    assert "TraVaS" in known.stdout
    assert refused.code == 2
    assert "'broken' cannot be used: broken 1.0 cannot be loaded" in " ".join(
        refused.stderr.split()
    )


@pytest.mark.parametrize("delta", [1e-12, 1e-300])
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        *((name, 10_000) for name in ("df-laplace", "dpim", "laplace", "travas", "utravas")),
        ("df-laplace", 99),
        ("dpim", 99),
    ],
)
def test_a_budget_too_small_is_refused_before_anything_is_booked(
    name: str, delta: float, cases: int, tmp_path: Path
) -> None:
    """Noise that does not fit into 64 bits, or a selection that cannot be made, costs nothing."""
    log = replace(sample_log("permits", cases=10, seed=1), individual="case:person")
    known = mechanism_class(name).parameters()
    usual = {"delta": delta, "alphabet": ("Register",), "max_length": 3}
    given = {key: value for key, value in usual.items() if key in known}
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("s", Budget(9, 1e-5), neighbours="swap", unit="individual")
        try:
            chosen = mechanism(name, epsilon=1e-4, cases_per_individual=cases, **given)
            ledger.release(chosen, log, source="s")
        except ParameterError:
            assert ledger.account("s").releases == 0
        else:
            assert ledger.account("s").releases == 1
