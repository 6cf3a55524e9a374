"""DuckDB files: built in one piece from Arrow tables and the SQL of warehouse/, opened for reading only.

The same tables and views give the same bytes: one thread, sorted rows, and the last storage format without a random
database identifier. Readers newer than it read it as well.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from schemas.errors import UserError
from warehouse.views import View

WAREHOUSE_VERSION = 3  # of the tables and views of both databases; 1 did not say its number
STORAGE_VERSION = "v1.3.0"  # from v1.4.0 on, DuckDB puts 16 random bytes into the header
_SQL_TYPES = {
    pa.string(): "varchar",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}
# No file, network, extension or caller's variable can be reached; nothing is spilled beside the database.
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "lock_configuration": True,
}
# What DuckDB raises of a file that is no database, or whose blocks do not have their checksums (the base class).
_DAMAGED = (
    duckdb.Error,
    duckdb.IOException,
    duckdb.SerializationException,
    duckdb.InternalException,
    duckdb.FatalException,
)


@contextmanager
def building(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose default database is the new file `path`; checkpointed and closed at the end.

    The file is readable by its owner only until the caller widens it, and never leaves a write-ahead log behind.
    """
    before = os.umask(0o077)
    connection = duckdb.connect(config={"threads": 1, "python_enable_replacements": False, "temp_directory": ""})
    try:
        connection.execute(f"attach '{_quoted(path)}' as built (storage_version '{STORAGE_VERSION}')")
        connection.execute("use built")
        yield connection
        connection.execute("use memory; checkpoint built; detach built")
    finally:
        connection.close()
        os.umask(before)
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def fill(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, tuple[pa.Table, pa.Schema]], views: Iterable[View]
) -> None:
    """Create schema `base` with the tables, schema `staging`, and the views in this order.

    Raises ValueError when a table does not have its schema.
    """
    connection.execute("create schema base; create schema staging")
    for name, (table, schema) in tables.items():
        if not table.schema.equals(schema):
            raise ValueError(f"table {name} does not have the columns of its schema")
        create_table(connection, name, table)
    for view in views:
        connection.execute(view.sql)


def create_table(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Create base.NAME with the table's rows, sorted, and its NOT NULL columns."""
    columns = ", ".join(
        f'"{field.name}" {_SQL_TYPES[field.type]}{"" if field.nullable else " not null"}' for field in table.schema
    )
    connection.execute(f"create table base.{name} ({columns})")
    connection.register("incoming", table)
    connection.execute(f"insert into base.{name} select * from incoming order by all")  # noqa: S608
    connection.unregister("incoming")


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection that reaches nothing but this file, with its configuration locked.

    Raises UserError, without a value of the file, where it cannot be read or turns out to be damaged.
    """
    try:
        with duckdb.connect(str(path), read_only=True, config=_LOCKED) as connection:
            yield connection
    except duckdb.Error as error:
        if type(error) not in _DAMAGED:
            raise
        raise UserError(
            f"{path} is damaged, or cannot be read: `privcert warehouse rebuild` builds it anew, "
            "or `privcert warehouse pull` where it was pulled"
        ) from None


def check_there(path: Path) -> None:
    """Raises UserError where no database was published here, or it is gone."""
    if not path.is_file():
        raise UserError(
            f"no database at {path} yet: run `privcert audit` first, or `privcert warehouse rebuild`; "
            "where others publish, `privcert warehouse pull`"
        )


def read_origin(path: Path) -> dict[str, Any] | None:
    """What the file says of itself: ledger_id, chain_head, product_version, warehouse_version, marker.

    None when there is no file, or it cannot be read (it is built anew).
    Raises UserError when a newer privcert built it.
    """
    if not path.is_file():
        return None
    try:
        with reading(path) as connection:
            origin: dict[str, Any] = connection.sql("select * from base.origin").to_arrow_table().to_pylist()[0]
    except (duckdb.Error, UserError, IndexError):
        return None
    if (found := origin.setdefault("warehouse_version", 1)) > WAREHOUSE_VERSION:
        raise UserError(
            f"{path.name} is of warehouse version {found}, built by privcert {origin['product_version']}, and this one "
            f"knows versions up to {WAREHOUSE_VERSION}: use that one, or `privcert warehouse rebuild` to replace it"
        )
    return origin


def marker_of(views: Iterable[View], *content: object) -> str:
    """SHA-256 over the product version, the views with their suites, and the content (JSON or its `str`)."""
    warehouse = [(view.qualified, view.sql, [(one.type, one.kwargs) for one in view.expectations]) for view in views]
    stated = [version("privcert"), WAREHOUSE_VERSION, STORAGE_VERSION, duckdb.__version__, warehouse, content]
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
