"""Table `data_dictionary` of release.duckdb: one row per column of every table and view of both databases.

Meanings and units come from warehouse/columns.yaml, the rest from the databases themselves; nothing from any data.
"""

import pyarrow as pa

DATA_DICTIONARY = pa.schema(
    [
        pa.field("zone", pa.string(), nullable=False),  # release: for analysts; private: for the operator
        pa.field("database", pa.string(), nullable=False),  # release.duckdb, operator.duckdb
        pa.field("table_schema", pa.string(), nullable=False),  # main: for reading; staging, base: what it is made of
        pa.field("table_name", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),  # table, view
        pa.field("grain", pa.string(), nullable=True),  # what one row is; null for base tables
        pa.field("position", pa.int64(), nullable=False),  # of the column, from 1
        pa.field("column_name", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),  # as DuckDB names it
        pa.field("unit", pa.string(), nullable=True),  # nats, units, share, ...; null for what has none
        pa.field("meaning", pa.string(), nullable=False),
    ]
)
