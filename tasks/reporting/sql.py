"""`privcert sql`: one query on a database that is opened read-only and reaches nothing else."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from schemas.errors import UserError
from tasks.reporting.database import check_there, read_origin, reading
from tasks.reporting.places import operator_database, release_database
from tasks.storage.home import Home

_ALLOWED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_READABLE = 24  # characters of a column that a table should have room for
# These errors speak of the query's text and of names; any other may quote a value of a row.
_ABOUT_THE_QUERY = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)


def run_sql(home: Home, query: str, operator: bool = False, output: str = "table", width: int = 120) -> bytes | str:
    """The answer of one SELECT, SHOW, DESCRIBE or EXPLAIN on release.duckdb, or with `operator` on operator.duckdb.

    output: table (text for a screen `width` characters wide), csv, json (a list of objects) or parquet (bytes).
    Raises UserError, one line, when there is no database yet, the output is unknown, or the query fails or is not
    one that reads.
    """
    if output not in _OUTPUTS:
        raise UserError(f"output must be one of {', '.join(_OUTPUTS)}")
    path = operator_database(home) if operator else release_database(home)
    answer = _answer(path, query)
    return _table_text(answer, width) if output == "table" else _OUTPUTS[output](answer)


def _answer(path: Path, query: str) -> pa.Table:
    check_there(path)
    read_origin(path)  # a file of a newer version is refused by name
    try:
        with reading(path) as connection:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type not in _ALLOWED:
                raise UserError("the query must be a single SELECT, SHOW, DESCRIBE or EXPLAIN")
            return connection.sql(query).to_arrow_table()
    except _ABOUT_THE_QUERY as error:
        raise UserError(f"the query cannot be run: {_one_line(error)}") from None
    except duckdb.Error as error:
        kind = type(error).__name__.removesuffix("Exception")
        raise UserError(f"the query fails on a row ({kind} error): change its expressions") from None


def _one_line(error: Exception) -> str:
    """The message without the part that shows the query with a caret under it."""
    return " ".join(str(error).split("\nLINE ")[0].split())


def _json(answer: pa.Table) -> str:
    names = _distinct(answer.column_names)
    rows = [dict(zip(names, map(_plain, row), strict=True)) for row in _rows(answer)]
    return json.dumps(rows, ensure_ascii=False, indent=2)


def _csv(answer: pa.Table) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(answer.column_names)
    writer.writerows([_cell(value) for value in row] for row in _rows(answer))
    return file.getvalue()


def _parquet(answer: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(answer, sink, compression="zstd")
    return sink.getvalue()


def _table_text(answer: pa.Table, width: int) -> str:
    """Rows side by side where they fit, else one below the other, a column a line."""
    names = [_printable(name) for name in answer.column_names]
    rows = [[_printable(_cell(value)) for value in row] for row in _rows(answer)]
    widths = [min(max(map(len, column)), _READABLE) + 3 for column in zip(names, *rows, strict=True)]
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    if sum(widths) > width:
        return "\n".join([*_below(names, rows), count]) + "\n"
    table = Table(box=box.SIMPLE_HEAD)
    for name, kind in zip(names, answer.schema.types, strict=True):
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        table.add_column(Text(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    file = io.StringIO()
    Console(file=file, width=width, no_color=True, highlight=False).print(table)
    return "\n".join([*(line.rstrip() for line in file.getvalue().splitlines() if line.strip()), count]) + "\n"


def _below(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    longest = max(map(len, names))
    return [
        line
        for number, row in enumerate(rows, start=1)
        for line in [
            f"-- row {number}",
            *(f"{name:<{longest}}  {cell}".rstrip() for name, cell in zip(names, row, strict=True)),
        ]
    ]


_OUTPUTS: dict[str, Callable[[pa.Table], bytes | str]] = {
    "table": lambda answer: _table_text(answer, 120),
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with its column number behind it."""
    return [f"{name}_{at}" if name in names[: at - 1] else name for at, name in enumerate(names, start=1)]


def _rows(answer: pa.Table) -> list[Sequence[object]]:
    return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))


def _cell(value: object) -> str:
    """How a value is written in text; NULL is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, dict | list):
        return json.dumps(_plain(value), ensure_ascii=False)
    return str(value)


def _plain(value: object) -> object:
    """The value as JSON has it: dates, decimals and bytes as text, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _cell(value)


def _printable(text: str) -> str:
    """Control characters written out, so that a statement cannot move the terminal's cursor."""
    return "".join(mark if mark.isprintable() or mark == "\n" else repr(mark)[1:-1] for mark in text)
