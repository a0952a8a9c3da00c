"""Idempotency keys: the same content sent again gets the same answer, other content a conflict."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection, Row, Table, select

from discreet.language import translate
from discreet.web.people import Person
from discreet.web.settings import ConflictError


@dataclass(frozen=True)
class Once:
    """An idempotency key, and the digest of the content that it was sent with."""

    key: str
    content: str

    @classmethod
    def of(cls, person: Person, word: str, *content: Any) -> Self:
        """The key of one person's `word`: other people may use the same word."""
        return cls(f"{person.id} {word}", digest(*content))

    def earlier(self, connection: Connection, table: Table) -> Row[Any] | None:
        """The row entered earlier with this key; raises a conflict if its content differs."""
        row = connection.execute(select(table).where(table.c.once == self.key)).one_or_none()
        if row is not None and row.content != self.content:
            raise ConflictError(
                translate("This was sent before, with other content. Nothing was done this time.")
            )
        return row


def digest(*content: Any) -> str:
    """A SHA-256 digest of plain values, to compare contents by."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
