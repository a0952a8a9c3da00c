"""Which ledger is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.ledger.errors import LedgerError
from discreet.ledger.location import locate


def test_by_default_in_the_users_data_folder(tmp_path: Path) -> None:
    place = locate()
    assert place.file == tmp_path / "data" / "discreet" / "ledger.db"
    assert place.key == tmp_path / "data" / "discreet" / "ledger.db.key"
    assert not place.in_use
    place.file.parent.mkdir(parents=True)
    place.file.touch()
    assert place.in_use


def test_as_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "team.db"))
    place = locate()
    assert (place.file, place.in_use) == (tmp_path / "team.db", True)
    monkeypatch.setenv("DISCREET_LEDGER", f"sqlite:///{tmp_path}/team.db")
    assert locate().file == tmp_path / "team.db"
    assert locate(tmp_path / "other.db").file == tmp_path / "other.db"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_a_shared_database(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_LEDGER", f"{scheme}://ada:secret@db.example/ledger")
    place = locate()
    assert place.url.startswith("postgresql+psycopg://")
    assert place.in_use
    assert place.key == tmp_path / "data" / "discreet" / "ledger.key"
    assert "secret" not in str(place)
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "shared.key"))
    assert locate().key == tmp_path / "shared.key"


def test_other_databases_are_not_known() -> None:
    with pytest.raises(LedgerError, match="postgresql"):
        locate("oracle://somewhere")
