"""Attributes of a whole log: plain values, or trees of them as XES nests them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.log.errors import LogError

Value = str | int | float | bool | datetime | None


@dataclass(frozen=True)
class Attribute:
    """A key with a value and attributes of its own; without a value it is a list."""

    key: str
    value: Value = None
    children: tuple[Attribute, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.value, str | int | float | bool | datetime | None):
            raise LogError(
                f"the log attribute {self.key!r} has a value of type "
                f"{type(self.value).__name__}; use text, a number, a boolean, a datetime, "
                "or an Attribute with children"
            )


def as_attributes(attributes: Mapping[str, object]) -> tuple[Attribute, ...]:
    """A mapping of keys to plain values or Attributes, as Attributes."""
    return tuple(
        Attribute(key, value.value, value.children)
        if isinstance(value, Attribute)
        else Attribute(key, value)  # type: ignore[arg-type]
        for key, value in attributes.items()
    )


def as_mapping(attributes: tuple[Attribute, ...]) -> dict[str, object]:
    """Attributes by key: the plain value of each, or the Attribute where it has children."""
    return {
        attribute.key: attribute
        if attribute.children or attribute.value is None
        else attribute.value
        for attribute in attributes
    }


def to_json(attribute: Attribute) -> dict[str, Any]:
    """A form that JSON can carry without loss."""
    value = attribute.value
    if isinstance(value, datetime):
        stamp = value if value.tzinfo else value.replace(tzinfo=UTC)
        form: dict[str, Any] = {"key": attribute.key, "date": stamp.isoformat()}
    else:
        form = {"key": attribute.key, "value": value}
    if attribute.children:
        form["children"] = [to_json(child) for child in attribute.children]
    return form


def from_json(form: Mapping[str, Any]) -> Attribute:
    """The attribute that `to_json` wrote."""
    value = datetime.fromisoformat(form["date"]) if "date" in form else form["value"]
    return Attribute(form["key"], value, tuple(map(from_json, form.get("children", ()))))
