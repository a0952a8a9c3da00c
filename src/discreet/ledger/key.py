"""The secret key behind the fingerprints: a file of its owner's, never in the database."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from discreet.ledger.errors import LedgerError


def key_check(key: bytes) -> str:
    """A value by which a ledger recognises its key."""
    return hmac.new(key, b"discreet key check 1", "sha256").hexdigest()


def read_key(path: Path) -> bytes | None:
    """The secret key, or None where there is none yet."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"the fingerprint key {path} cannot be read ({error}); restore it from a backup, or "
            "move it away: known logs are then no longer recognised, nothing else is lost"
        ) from None
    if len(key) != 32:
        raise LedgerError(f"{path} is not a fingerprint key (32 bytes in hexadecimal)")
    return key


def make_key(path: Path) -> bytes:
    """A fresh secret key in a file that only its owner may read; an existing one stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_bytes(32)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    existing = read_key(path)
    assert existing is not None
    return existing
