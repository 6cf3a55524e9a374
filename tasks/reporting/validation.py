"""Suites of the warehouse, run by Great Expectations. The only code that uses it; it is imported when first needed.

No value of a row is kept: Great Expectations is asked for booleans (for private tables also for counts), nothing that
it answers is stored but those, and the error that is raised names the view, the expectations that failed and their
columns.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.views import Expectation, Value, View

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd
    from great_expectations.datasource.fluent.pandas_datasource import DataFrameAsset

_passed: "dict[tuple[str, bool], tuple[Outcome, ...]]" = {}
"""What passed in this process, by digest and whether rows were counted: the same rows pass the same suite again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One expectation on one view. checked, unmet: rows, where counts were asked for and the expectation counts any."""

    expectation: Expectation
    passed: bool
    checked: int | None = None
    unmet: int | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """What a view's suite said."""

    view: View
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> list[Expectation]:
        """The expectations that are not met."""
        return [outcome.expectation for outcome in self.outcomes if not outcome.passed]


class InvalidWarehouseError(Exception):
    """A view does not pass its suite, so its database is not published.

    `str` names the view, the expectations and their columns only. validations: of all views, also those that passed.
    """

    def __init__(self, validations: Sequence[Validation]) -> None:
        failed = next(validation for validation in validations if validation.failed)
        says = ", ".join(sorted({stated(expectation) for expectation in failed.failed}))
        super().__init__(f"view {failed.view.name} does not pass {says}")
        self.validations = tuple(validations)


def stated(expectation: Expectation) -> str:
    """'expect_column_values_to_not_be_null of n', without any value."""
    kwargs = expectation.kwargs
    columns = [kwargs[name] for name in ("column", "column_A", "column_B") if name in kwargs]
    listed = kwargs.get("column_list")
    if isinstance(listed, list) and expectation.type != "expect_table_columns_to_match_ordered_list":
        columns += listed
    return f"{expectation.type} of {' and '.join(map(str, columns))}" if columns else expectation.type


def validate_views(
    connection: duckdb.DuckDBPyConnection, views: Iterable[View], *, counts: bool = False
) -> list[Validation]:
    """Run every view's suite on the database that `connection` is in.

    counts: also how many rows were checked and are wrong (private tables only).
    Raises InvalidWarehouseError when a view fails, after all were looked at.
    """
    context: gx.data_context.EphemeralDataContext | None = None
    validations = []
    for view in (view for view in views if view.expectations):
        suite = [Expectation(one.type, _kwargs(connection, one)) for one in view.expectations]
        rows = connection.sql(f"select * from {view.qualified}").to_arrow_table()  # noqa: S608
        digest = _digest(view, suite, rows)
        outcomes = _passed.get((digest, counts))
        if outcomes is None:
            context = context or _context()
            assets = context.data_sources.add_or_update_pandas(view.name)
            found = _evaluate(
                assets.add_dataframe_asset(view.name), connection.from_arrow(rows).df(), suite, counts=counts
            )
            outcomes = tuple(_outcome(one, found.get(at)) for at, one in enumerate(view.expectations))
        validations.append(Validation(view, outcomes))
        if not validations[-1].failed:
            _passed[digest, counts] = outcomes
    if any(validation.failed for validation in validations):
        raise InvalidWarehouseError(validations)
    return validations


def _context() -> "gx.data_context.EphemeralDataContext":
    """In memory, without a site of documents, analytics, progress bars or log."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when the package is imported
    from great_expectations import get_context
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    log = logging.getLogger("great_expectations")  # its tracebacks may hold values of rows
    log.propagate = False
    log.addHandler(logging.NullHandler())
    settings = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
    )
    return get_context(mode="ephemeral", project_config=settings)


def _evaluate(
    asset: "DataFrameAsset", frame: "pd.DataFrame", suite: Sequence[Expectation], *, counts: bool
) -> dict[int, Any]:
    """Great Expectations' result of each expectation, by its place in the suite; what it dropped unseen is missing."""
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})
    configured = [
        ExpectationConfiguration(type=one.type, kwargs=dict(one.kwargs), meta={"place": at})
        for at, one in enumerate(suite)
    ]
    wanted = {"result_format": "BASIC", "partial_unexpected_count": 0, "exclude_unexpected_values": True}
    try:
        result = batch.validate(
            ExpectationSuite(name=asset.name, expectations=configured),
            result_format=wanted if counts else "BOOLEAN_ONLY",
        )
    except Exception:  # may quote values of rows; every expectation then counts as not met
        return {}
    return {one.expectation_config.meta["place"]: one for one in result.results}


def _outcome(expectation: Expectation, found: Any) -> Outcome:
    """Booleans and counts, never an observed value. An expectation that was dropped unseen is not met."""
    if found is None:
        return Outcome(expectation, passed=False)
    numbers = [found.result.get(name) for name in ("element_count", "unexpected_count")]
    checked, unmet = (int(number) if number is not None else None for number in numbers)
    return Outcome(expectation, bool(found.success), checked, unmet)


def _digest(view: View, suite: Sequence[Expectation], rows: pa.Table) -> str:
    """SHA-256 over suite and rows, hex."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="none")  # Arrow's own format has what was in memory where a value is null
    said = [_library_version(), view.qualified, [(one.type, one.kwargs) for one in suite]]
    content = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode())
    content.update(sink.getvalue())
    return content.hexdigest()


@lru_cache(maxsize=1)
def _library_version() -> str:
    return version("great-expectations")


def _kwargs(connection: duckdb.DuckDBPyConnection, expectation: Expectation) -> dict[str, Value]:
    return {key: _value(connection, value) for key, value in expectation.kwargs.items()}


def _value(connection: duckdb.DuckDBPyConnection, value: Value) -> Value:
    """The value itself, or for {"sql": QUERY} the one number that QUERY gives."""
    if not isinstance(value, dict) or "sql" not in value:
        return value
    rows = connection.execute(str(value["sql"])).fetchall()
    return int(rows[0][0])
