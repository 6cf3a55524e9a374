"""What Prefect's database holds, without what differs between any two runs."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path


def prefect_content(root: Path) -> dict[str, list[str]]:
    """Every row of Prefect's database, with ids, names of runs and times masked."""
    with closing(sqlite3.connect(root / "private" / "prefect" / "prefect.db")) as connection:
        connection.row_factory = sqlite3.Row
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        return {
            table: sorted(map(_masked_row, connection.execute(f'select * from "{table}"')))
            for table in tables
            if not table.startswith("block_")  # Prefect's own catalogue of block types, in hash order
        }


def masked(text: str) -> str:
    """The text without ids, times, random names and numbers with a fraction."""
    text = re.sub(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", "<uuid>", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "<run>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "<time>", text)
    text = re.sub(r'"(prefect.resource.name|name|flow_run_name)": "[a-z_]+-[a-z0-9-]+"', "<random name>", text)
    return re.sub(r"\d+\.\d+", "<number>", text)


def _masked_row(row: sqlite3.Row) -> str:
    return masked(repr({key: _hidden(key, row[key]) for key in tuple(row.keys())}))


def _hidden(column: str, value: object) -> object:
    timed = ("time", "name", "created", "updated", "timestamp", "occurred", "received", "_seconds")
    unique = ("key", "id", "slug", "version")
    if any(word in column for word in timed) or column in unique or isinstance(value, float):
        return "…"
    return value
