"""Where a private word or number turns up in what was written: any file in raw bytes, a database also cell by cell.

Neither look replaces the other: DuckDB packs numbers and long texts, so that its file does not hold their bytes; and a
row that was deleted is in no table, but may still lie in a page.
"""

import base64
import math
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb

SMALLEST_NUMBER = 1000  # smaller ones turn up by chance: in a version, a width, a day
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d{5,}")
_TIME_OR_UUID = re.compile(  # of Prefect: hold any digits by chance
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_DUCKDB_TEXTS = """
    select 'view ' || view_name, sql from duckdb_views() where not internal
    union all select 'comment of ' || table_name, comment from duckdb_tables() where comment is not null
    union all select 'comment of ' || view_name, comment from duckdb_views() where comment is not null
    union all select 'comment of ' || column_name, comment from duckdb_columns() where comment is not null
    union all select 'column of ' || table_name, column_name from duckdb_columns() where not internal
"""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must be nowhere. numbers: whole, at least SMALLEST_NUMBER; units: n, whose shares tell a number as well."""

    words: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    units: int | None = None

    def __post_init__(self) -> None:
        assert min(self.numbers, default=SMALLEST_NUMBER) >= SMALLEST_NUMBER

    def words_in(self, content: bytes) -> set[str]:
        """Words in these bytes: in UTF-8 or UTF-16, in any case, in base64 at any place."""
        lowered = content.lower()
        return {
            word
            for word in self.words
            if word.lower().encode() in lowered
            or any(needle in content for needle in [word.encode("utf-16-le"), *_in_base64(word.encode())])
        }

    def numbers_in(self, text: str) -> set[str]:
        """Numbers in this text as a whole, also with their thousands apart, or as a share of the units."""
        text = _TIME_OR_UUID.sub(" ", text)
        found = {str(number) for number in self.numbers if _written(number).search(text)}
        return found | {said for token in _DECIMAL.findall(text) for said in self._shares(float(token), 1e-5)}

    def in_text(self, text: str) -> set[str]:
        """Words and numbers in this text."""
        return self.words_in(text.encode("utf-8", "surrogatepass")) | self.numbers_in(text)

    def in_cell(self, value: object) -> set[str]:
        """Words and numbers in one value of a table."""
        if isinstance(value, float):
            return {str(number) for number in self.numbers if value == number} | self._shares(value, 1e-9)
        return self.words_in(value) if isinstance(value, bytes) else self.in_text(str(value))

    def _shares(self, value: float, within: float) -> set[str]:
        """'NUMBER as a share' where `value` is NUMBER / units, or the same in percent."""
        if self.units is None:
            return set()
        return {
            f"{number} as a share"
            for number in self.numbers
            for share in (number / self.units, 100 * number / self.units)
            if math.isclose(value, share, rel_tol=within)
        }


def find_leaks(places: Iterable[Path], secrets: Secrets) -> list[str]:
    """'FILE: what, where' for every secret in these files, and in all files of these folders."""
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [leak for file in files if file.is_file() for leak in _leaks_of(file, secrets)]


def _leaks_of(file: Path, secrets: Secrets) -> Iterator[str]:
    content = file.read_bytes()
    for word in secrets.words_in(content + str(file.name).encode()):
        yield f"{file.name}: {word}, in its bytes or its name"
    cells = _CELLS.get(file.suffix)
    if cells is None:
        for number in secrets.numbers_in(content.decode("utf-8", "replace")):
            yield f"{file.name}: {number}"
        return
    for where, value in cells(file):
        for said in secrets.in_cell(value):
            yield f"{file.name}: {said}, in {where}"


def duckdb_cells(file: Path) -> Iterator[tuple[str, object]]:
    """Every distinct value of every column of every table and view, their definitions, names and comments."""
    with duckdb.connect(str(file), read_only=True) as connection:
        yield from connection.execute(_DUCKDB_TEXTS).fetchall()
        names = "select distinct schema_name, table_name from duckdb_columns() where not internal order by all"
        for schema, table in connection.execute(names).fetchall():
            answer = connection.execute(f'select * from "{schema}"."{table}"')
            columns = [described[0] for described in answer.description]
            for column, values in zip(columns, zip(*answer.fetchall(), strict=True), strict=False):
                yield from ((f"{schema}.{table}.{column}", value) for value in set(map(_plain, values)))


def _plain(value: object) -> object:
    return value if isinstance(value, float | bytes) else str(value)


def sqlite_cells(file: Path) -> Iterator[tuple[str, object]]:
    """Every value of every column of every table."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            rows = connection.execute(f'select * from "{table}"')
            names = [described[0] for described in rows.description]
            for row in rows:
                for name, value in zip(names, row, strict=True):
                    yield f"{table}.{name}", value


_CELLS: dict[str, Callable[[Path], Iterator[tuple[str, object]]]] = {".duckdb": duckdb_cells, ".db": sqlite_cells}


def _in_base64(word: bytes) -> list[bytes]:
    """The parts of base64 texts that are the same whatever stands before and behind the word."""
    coded = (base64.b64encode(b"\0" * shift + word)[4 * (shift > 0) :].rstrip(b"=") for shift in range(3))
    return [part[:-1] for part in coded]


def _written(number: int) -> re.Pattern[str]:
    marks = (",", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
    grouped = "|".join(f"{number:,}".replace(",", mark) for mark in marks)
    return re.compile(rf"(?<![\w.])(?:{number}(?!\w|\.\d)|(?<!\d,)(?:{grouped})(?!\w|[.,]\d))")
