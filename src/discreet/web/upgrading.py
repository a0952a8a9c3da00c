"""Upgrades of the server's tables from earlier versions to this one."""

from __future__ import annotations

from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, MetaData, insert, inspect, select

VERSION = "web_version"
Rows = dict[str, list[dict[str, Any]]]
"""The rows of each table, by the table's name."""


def upgrade(connection: Connection, schema: MetaData) -> None:
    """Upgrade version 1 to 2, in one transaction: things belong to identifiers, not to names.

    Version 1 gave a name that was added again everything its former holder had. What was asked for
    before the last removal of a name stays with a person who can no longer sign in.
    """
    rows = _taken_out(connection)
    owners = _Owners(rows)
    for job in rows["web_jobs"]:
        job["person"] = owners.of(job["user"], job["asked"])
    asked = {job["id"]: job["asked"] for job in rows["web_jobs"]}
    for release in rows["web_releases"]:
        release["person"] = owners.of(release["user"], asked.get(release["job"], 0.0))
    for request in rows["web_requests"]:
        request["person"] = owners.of(request["user"], request["asked"])
        request |= {"cost_epsilon": request["epsilon"], "cost_delta": request["delta"]}
    readings = {log["id"]: log["reading"] for log in rows["web_logs"]}
    for offer in rows["web_offers"]:
        offer |= {"reading": readings.get(offer["log"], {}), "at_once_delta": 0.0}
    for entry in rows["web_trail"]:
        del entry["number"]  # numbered afresh, in the same order
    rows["web_users"] += owners.gone
    schema.create_all(connection)
    for table in schema.sorted_tables:
        if rows.get(table.name):
            connection.execute(insert(table), rows[table.name])
    connection.execute(insert(schema.tables[VERSION]).values(version=2))


def _taken_out(connection: Connection) -> Rows:
    """All rows of the server's tables, which are then dropped."""
    ours = [name for name in inspect(connection).get_table_names() if name.startswith("web_")]
    before = MetaData()
    before.reflect(connection, only=ours)
    found = {
        name: [
            dict(row)
            for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
        ]
        for name, table in before.tables.items()
        if name != VERSION
    }
    before.drop_all(connection)
    return found


class _Owners:
    """The owners of what version 1 kept under a name."""

    def __init__(self, rows: Rows) -> None:
        self.present = {user["name"]: user["id"] for user in rows["web_users"]}
        removed = {
            entry["what"]: _seconds(entry["time"])
            for entry in rows["web_trail"]
            if entry["did"] == "removed"
        }
        again = [one for one in rows["web_users"] if one["active"] and one["name"] in removed]
        self.gone = [
            {**one, "id": token_hex(16), "password": None, "active": False} for one in again
        ]
        self.former = {one["name"]: (one["id"], removed[one["name"]]) for one in self.gone}

    def of(self, name: str, moment: float) -> str | None:
        """The identifier of the person who had that name at a Unix time; None if unknown."""
        identity, until = self.former.get(name, ("", 0.0))
        return identity if moment < until else self.present.get(name)


def _seconds(time: str) -> float:
    """The Unix time at which the second that the trail names is over."""
    begin = datetime.strptime(time, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return begin.timestamp() + 1
