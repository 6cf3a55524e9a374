"""Where the databases lie."""

from pathlib import Path

from tasks.storage.home import Home


def release_database(home: Home) -> Path:
    """The database for analysts."""
    return home.release / "release.duckdb"


def operator_database(home: Home) -> Path:
    """The operator's database; private."""
    return home.private / "operator.duckdb"
