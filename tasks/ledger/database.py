"""Connections to the release log: one writer at a time, durable when commit returns."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, select
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from schemas.errors import UserError
from tasks.ledger.tables import HEAD
from tasks.storage.crash import crash_point

BUSY_SECONDS = 120
CONNECT_SECONDS = 30  # to a server that takes the connection and says nothing
_WAIT = "connect_timeout"


class LogUnavailableError(UserError):
    """The release log did not answer: locked, read-only, disk full. Whether a commit went through is unknown."""


def open_engine(url: str) -> Engine:
    """An engine for a sqlite:/// or postgresql:// URL; a SQLite file is created 0600.

    Raises LogUnavailableError when the file cannot be opened for writing, UserError for another kind of URL.
    """
    try:
        place = make_url(url)
        if place.get_backend_name() == "sqlite":
            _check_file_url(place)
        waits = {} if place.get_backend_name() == "sqlite" or _WAIT in place.query else {_WAIT: CONNECT_SECONDS}
        engine = create_engine(place, poolclass=NullPool, hide_parameters=True, connect_args=waits)
        if engine.dialect.name == "postgresql":
            # whatever the database's own default: see `locked`
            engine = engine.execution_options(isolation_level="READ COMMITTED")
        engine.dialect.create_connect_args(engine.url)
    except (ArgumentError, ImportError, ValueError, TypeError):  # its text may hold a password
        raise _wrong_url() from None
    if engine.dialect.name not in ("sqlite", "postgresql") or engine.dialect.is_async:
        raise _wrong_url()
    if engine.dialect.name == "sqlite":
        _create_private_file(engine)
        event.listen(engine, "connect", _configure_sqlite)
    return engine


@contextmanager
def locked(engine: Engine) -> Iterator[Connection]:
    """The one write transaction: lock first, commit at the end, roll back on any error.

    SQLite: BEGIN IMMEDIATE. PostgreSQL: the head row FOR UPDATE, which every writer takes first, at READ COMMITTED:
    each statement after the lock sees all that was committed when it began, which is everything before this writer and
    nothing beside it. So a check and the write that rests on it read the same log, whichever tables they are about. At
    a higher level the view would be that of the moment before the wait, and whoever waited would fail.
    Raises LogUnavailableError when the log is locked for longer than two minutes, read-only, or the disk is full.
    """
    crash_point("before_lock")
    with _reasons(), _connected(engine) as connection:
        _lock(connection)
        crash_point("after_lock")
        yield connection
        crash_point("after_write")
        connection.commit()
        crash_point("after_commit")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One consistent view of the whole log, as it is at the first SELECT; no lock. Raises LogUnavailableError."""
    with _reasons(), _connected(engine) as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


@contextmanager
def creating(engine: Engine) -> Iterator[Connection]:
    """A transaction that makes the tables, one process at a time. Raises LogUnavailableError.

    PostgreSQL: at READ COMMITTED, as in `locked`; there is no head row to lock yet.
    """
    with _reasons(), _connected(engine) as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            _limit_wait(connection)
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7264155)")
        yield connection
        connection.commit()


@contextmanager
def _reasons() -> Iterator[None]:
    """Errors of the database as LogUnavailableError; broken constraints and statements are our fault and stay so."""
    try:
        yield
    except (IntegrityError, ProgrammingError, DataError):
        raise
    except DBAPIError as error:
        raise _unavailable(_reason(str(error.orig))) from None


def _unavailable(reason: str) -> LogUnavailableError:
    return LogUnavailableError(
        f"the release log cannot be used ({reason}): mend that and run the same command again; "
        "an answer that was sealed is given again without a charge"
    )


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        _limit_wait(connection)
        connection.execute(select(HEAD.c.one).with_for_update())


def _limit_wait(connection: Connection) -> None:
    """A PostgreSQL server waits for a lock for ever unless told otherwise; SQLite is told when it is connected to."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")


def _configure_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_SECONDS * 1000}", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _use_wal(cursor)
    cursor.close()


def _use_wal(cursor: DBAPICursor) -> None:
    """Switching to WAL does not always wait for the processes that do the same: ask again until it is so."""
    patience = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > patience:
                raise
            time.sleep(0.02)
        else:
            return


def _connected(engine: Engine) -> Connection:
    """An open connection. Raises UserError for an option of the URL that the driver does not know or cannot read."""
    try:
        return engine.connect()
    except ProgrammingError:  # before any statement; its text quotes the option
        raise _wrong_url() from None


def _check_file_url(url: URL) -> None:
    # of a file SQLAlchemy ignores an option that it does not know
    if url.query or url.database in (None, "", ":memory:") or "\0" in str(url.database):
        raise _wrong_url()
    if not Path(str(url.database)).is_absolute():
        raise UserError(
            "PRIVCERT_LOG_URL: the path of a SQLite file starts at the root, with four slashes: sqlite:////PATH; "
            "a relative one would be another log, and another count of what was spent, in every folder"
        )


def _create_private_file(engine: Engine) -> None:
    path = Path(str(engine.url.database))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise _unavailable(os.strerror(error.errno or 0).lower()) from None


def _wrong_url() -> UserError:
    return UserError(
        "PRIVCERT_LOG_URL: write sqlite:////PATH or postgresql+psycopg://HOST/DATABASE (the extra "
        "privcert[postgresql]), with no option after it that the driver does not know"
    )


_REASONS = (
    ("lock", "locked"),
    ("readonly", "read-only"),
    ("read-only", "read-only"),
    ("full", "disk full"),
    ("not a database", "damaged"),
    ("malformed", "damaged"),
    ("disk", "disk error"),
    ("connect", "no connection"),
)


def _reason(message: str) -> str:
    return next((reason for sign, reason in _REASONS if sign in message.lower()), "database error")
