"""Suites: they see empty views, dropped expectations and values of the wrong kind, and keep no value."""

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tasks.reporting.database import fill
from tasks.reporting.tables import release_tables
from tasks.reporting.validation import InvalidWarehouseError, validate_views
from tests.projections import few_releases
from tests.study_rows import study_tables_of
from warehouse.views import Expectation, View, database_views

CANARY = "CANARY-77d0e2"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    tables = release_tables(few_releases()) | study_tables_of(study_runs=[{}], study_cells=[{}])
    with duckdb.connect() as connection:
        fill(connection, tables, database_views("reports", tables))
        yield connection


def one_view(name: str, *expectations: Expectation) -> View:
    return View(name, "reports", "", expectations)


def test_an_unknown_expectation_is_a_failure_and_not_left_out(connection: duckdb.DuckDBPyConnection) -> None:
    known = Expectation("expect_column_values_to_not_be_null", {"column": "n"})
    unknown = Expectation("expect_columns_to_be_nice", {"column": "n"})
    with pytest.raises(InvalidWarehouseError, match=r"does not pass expect_columns_to_be_nice of n$"):
        validate_views(connection, [one_view("releases", known, unknown)])


def test_an_expectation_that_raises_is_a_failure(connection: duckdb.DuckDBPyConnection) -> None:
    wrong = Expectation("expect_column_values_to_be_between", {"column": "corpus", "min_value": 0})
    with pytest.raises(InvalidWarehouseError, match="view releases does not pass expect_column_values_to_be_between"):
        validate_views(connection, [one_view("releases", wrong)])


def test_failing_values_are_nowhere(
    connection: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    connection.execute(f"create view spoiled as select '{CANARY}' as text, 1 as number")
    suite = [
        Expectation("expect_column_values_to_be_in_set", {"column": "text", "value_set": ["other"]}),
        Expectation("expect_column_max_to_be_between", {"column": "text", "max_value": 3}),
        Expectation("expect_column_values_to_match_regex", {"column": "number", "regex": "x"}),
    ]
    with pytest.raises(InvalidWarehouseError) as raised:
        validate_views(connection, [one_view("spoiled", *suite)])
    assert CANARY not in str(raised.value) + "".join(capfd.readouterr()) + caplog.text
    assert raised.value.__cause__ is None and raised.value.__context__ is None
    assert os.listdir(tmp_path) == []
