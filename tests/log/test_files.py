"""Writing a file is all or nothing."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from discreet.log.errors import LogError
from discreet.log.files import atomic_write


def fail(path: Path, error: BaseException) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        raise error


def test_replaces_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), LogError("y")])
def test_leaves_nothing_behind(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    with pytest.raises(type(error)):
        fail(path, error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left"),
        (errno.EACCES, "no permission to write"),
        (errno.EROFS, "Read-only file system"),
    ],
)
def test_errors_of_the_system(tmp_path: Path, number: int, words: str) -> None:
    with pytest.raises(LogError, match=words):
        fail(tmp_path / "file", OSError(number, os.strerror(number)))
    assert not list(tmp_path.iterdir())


def test_refuses_folders(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is a folder"), atomic_write(tmp_path):
        pass
    with (
        pytest.raises(LogError, match=r"no folder .*missing"),
        atomic_write(tmp_path / "missing/x"),
    ):
        pass
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LogError), atomic_write(tmp_path / "file" / "x"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    fresh, kept = tmp_path / "fresh", tmp_path / "kept"
    kept.write_bytes(b"")
    kept.chmod(0o640)
    (tmp_path / "plain").write_bytes(b"")
    for path in (fresh, kept):
        with atomic_write(path) as file:
            file.write(b"x")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert fresh.stat().st_mode == (tmp_path / "plain").stat().st_mode
