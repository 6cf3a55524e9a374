"""Where a home keeps its release log: decided when it is first opened, for ever. A second log would count afresh."""

import os
from enum import StrEnum
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.atomic import PRIVATE_FILE, sync, write_bytes
from tasks.storage.home import Home

_FILE = "release_log.place"


class Place(StrEnum):
    """What kind of place; which server or path it is may change (a failover, a moved file)."""

    HOME = "the file in its private zone"
    FILE = "another SQLite file"
    SERVER = "a PostgreSQL server"


def check_place(home: Home) -> None:
    """Refuse a log of another kind than the home's, before one is made. Raises UserError."""
    known, asked = _read(home), _asked()
    if known is None or known is asked:
        return
    mend = "unset PRIVCERT_LOG_URL" if known is Place.HOME else "set PRIVCERT_LOG_URL to its URL"
    raise UserError(
        f"PRIVCERT_LOG_URL: the release log of this home is {known}, for ever, and this would be {asked}: {mend}; "
        "a second log would count what was spent again from nothing"
    )


def is_remembered(home: Home) -> bool:
    """Whether it was decided."""
    path = home.private / _FILE
    return path.exists() and path.stat().st_size > 0


def remember_place(home: Home) -> None:
    """Of a log that is open and the home's own. Raises UserError where another process was faster with another."""
    _write_once(home.private / _FILE, _asked().name.encode())
    check_place(home)


def _asked() -> Place:
    if not (url := os.environ.get("PRIVCERT_LOG_URL")):
        return Place.HOME
    return Place.FILE if url.startswith("sqlite") else Place.SERVER


def _read(home: Home) -> Place | None:
    path = home.private / _FILE
    written = path.read_text().strip() if path.exists() else ""
    if written and written not in Place.__members__:
        raise UserError(f"{path} is damaged: restore it, or write {' or '.join(Place.__members__)} into it")
    if written:
        return Place[written]
    own = home.private / "release_log.sqlite"  # of a version that did not write down the place
    return Place.HOME if own.exists() and own.stat().st_size else None


def _write_once(path: Path, content: bytes) -> None:
    """Whoever comes second changes nothing, unless the first was killed before it wrote."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        if not path.stat().st_size:
            write_bytes(path, content)
        return
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync(path.parent)
