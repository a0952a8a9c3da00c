"""Results of audits kept in a folder, so that an audit that was stopped can go on.

There is one file for each pair of logs or mutant. Its key is all that decides what is run, except
the code: when the code of a mechanism changes, `forget` what was kept of it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.audits.exact import ExactLeak
from discreet.audits.result import Evidence, PairAudit, Power
from discreet.log.files import atomic_write
from discreet.privacy.guarantee import Budget


@dataclass(frozen=True)
class ResultStore:
    """A folder with a folder for each mechanism and a file in it for each result."""

    folder: Path

    def get(self, mechanism: str, key: str) -> PairAudit | Power | None:
        """The result with this key, if there is one."""
        path = self._path(mechanism, key)
        return _read(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def put(self, mechanism: str, key: str, found: PairAudit | Power) -> None:
        """Keep a result."""
        path = self._path(mechanism, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as stream:
            stream.write(json.dumps({"key": key} | asdict(found), indent=1).encode())

    def forget(self, mechanism: str) -> None:
        """Remove all results of a mechanism."""
        for path in self.folder.glob(f"{mechanism}/*.json"):
            path.unlink()

    def _path(self, mechanism: str, key: str) -> Path:
        return self.folder / mechanism / f"{sha256(key.encode()).hexdigest()[:24]}.json"


def _read(values: dict[str, Any]) -> PairAudit | Power:
    values.pop("key")
    if "step" in values:
        against = values["against"] and Budget(**values["against"])
        return Power(**values | {"against": against, "parameters": _tuples(values["parameters"])})
    return PairAudit(**values | {name: _evidence(values[name]) for name in ("promise", "claim")})


def _evidence(values: dict[str, Any] | None) -> Evidence | None:
    if values is None:
        return None
    exact = values["exact"] and ExactLeak(**values["exact"])
    shares = tuple(values["shares"])
    return Evidence(
        **values | {"against": Budget(**values["against"]), "exact": exact, "shares": shares}
    )


def _tuples(value: Any) -> Any:
    """The value with tuples in place of JSON's lists."""
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
