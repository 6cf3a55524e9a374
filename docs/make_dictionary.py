"""Writes docs/dictionary.md from the schemas of the databases and warehouse/columns.yaml, as `make docs` does.

A test fails where the page is not what this writes.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tasks.reporting.dictionary import data_dictionary

PAGE = Path(__file__).parent / "dictionary.md"

Row = dict[str, Any]

_OPENING = """\
# Data dictionary

Written by `make docs` from the schemas of the databases and `warehouse/columns.yaml`; not by hand. The same, and the
views between what is read and what it is made of, in the database itself:

    privcert sql "select table_name, column_name, unit, meaning from data_dictionary where table_name = 'statements'"

[What each view is for](warehouse.md). *Units* are privacy units (authors, users, cases); a share is between 0 and 1.
"""
_CHAPTERS = {
    ("release", "main"): ("For analysts: release.duckdb", "Everything here passed the release log."),
    ("private", "main"): (
        "For the operator: operator.duckdb",
        "Private, every column: counts of records, ids and times did not pass the release log.",
    ),
    ("release", "base"): ("What release.duckdb is made of", "The tables `base.*`, one a schema of `schemas/`."),
    ("private", "base"): ("What operator.duckdb is made of", "Private, too."),
}


def dictionary_page() -> str:
    """The whole page."""
    rows = data_dictionary().to_pylist()
    return "\n".join([_OPENING, *(line for place in _CHAPTERS for line in _chapter(place, rows))])


def _chapter(place: tuple[str, str], rows: Iterable[Row]) -> Iterator[str]:
    """One database, or what it is made of: a section a table."""
    title, says = _CHAPTERS[place]
    yield f"## {title}\n\n{says}\n"
    chosen = [row for row in rows if (row["zone"], row["table_schema"]) == place]
    for table, columns in groupby(sorted(chosen, key=_in_order), key=lambda row: row["table_name"]):
        yield from _section(place, table, list(columns))


def _in_order(row: Row) -> tuple[str, int]:
    return row["table_name"], row["position"]


def _section(place: tuple[str, str], table: str, columns: list[Row]) -> Iterator[str]:
    yield f"### `{table if place[1] == 'main' else f'{place[1]}.{table}'}`\n"
    if columns[0]["grain"]:
        yield f"{columns[0]['grain']}\n"
    yield "| column | type | unit | meaning |\n| --- | --- | --- | --- |"
    for row in columns:
        yield f"| `{row['column_name']}` | {row['type']} | {row['unit'] or ''} | {_cell(row['meaning'])} |"
    yield ""


def _cell(text: str) -> str:
    """Text that Markdown takes literally, in a table."""
    return "".join(f"\\{letter}" if letter in "|*<>`" else letter for letter in text)


if __name__ == "__main__":
    PAGE.write_text(dictionary_page(), encoding="utf-8")
