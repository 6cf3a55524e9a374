"""Connections to the release log: one writer at a time, durable when commit returns."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from schemas.errors import UserError
from tasks.ledger.tables import HEAD
from tasks.storage.crash import crash_point

BUSY_SECONDS = 120


class LogUnavailableError(UserError):
    """The release log did not answer: locked, read-only, disk full. Whether a commit went through is unknown."""


def open_engine(url: str) -> Engine:
    """An engine for a sqlite:/// or postgresql:// URL; a SQLite file is created 0600."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        _create_private_file(engine)
        event.listen(engine, "connect", _configure_sqlite)
    return engine


@contextmanager
def locked(engine: Engine) -> Iterator[Connection]:
    """The one write transaction: lock first, commit at the end, roll back on any error.

    SQLite: BEGIN IMMEDIATE. PostgreSQL: the head row FOR UPDATE, which every writer takes first.
    Raises LogUnavailableError when the log is locked for longer than two minutes, read-only, or the disk is full.
    """
    crash_point("before_lock")
    try:
        with engine.connect() as connection:
            _lock(connection)
            crash_point("after_lock")
            yield connection
            crash_point("after_write")
            connection.commit()
            crash_point("after_commit")
    except OperationalError as error:
        raise LogUnavailableError(
            f"the release log cannot be used ({_reason(error)}): mend that and run the same command again; "
            "an answer that was sealed is given again without a charge"
        ) from None


@contextmanager
def creating(engine: Engine) -> Iterator[Connection]:
    """A transaction that makes the tables, one process at a time."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7264155)")
        yield connection
        connection.commit()


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(select(HEAD.c.one).with_for_update())


def _configure_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_SECONDS * 1000}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _create_private_file(engine: Engine) -> None:
    path = Path(str(engine.url.database))
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _reason(error: OperationalError) -> str:
    message = str(error.orig).lower()
    for sign, reason in (("lock", "locked"), ("readonly", "read-only"), ("full", "disk full"), ("disk", "disk error")):
        if sign in message:
            return reason
    return "database error"
