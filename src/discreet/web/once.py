"""What is sent twice: the same again gets the same answer, other content is a conflict."""

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
    """What may happen once only: a word of whoever asks, and the digest of what they ask for."""

    key: str
    content: str

    @classmethod
    def of(cls, person: Person, word: str, *content: Any) -> Self:
        """What a person asks for; the word is theirs alone."""
        return cls(f"{person.id} {word}", digest(*content))

    def earlier(self, connection: Connection, table: Table) -> Row[Any] | None:
        """What came with this key before; a conflict if that was not the same."""
        row = connection.execute(select(table).where(table.c.once == self.key)).one_or_none()
        if row is not None and row.content != self.content:
            raise ConflictError(
                translate("This was sent before, with other content. Nothing was done this time.")
            )
        return row


def digest(*content: Any) -> str:
    """What tells contents apart, of plain values."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
