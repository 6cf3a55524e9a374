"""The data dictionary: both databases, built without a row, asked for their columns."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import duckdb
import pyarrow as pa

from schemas.dictionary import DATA_DICTIONARY
from tasks.reporting.database import fill
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.tables import RELEASE_SCHEMAS
from warehouse.dictionary import meaning_of
from warehouse.views import database_views

_COLUMNS = """
    select
        columns.schema_name as table_schema,
        columns.table_name as table_name,
        case when tables.table_oid is null then 'view' else 'table' end as kind,
        columns.column_index as position,
        columns.column_name as column_name,
        lower(columns.data_type) as type
    from duckdb_columns() as columns
    left join duckdb_tables() as tables on columns.table_oid = tables.table_oid and not tables.internal
    where not columns.internal
    order by columns.schema_name, columns.table_name, columns.column_index
"""


@lru_cache(maxsize=1)
def data_dictionary() -> pa.Table:
    """Table DATA_DICTIONARY. Raises KeyError, naming the column, where warehouse/columns.yaml has no meaning for it."""
    rows = [*_described("release", "reports", RELEASE_SCHEMAS), *_described("private", "operator", OPERATOR_SCHEMAS)]
    return pa.Table.from_pylist(rows, DATA_DICTIONARY)


def _described(zone: str, folder: str, schemas: Mapping[str, pa.Schema]) -> Iterator[dict[str, object]]:
    views = database_views(folder, schemas)
    grains = {view.qualified: view.grain for view in views}
    with duckdb.connect(config={"threads": 1, "python_enable_replacements": False}) as connection:
        fill(connection, {name: (schema.empty_table(), schema) for name, schema in schemas.items()}, views)
        columns = connection.sql(_COLUMNS).to_arrow_table().to_pylist()
    for column in columns:
        schema, table = column["table_schema"], column["table_name"]
        meaning = meaning_of(table, column["column_name"])
        if meaning is None:
            raise KeyError(f"warehouse/columns.yaml says nothing of {table}.{column['column_name']}")
        yield {
            "zone": zone,
            "database": {"release": "release.duckdb", "private": "operator.duckdb"}[zone],
            "grain": grains.get(table if schema == "main" else f"{schema}.{table}"),
            "unit": meaning.unit,
            "meaning": meaning.text,
            **column,
        }
