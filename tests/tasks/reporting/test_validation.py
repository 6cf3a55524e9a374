"""Suites: they see empty views, dropped expectations and values of the wrong kind, and keep no value."""

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tasks.reporting.database import fill
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.tables import RELEASE_SCHEMAS, release_tables
from tasks.reporting.validation import InvalidWarehouseError, _ask, _evaluate, _with_numbers, validate_views
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


def test_what_passed_before_is_not_taken_for_what_is_there_now(connection: duckdb.DuckDBPyConnection) -> None:
    """Suites that passed are remembered with the rows: one changed value, and they run again."""
    [view] = [view for view in database_views("reports", release_tables(few_releases())) if view.name == "statements"]
    validate_views(connection, [view])
    for change in ("decision = 'certify'", "statement = NULL", "is_first_edition = false"):
        validate_views(connection, [view])
        connection.execute("create or replace table kept as from statements_at_thresholds")
        connection.execute(f"update statements_at_thresholds set {change} where certificate_units = 51")
        with pytest.raises(InvalidWarehouseError, match="view statements does not pass"):
            validate_views(connection, [view])
        connection.execute("delete from statements_at_thresholds; insert into statements_at_thresholds from kept")


@pytest.mark.parametrize("folder", ["reports", "operator"])
def test_without_a_row_the_library_says_what_is_said_without_asking_it(folder: str) -> None:
    """Row by row nothing is wrong where there is no row; so those expectations are not run, in any suite."""
    schemas = {"reports": RELEASE_SCHEMAS, "operator": OPERATOR_SCHEMAS}[folder]
    tables = {name: (schema.empty_table(), schema) for name, schema in schemas.items()}
    views = database_views(folder, tables)
    with duckdb.connect() as connection:
        fill(connection, tables, views)
        for view in (view for view in views if view.expectations):
            suite = _with_numbers(connection, view.expectations)
            rows = connection.sql(f"select * from {view.qualified}").to_arrow_table()
            for counts in (False, True):
                asked = _ask(rows, dict(enumerate(suite)), counts=counts)
                assert _evaluate(rows, suite, counts=counts) == asked, view.name


@pytest.mark.parametrize(
    "wrong",
    [
        Expectation("expect_column_values_to_not_be_null", {"column": "missing"}),
        Expectation("expect_column_values_to_be_nice", {"column": "n"}),
        Expectation("expect_column_values_to_be_between", {"column": "n", "min_value": [3]}),
        Expectation("expect_column_max_to_be_between", {"column": "n", "min_value": 0}),
    ],
)
def test_without_a_row_a_wrong_expectation_fails_even_so(
    connection: duckdb.DuckDBPyConnection, wrong: Expectation
) -> None:
    connection.execute("create view bare as select * from releases limit 0")
    with pytest.raises(InvalidWarehouseError, match="view bare does not pass"):
        validate_views(connection, [one_view("bare", wrong)])
