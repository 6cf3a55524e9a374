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
    import pandas as pd


class InvalidWarehouseError(Exception):
    """A view does not pass its suite, so its database is not published. Names the view and expectation types only."""


def validate_views(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    """Run every view's suite on the database that `connection` is in.

    Raises InvalidWarehouseError for the first view that fails, with the types of its failed expectations.
    """
    for view in views:
        if not view.expectations:
            continue
        suite = [(one.type, _kwargs(connection, one)) for one in view.expectations]
        failed = _failures(view.name, connection.sql(f"select * from {view.qualified}").df(), suite)  # noqa: S608
        if failed:
            raise InvalidWarehouseError(f"view {view.name} does not pass {', '.join(sorted(set(failed)))}")


def _failures(name: str, frame: "pd.DataFrame", suite: list[tuple[str, dict[str, Value]]]) -> list[str]:
    """Types of the expectations that `frame` does not meet, or that Great Expectations could not evaluate."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when the package is imported
    # Its log would hold tracebacks with the frame's values in them.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset(name)
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})
    stated = [ExpectationConfiguration(type=kind, kwargs=kwargs) for kind, kwargs in suite]
    try:
        result = batch.validate(gx.ExpectationSuite(name=name, expectations=stated), result_format="BOOLEAN_ONLY")
    except Exception:
        raise InvalidWarehouseError(f"the suite of view {name} cannot be run") from None  # its text may hold values
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
    if not isinstance(value, dict):
        return value
    rows = connection.execute(str(value["sql"])).fetchall()
    return int(rows[0][0])
