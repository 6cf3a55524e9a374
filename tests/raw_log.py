"""The database of a log as its administrator has it: altered behind the log's back, backed up, put back, made empty."""

import shutil
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from tasks.ledger.database import open_engine

# Whoever alters the tables does not stop at foreign keys.
UNCHECKED = {"sqlite": "PRAGMA foreign_keys=OFF", "postgresql": "SET session_replication_role = replica"}


def alter(url: str, *statements: str) -> None:
    """Run them, as one change."""
    engine = open_engine(url)
    with engine.connect() as connection:
        for statement in (UNCHECKED[engine.dialect.name], *statements):
            connection.exec_driver_sql(statement)
        connection.commit()


def back_up(url: str) -> str:
    """The log's one copy, for `restore`: a file beside its own, or a database on its server."""
    if (file := _file(url)) is None:
        copy = f"{make_url(url).database}_backup"
        _make_anew(url, copy, str(make_url(url).database))
        return copy
    copy = f"{file.name}.backup"
    assert not file.with_name(f"{file.name}-wal").exists()
    shutil.copy(file, file.with_name(copy))
    return copy


def restore(url: str, copy: str) -> None:
    """Put the log back to what the copy holds."""
    if (file := _file(url)) is None:
        _make_anew(url, str(make_url(url).database), copy)
    else:
        shutil.copy(file.with_name(copy), file)


def empty(url: str) -> None:
    """No table is left."""
    if (file := _file(url)) is None:
        _make_anew(url, str(make_url(url).database), "template1")
    else:
        file.unlink()


def _file(url: str) -> Path | None:
    """None where the log is on a server."""
    parts = make_url(url)
    return Path(str(parts.database)) if parts.get_backend_name() == "sqlite" else None


def _make_anew(url: str, name: str, template: str) -> None:
    """A database that is a copy of the template, on the server of this URL."""
    parts = make_url(url)
    host = str(parts.query["host"])
    with psycopg.connect(host=host, user=parts.username, dbname="postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}"'.encode())
        quick = "STRATEGY file_copy" if connection.info.server_version >= 150_000 else ""
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" {quick}'.encode())
