"""Each suite can fail: on its view without a row, though the tables below have some; every map expectation passes."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pytest
from input_tables import input_tables

from schemas.inputs import INPUT_SCHEMAS
from schemas.records import RecordStatus
from tasks.reporting.database import fill
from tasks.reporting.dictionary import data_dictionary
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.tables import RELEASE_SCHEMAS, release_tables
from tasks.reporting.validation import InvalidWarehouseError, validate_views
from tests.projections import joined, one_release, release_key
from tests.study_rows import study_tables_of
from warehouse.views import View, database_views, folder_views

OPERATOR_ROWS: dict[str, list[dict[str, object]]] = {
    "partition_charges": [
        {"sequence": 1, "account": "a", "ledger_line": "all", "kind": "release", "release_key": "k", "corpus": "c"}
        | {"partition": "all", "partition_version": "v", "epsilon": "1", "epsilon_nats": 1.0, "delta": "0"}
        | {"rho": "0.5", "rho_nats": 0.5, "day": 20_000}
    ],
    "budgets": [{"account": "a", "ledger_line": "all", "spent_epsilon_nats": 1.0, "is_overspent": False}],
    "runs": [{"run_id": "r", "corpus": "c", "model": "m", "model_fingerprint": "f", "started_at": 0, "seconds": 1.0}],
    "partition_runs": [
        {"run_id": "r", "partition": "all", "partition_version": "v", "units": 1, "records": 2, "duplicates": 0}
        | {"pairs_scored": 1, "pairs_reused": 0, "was_sealed": False}
    ],
    "unreadable_records": [{"run_id": "r", "partition": "all", "status": "empty", "records": 1}],
    "quarantined_records": [
        {"corpus": "c", "partition_version": "v", "unit_id": "u", "record_id": "r", "status": status}
        for status in RecordStatus
        if status != "ok"
    ],
}


def tables_of(folder: str) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """Every base table of the folder's views, none without a row."""
    if folder == "inputs":
        return {name: (table, INPUT_SCHEMAS[name]) for name, table in input_tables().items()}
    if folder == "operator":
        return {name: (pa.Table.from_pylist(rows, OPERATOR_SCHEMAS[name]), OPERATOR_SCHEMAS[name])
                for name, rows in OPERATOR_ROWS.items()}  # fmt: skip
    again = one_release([4, 0], release_key=release_key("two"), edition=2, sequence=2)
    other = one_release([4, 9], release_key=release_key("other"), model="other", model_fingerprint="e" * 64, sequence=3)
    tables = release_tables(joined(one_release([5, 0]), again, other))
    described = {"data_dictionary": (data_dictionary(), RELEASE_SCHEMAS["data_dictionary"])}
    return tables | study_tables_of(study_runs=[{}], study_cells=[{}]) | described


@pytest.fixture(scope="module", params=["reports", "operator", "inputs"])
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, duckdb.DuckDBPyConnection]]:
    folder = str(request.param)
    with duckdb.connect() as connection:
        tables = tables_of(folder)
        fill(connection, tables, folder_views("inputs") if folder == "inputs" else database_views(folder, tables))
        yield folder, connection


def test_full_tables_pass_and_each_suite_fails_on_its_view_without_a_row(
    database: tuple[str, duckdb.DuckDBPyConnection], subtests: pytest.Subtests
) -> None:
    folder, connection = database
    validate_views(connection, folder_views(folder))
    for view in folder_views(folder):
        with subtests.test(view.name), without_a_row(connection, view):
            with pytest.raises(InvalidWarehouseError, match=rf"view {view.name} does not pass .*(row_count|sum)"):
                validate_views(connection, [view])


@contextmanager
def without_a_row(connection: duckdb.DuckDBPyConnection, view: View) -> Iterator[None]:
    """The view, for a while, without a row."""
    connection.execute("begin")
    try:
        if view.is_table:
            connection.execute(f"delete from {view.name}")
        else:
            connection.execute(f"create table emptied as select * from {view.name} limit 0")
            connection.execute(f"create or replace view {view.name} as select * from emptied")
        yield
    finally:
        connection.execute("rollback")
