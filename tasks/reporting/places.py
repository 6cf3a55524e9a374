"""Where the databases lie."""

from pathlib import Path

from tasks.storage.home import Home


def release_database(home: Home) -> Path:
    """The database for analysts."""
    return home.release / "release.duckdb"


def is_published_here(home: Home) -> bool:
    """Has the home a private zone, readable or not? A reader's home holds a database that was pulled, and no more."""
    return home.private.exists()


def operator_database(home: Home) -> Path:
    """The operator's database; private."""
    return home.private / "operator.duckdb"
