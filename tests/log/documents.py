"""Small XES documents for the tests."""

from __future__ import annotations

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0">\n'
STAMP = "2020-01-01T10:00:00.000+00:00"


def event(activity: str | None = "a", stamp: str | None = STAMP, more: str = "") -> str:
    """One event; None leaves an attribute out."""
    parts = [
        "" if activity is None else f'<string key="concept:name" value="{activity}"/>',
        "" if stamp is None else f'<date key="time:timestamp" value="{stamp}"/>',
        more,
    ]
    return "<event>\n" + "\n".join(part for part in parts if part) + "\n</event>\n"


def trace(name: str | None, *events: str, more: str = "") -> str:
    """One trace; None leaves its name out."""
    title = "" if name is None else f'<string key="concept:name" value="{name}"/>\n'
    return f"<trace>\n{title}{more}{''.join(events)}</trace>\n"


def document(*traces: str, head: str = "") -> str:
    """A whole log."""
    return f"{HEAD}{head}{''.join(traces)}</log>\n"
