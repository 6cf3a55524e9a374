"""The release database as an object of a bucket: pushed by who publishes, pulled by each reader to a disk of theirs."""

from pathlib import Path
from typing import Any

import duckdb

from schemas.errors import UserError
from tasks.reporting.database import read_origin, reading
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.places import release_database
from tasks.reporting.tables import RELEASE_SCHEMAS
from tasks.storage.atomic import RELEASE_FILE, replacing
from tasks.storage.home import Home, open_to_analysts
from tasks.storage.objects import StoredPath
from tasks.storage.store import store_url


def push_database(home: Home, url: str) -> dict[str, Any]:
    """Put release.duckdb at `url`, all or nothing; returns what it says of itself. Raises UserError, StoreError."""
    target, database = StoredPath(store_url(url, "url")), release_database(home)
    if not database.is_file():
        raise UserError(f"no database at {database} yet: run `privcert audit` first, or `privcert warehouse rebuild`")
    origin = _checked(database, "release.duckdb")
    target.write_bytes(database.read_bytes())  # opened once: a publication meanwhile puts another file in its place
    return origin


def pull_database(url: str, target: Path) -> dict[str, Any]:
    """Put the database at `url` in the place of `target`, once it is checked; returns what it says of itself.

    Raises UserError, and leaves `target` as it is, for what is no release database or was built by a newer privcert;
    StoreError.
    """
    source = StoredPath(store_url(url, "url"))
    try:
        with replacing(target, RELEASE_FILE) as aside:
            source.download(aside)
            return _checked(aside, "the object")
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise UserError("output: there is no such folder") from None
        raise UserError("url: there is no such object, or no such bucket") from None
    except OSError as error:
        raise UserError(f"output: {target.name} cannot be written: {error.strerror or type(error).__name__}") from None


def place_for_pulled(root: Path) -> Path:
    """Where a reader without a home of their own keeps the database: the release zone of `root`, made when missing.

    Raises UserError where a home publishes there by itself.
    """
    if (root / "private").exists():
        raise UserError("output: this home publishes a database of its own; say --output FILE")
    return open_to_analysts(open_to_analysts(root) / "release") / "release.duckdb"


def _checked(path: Path, called: str) -> dict[str, Any]:
    """What the file says of itself. Raises UserError unless it is a release database of a version that we know."""
    try:
        origin = read_origin(path)
    except UserError:
        raise UserError(f"{called} was built by a newer privcert: install that version to read it") from None
    if origin is None or not _is_release(path):
        raise UserError(f"{called} is no release database of privcert, or it is damaged")
    return origin


def _is_release(path: Path) -> bool:
    with reading(path) as connection:
        try:
            rows = connection.sql("select table_name from duckdb_tables() where schema_name = 'base'").fetchall()
        except duckdb.Error:
            return False
    names = {name for (name,) in rows}
    private = OPERATOR_SCHEMAS.keys() - RELEASE_SCHEMAS.keys()
    return "releases" in names and not names & private
