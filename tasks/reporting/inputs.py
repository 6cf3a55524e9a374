"""The suites on what a release is computed from. They hold for any records that were ingested and scored as they should
be, whatever they say: a suite that fails tells of a fault, never of content, so it may stop a run at any time."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from schemas.errors import UserError
from schemas.inputs import INPUT_SCHEMAS
from tasks.reporting.data_docs import note_validation
from tasks.reporting.database import fill
from tasks.reporting.validation import InvalidWarehouseError, validate_views
from tasks.storage.home import Home
from warehouse.views import folder_views


def validate_inputs(home: Home, version: str, tables: Mapping[str, pa.Table]) -> None:
    """Run the suites of warehouse/inputs on these tables (INPUT_SCHEMAS) of a partition version; note the outcomes.

    Raises UserError, naming table, expectation and column, when one fails: before anything is drawn or charged.
    """
    views = folder_views("inputs")
    with duckdb.connect(config={"python_enable_replacements": False, "temp_directory": ""}) as connection:
        fill(connection, {name: (tables[name].cast(schema), schema) for name, schema in INPUT_SCHEMAS.items()}, views)
        try:
            validations = validate_views(connection, views, counts=True)
        except InvalidWarehouseError as error:
            note_validation(home, f"inputs-{version}", error.validations)
            raise UserError(
                f"{error}: nothing was drawn or charged; the private zone is damaged, restore it from a backup"
            ) from None
    note_validation(home, f"inputs-{version}", validations)
