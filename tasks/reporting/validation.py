"""Suites of the warehouse, run by Great Expectations. The only code that uses it; it is imported when first needed.

No value of a row is kept: results are BOOLEAN_ONLY, nothing is stored, and the error that is raised names the view
and the types of the expectations that failed.
"""

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import duckdb

from warehouse.views import Expectation, Value, View

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd
    from great_expectations.datasource.fluent.pandas_datasource import DataFrameAsset


class InvalidWarehouseError(Exception):
    """A view does not pass its suite, so its database is not published. Names the view and expectation types only."""


def validate_views(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    """Run every view's suite on the database that `connection` is in.

    Raises InvalidWarehouseError for the first view that fails, with the types of its failed expectations.
    """
    assets = _context().data_sources.add_pandas("frames")
    for view in views:
        if not view.expectations:
            continue
        suite = [(one.type, _kwargs(connection, one)) for one in view.expectations]
        frame = connection.sql(f"select * from {view.qualified}").df()  # noqa: S608
        if failed := _failures(assets.add_dataframe_asset(view.name), frame, suite):
            raise InvalidWarehouseError(f"view {view.name} does not pass {', '.join(sorted(set(failed)))}")


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


def _failures(asset: "DataFrameAsset", frame: "pd.DataFrame", suite: list[tuple[str, dict[str, Value]]]) -> list[str]:
    """Types of the expectations that `frame` does not meet, or that Great Expectations could not evaluate."""
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})
    stated = [ExpectationConfiguration(type=kind, kwargs=kwargs) for kind, kwargs in suite]
    try:
        result = batch.validate(ExpectationSuite(name=asset.name, expectations=stated), result_format="BOOLEAN_ONLY")
    except Exception:
        raise InvalidWarehouseError(f"the suite of view {asset.name} cannot be run") from None  # may quote values
    met = [one.expectation_config.type for one in result.results if one.success]
    return _without(met, [kind for kind, _ in suite])


def _without(met: list[str], stated: list[str]) -> list[str]:
    """What is stated and not met, with repetition: an expectation that was dropped unseen counts as not met."""
    missing = list(stated)
    for kind in met:
        missing.remove(kind)
    return missing


def _kwargs(connection: duckdb.DuckDBPyConnection, expectation: Expectation) -> dict[str, Value]:
    return {key: _value(connection, value) for key, value in expectation.kwargs.items()}


def _value(connection: duckdb.DuckDBPyConnection, value: Value) -> Value:
    """The value itself, or for {"sql": QUERY} the one number that QUERY gives."""
    if not isinstance(value, dict) or "sql" not in value:
        return value
    rows = connection.execute(str(value["sql"])).fetchall()
    return int(rows[0][0])
