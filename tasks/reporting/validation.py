"""Suites of the warehouse, run by Great Expectations. The only code that uses it; it is imported when first needed.

No value of a row is kept: Great Expectations is asked for booleans (for private tables also for counts), nothing that
it answers is stored but those, and the error that is raised names the view, the expectations that failed and their
columns.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.views import Expectation, Value, View

if TYPE_CHECKING:
    import great_expectations as gx

_passed: "dict[tuple[str, str, bool], tuple[str, tuple[Outcome, ...]]]" = {}
"""What each view passed last in this process, by folder, name and whether rows were counted: the digest of suite and
rows, and the outcomes. The same rows pass the same suite again."""


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
    columns = [] if expectation.type == "expect_table_columns_to_match_ordered_list" else columns_of(expectation)
    return f"{expectation.type} of {' and '.join(columns)}" if columns else expectation.type


def columns_of(expectation: Expectation) -> list[str]:
    """The columns that it names, in its order."""
    kwargs = expectation.kwargs
    columns = [kwargs[name] for name in ("column", "column_A", "column_B") if name in kwargs]
    listed = kwargs.get("column_list")
    return [str(column) for column in [*columns, *(listed if isinstance(listed, list) else [])]]


def validate_views(
    connection: duckdb.DuckDBPyConnection, views: Iterable[View], *, counts: bool = False
) -> list[Validation]:
    """Run every view's suite on the database that `connection` is in.

    counts: also how many rows were checked and are wrong (private tables only).
    Raises InvalidWarehouseError when a view fails, after all were looked at.
    """
    validations = [_validated(connection, view, counts=counts) for view in views if view.expectations]
    if any(validation.failed for validation in validations):
        raise InvalidWarehouseError(validations)
    return validations


def _validated(connection: duckdb.DuckDBPyConnection, view: View, *, counts: bool) -> Validation:
    """Everything that the view holds is read and compared by digest; only what passed as it is now is not run again."""
    suite = _with_numbers(connection, view.expectations)
    rows = connection.sql(f"select * from {view.qualified}").to_arrow_table()  # noqa: S608
    name, digest = (view.folder, view.name, counts), _digest(view, suite, rows)
    known, outcomes = _passed.get(name, ("", ()))
    if known != digest:
        found = _evaluate(rows, suite, counts=counts)
        outcomes = tuple(  # of the suite as it is written, without the numbers that its queries gave
            replace(found[at], expectation=one) if at in found else Outcome(one, passed=False)
            for at, one in enumerate(view.expectations)
        )
        if all(outcome.passed for outcome in outcomes):
            _passed[name] = (digest, outcomes)
    return Validation(view, outcomes)


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


def _evaluate(rows: pa.Table, suite: Sequence[Expectation], *, counts: bool) -> dict[int, Outcome]:
    """The outcome of each expectation, by its place in the suite; what Great Expectations dropped unseen is missing.

    Without a row, what is said of each row holds, and is not asked: the other expectations look at what is missing.
    """
    vacuous = {at for at, one in enumerate(suite) if not len(rows) and _speaks_of_each_row(one, rows.column_names)}
    found = _ask(rows, {at: one for at, one in enumerate(suite) if at not in vacuous}, counts=counts)
    none = 0 if counts else None
    return found | {at: Outcome(suite[at], passed=True, checked=none, unmet=none) for at in vacuous}


def _speaks_of_each_row(expectation: Expectation, columns: Sequence[str]) -> bool:
    """Known, well-formed, and about single rows of columns that are there."""
    from great_expectations.exceptions import ExpectationNotFoundError
    from great_expectations.expectations import expectation as kinds
    from great_expectations.expectations.registry import get_expectation_impl

    by_row = (kinds.ColumnMapExpectation, kinds.ColumnPairMapExpectation, kinds.MulticolumnMapExpectation)
    try:
        kind = get_expectation_impl(expectation.type)
        kind(**expectation.kwargs)
    except (ExpectationNotFoundError, ValueError):  # pydantic's error is a ValueError
        return False
    return issubclass(kind, by_row) and set(columns_of(expectation)) <= set(columns)


def _ask(rows: pa.Table, suite: Mapping[int, Expectation], *, counts: bool) -> dict[int, Outcome]:
    """Great Expectations' own outcomes. In a context of its own: one that is shared remembers metrics by name."""
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    if not suite:
        return {}
    asset = _context().data_sources.add_pandas("rows").add_dataframe_asset("rows")
    frame = rows.to_pandas(strings_to_categorical=True, date_as_object=False)  # texts as codes: cheap to copy
    batch = asset.get_batch(asset.build_batch_request({"dataframe": frame}))
    configured = [
        ExpectationConfiguration(type=one.type, kwargs=dict(one.kwargs), meta={"place": at})
        for at, one in suite.items()
    ]
    wanted = {"result_format": "BASIC", "partial_unexpected_count": 0, "exclude_unexpected_values": True}
    try:
        result = batch.validate(
            ExpectationSuite(name="rows", expectations=configured), result_format=wanted if counts else "BOOLEAN_ONLY"
        )
    except Exception:  # may quote values of rows; every expectation then counts as not met
        return {}
    answers = {one.expectation_config.meta["place"]: one for one in result.results}
    return {at: _outcome(suite[at], answer) for at, answer in answers.items()}


def _outcome(expectation: Expectation, found: Any) -> Outcome:
    """Booleans and counts, never an observed value."""
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


def _with_numbers(connection: duckdb.DuckDBPyConnection, stated: Sequence[Expectation]) -> list[Expectation]:
    """The suite with, for each {"sql": QUERY}, the one number that QUERY gives; asked once, however often it stands."""

    @lru_cache
    def number(query: str) -> int:
        return int(connection.execute(query).fetchall()[0][0])

    def value(given: Value) -> Value:
        return number(str(given["sql"])) if isinstance(given, dict) and "sql" in given else given

    return [Expectation(one.type, {name: value(given) for name, given in one.kwargs.items()}) for one in stated]
