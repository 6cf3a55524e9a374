"""Every view on given rows: NAME/given/TABLE.csv gives NAME/expected/NAME.csv, in that order.

A given file names the columns that matter, the others have the defaults of tests/projections.py; a table without a
file is empty. An expected file may leave columns out. An empty cell is NULL.
"""

import csv
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tasks.reporting.database import fill
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.tables import RELEASE_SCHEMAS
from tests.projections import DEFAULTS
from tests.study_rows import STUDY_DEFAULTS
from warehouse.views import View, database_views, folder_views

CASES = Path(__file__).parent
BASE = {"reports": RELEASE_SCHEMAS, "operator": OPERATOR_SCHEMAS}
ROWS = DEFAULTS | STUDY_DEFAULTS
REPORTED = [*folder_views("reports"), *folder_views("operator")]
ALL = [*folder_views("staging"), *REPORTED]


def view_name(view: View) -> str:
    return f"{view.folder}-{view.name}"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def given_table(view: View, name: str) -> pa.Table:
    """The given rows with defaults, typed by the table's schema."""
    schema, path = BASE[view.folder][name], CASES / view.name / "given" / f"{name}.csv"
    rows = rows_of(path) if path.exists() else []
    unknown = {column for row in rows for column in row} - set(schema.names)
    assert not unknown, f"{path.name} has columns that table {name} has not"

    def column(field: pa.Field) -> pa.Array:
        default = ROWS.get(name, {}).get(field.name)
        texts = [row.get(field.name, None if default is None else str(default)) or None for row in rows]
        return pa.array(texts, pa.string()).cast(field.type)

    return pa.table([column(field) for field in schema], schema=schema)


def filled(view: View) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    tables = {name: (given_table(view, name), schema) for name, schema in BASE[view.folder].items()}
    fill(connection, tables, database_views(view.folder, tables))
    return connection


def as_text(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("view", REPORTED, ids=view_name)
def test_given_rows_give_the_expected_rows_in_order(view: View) -> None:
    expected = rows_of(CASES / view.name / "expected" / f"{view.name}.csv")
    with filled(view) as connection:
        answer = connection.sql(f"select * from {view.qualified}").to_arrow_table().to_pylist()
    columns = list(expected[0])
    assert [{name: as_text(row[name]) for name in columns} for row in answer] == expected


@pytest.mark.parametrize("view", REPORTED, ids=view_name)
def test_every_view_has_a_suite_and_a_case_folder(view: View) -> None:
    types = {one.type for one in view.expectations}
    assert "expect_table_columns_to_match_ordered_list" in types
    assert list((CASES / view.name / "given").glob("*.csv"))
    assert (CASES / view.name / "expected" / f"{view.name}.csv").is_file()


def test_every_case_folder_belongs_to_a_view() -> None:
    folders = {path.name for path in CASES.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))}
    assert folders == {view.name for view in REPORTED}


def test_every_base_table_has_one_staging_view() -> None:
    assert {view.name for view in folder_views("staging")} == {*RELEASE_SCHEMAS, *OPERATOR_SCHEMAS}


@pytest.mark.parametrize("view", ALL, ids=view_name)
def test_a_file_says_its_grain_and_then_exactly_what_it_reads(view: View) -> None:
    first, second = view.sql.splitlines()[:2]
    assert re.match(r"-- One row per ", first)
    assert second.startswith("-- Reads: ")
    body = view.sql[view.sql.index(" as\n") + 4 :].rstrip().removesuffix(";")
    with duckdb.connect() as connection:
        read = {name.split(" AS ")[0] for name in connection.get_table_names(body, qualified=True)}
    inner = set(re.findall(r"^(\w+) as \($", body, re.MULTILINE))  # common table expressions
    assert read - inner == set(view.reads)


@pytest.mark.parametrize("view", ALL, ids=view_name)
def test_a_file_creates_the_view_it_is_named_after(view: View) -> None:
    assert re.findall(r"^create (?:view|table) (\S+) as$", view.sql, re.MULTILINE) == [view.qualified]


@pytest.mark.parametrize("view", ALL, ids=view_name)
def test_a_table_says_why_it_is_one(view: View) -> None:
    assert view.is_table == view.sql.splitlines()[2].startswith("-- A table: ") == ("create table" in view.sql)


@pytest.mark.parametrize("folder", ["reports", "operator"])
def test_only_staging_reads_base_tables(folder: str) -> None:
    assert not [view.name for view in folder_views(folder) for read in view.reads if read.startswith("base.")]
