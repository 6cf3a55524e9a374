"""Each suite can fail: on its view without a row, though the tables below have some; every map expectation passes."""

import re
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
from tasks.reporting.validation import InvalidWarehouseError, stated, validate_views
from tests.projections import few_releases, joined, one_release, release_key
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


def views_of(folder: str) -> list[View]:
    """All that are created of this folder's database, in order; with those of staging."""
    return folder_views("inputs") if folder == "inputs" else database_views(folder, tables_of(folder))


@pytest.fixture(scope="module", params=["reports", "operator", "inputs"])
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, duckdb.DuckDBPyConnection]]:
    folder = str(request.param)
    with duckdb.connect() as connection:
        fill(connection, tables_of(folder), views_of(folder))
        yield folder, connection


def test_full_tables_pass_and_each_suite_fails_on_its_view_without_a_row(
    database: tuple[str, duckdb.DuckDBPyConnection], subtests: pytest.Subtests
) -> None:
    folder, connection = database
    validate_views(connection, views_of(folder))
    for view in (view for view in views_of(folder) if view.expectations):
        with subtests.test(view.name), without_a_row(connection, view):
            with pytest.raises(InvalidWarehouseError, match=rf"view {view.name} does not pass .*(row_count|sum)"):
                validate_views(connection, [view])


@contextmanager
def without_a_row(connection: duckdb.DuckDBPyConnection, view: View) -> Iterator[None]:
    """The view, for a while, without a row."""
    with reverted(connection):
        if view.is_table:
            connection.execute(f"delete from {view.name}")
        else:
            connection.execute(f"create table emptied as select * from {view.qualified} limit 0")
            connection.execute(f"create or replace view {view.qualified} as select * from emptied")
        yield


@contextmanager
def reverted(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """What is changed inside is not kept."""
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("rollback")


# What one column of every row is set to, and the expectation that must see it; NULL is no value, so sets let it pass.
SPOILED: dict[str, list[tuple[str, str, str]]] = {
    "staging.certificates": [
        ("release_key", "'of no release'", "compound_columns_to_be_unique"),
        ("position", "0", "compound_columns_to_be_unique of release_key and position"),
        ("position", "position - 1", "be_between of position"),
        ("statement_id", "'same'", "compound_columns_to_be_unique of release_key and statement_id"),
        ("statement", "NULL", "not_be_null of statement"),
        ("statement", "' '", "match_regex of statement"),
        ("weight", "'-1'", "match_regex of weight"),
        ("certificate_units", "NULL", "not_be_null of certificate_units"),
        ("certificate_units", "-1", "be_between of certificate_units"),
        ("margin_units", "-1", "be_between of margin_units"),
        ("reason", "'tired'", "be_in_set of reason"),
        ("reason", "'not_selected'", "be_in_set of certificate_units"),
        ("reason", "'not_reached'", "be_in_set of certificate_units"),
        ("epsilon_per_statement_nats", "-0.1", "be_between of epsilon_per_statement_nats"),
        ("beta_per_statement", "0.6", "be_between of beta_per_statement"),
    ],
    "statements_at_thresholds": [
        ("decision", "'emit'", "expect_table_row_count_to_equal"),
        ("decision", "NULL", "not_be_null of decision"),
        ("decision", "'certify'", "be_in_set of decision"),
        ("abstain_reason", "'tired'", "be_in_set of abstain_reason"),
        ("abstain_reason", "NULL", "not_be_null of abstain_reason"),
        ("abstain_reason", "'below_threshold'", "to_be_null of abstain_reason"),
        ("abstain_reason", "'not_selected'", "be_in_set of has_certificate"),
        ("abstain_reason", "'not_reached'", "be_in_set of has_certificate"),
        ("n", "0", "be_in_set of has_certificate"),
        ("has_certificate", "false", "be_between of certificate_units"),
        ("theta", "'0.05'", "compound_columns_to_be_unique"),
        ("theta_share", "1.5", "be_between of theta_share"),
        ("threshold_units", "-1", "be_between of threshold_units"),
        ("threshold_units", "5000", "greater_than_b of n and threshold_units"),
        ("needed_units", "5000", "greater_than_b of n and needed_units"),
        ("needed_units", "0", "greater_than_b of needed_units and threshold_units"),
        ("certificate", "1.5", "be_between of certificate"),
        ("certificate_units", "5000", "greater_than_b of n and certificate_units"),
        ("certificate_units", "-1", "be_between of certificate_units"),
        ("margin_units", "-1", "be_between of margin_units"),
        ("margin", "-0.1", "be_between of margin"),
        ("scope", "'world'", "be_in_set of scope"),
        ("edition", "0", "be_between of edition"),
        ("editions", "0", "be_between of editions"),
        ("beta_per_statement", "0.6", "be_between of beta_per_statement"),
        *(
            (column, "NULL", f"not_be_null of {column}")
            for column in ("statement", "certificate", "guarantee", "margin", "is_vacuous", "question_key")
        ),
        *(
            (column, "NULL", f"not_be_null of {column}")
            for column in ("has_certificate", "is_superseded", "meaning", "weight")
        ),
    ],
    "statements": [
        ("certificate_units", "certificate_units + 1", "expect_table_row_count_to_equal"),
        ("margin", "0.0", "expect_table_row_count_to_equal"),
        ("statement", "NULL", "not_be_null of statement"),
        ("decision", "NULL", "not_be_null of decision"),
        ("decision", "'certify'", "be_in_set of decision"),
        ("statement_id", "'same'", "compound_columns_to_be_unique"),
    ],
}


@pytest.fixture(scope="module")
def certified() -> Iterator[duckdb.DuckDBPyConnection]:
    """Releases with statements that are emitted, and with others, at two thresholds."""
    tables = release_tables(joined(one_release([400, 60, 0], thetas=("0.05", "0.1")), few_releases()))
    with duckdb.connect() as connection:
        fill(connection, tables, database_views("reports", tables))
        yield connection


@pytest.mark.parametrize("name", SPOILED)
def test_a_value_that_is_wrong_is_seen_where_it_is(
    certified: duckdb.DuckDBPyConnection, subtests: pytest.Subtests, name: str
) -> None:
    view = next(view for view in views_of("reports") if view.qualified == name)
    validate_views(certified, [view])
    for column, value, expectation in SPOILED[name]:
        with subtests.test(f"{column} is {value}"), reverted(certified):
            certified.execute(f"create table spoiled as select * replace ({value} as {column}) from {name}")
            if view.is_table:
                certified.execute(f"drop table {name} cascade")
            certified.execute(f"create or replace view {name} as select * from spoiled")
            with pytest.raises(InvalidWarehouseError, match=rf"{expectation}\b"):
                validate_views(certified, [view])


@pytest.mark.parametrize("name", SPOILED)
def test_each_expectation_of_these_suites_fails_for_some_wrong_value(name: str) -> None:
    view = next(view for view in views_of("reports") if view.qualified == name)
    stated_ones = {stated(one) for one in view.expectations}
    seen = {one for one in stated_ones for *_, expectation in SPOILED[name] if re.search(rf"{expectation}\b", one)}
    of_the_shape = {"expect_table_columns_to_match_ordered_list", "expect_table_row_count_to_equal"}
    assert stated_ones - seen - of_the_shape == set()
