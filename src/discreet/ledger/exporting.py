"""The ledger as a file for the data-protection officer: CSV to read, JSON to check."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

COLUMNS = (
    *("number", "time", "source", "kind", "user", "purpose", "mechanism", "status", "epsilon"),
    *("delta", "neighbours", "unit", "case_column", "individual_column", "parameters"),
    *("spent_epsilon", "spent_delta", "release", "certificate", "hash"),
)


def as_document(exported: dict[str, Any]) -> bytes:
    """The export as JSON."""
    return json.dumps(exported, ensure_ascii=False, indent=1).encode() + b"\n"


def as_csv(exported: dict[str, Any]) -> bytes:
    """The export as CSV, one line per entry."""
    text = io.StringIO(newline="")
    lines = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore")
    lines.writeheader()
    for entry in exported["entries"]:
        row = _flat(json.loads(entry["body"])) | {"hash": entry["hash"]}
        lines.writerow({name: _inert(value) for name, value in row.items()})
    return text.getvalue().encode()


def _flat(entry: dict[str, Any]) -> dict[str, Any]:
    flat = dict(entry)
    if "account" in entry:
        account = entry["account"]
        flat |= {name: account[name] for name in ("epsilon", "delta", "neighbours", "unit")}
        flat |= {f"spent_{name}": account["spent"][name] for name in ("epsilon", "delta")}
    if "guarantee" in entry:
        promise = entry["guarantee"]
        flat |= {name: promise[name] for name in ("status", "neighbours", "unit")}
        flat |= {name: promise.get(name) for name in ("case_column", "individual_column")}
        flat |= promise["holds"]
        flat["parameters"] = json.dumps(entry["parameters"], ensure_ascii=False, sort_keys=True)
    return flat


def _inert(value: Any) -> Any:
    """A text that a spreadsheet does not run as a formula."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )
