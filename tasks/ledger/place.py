"""Where a home keeps its release log: decided when it is first opened, for ever. A second log would count afresh."""

import os
import secrets
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.atomic import sync, write_bytes
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
    return _read(home) is not None


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
    return Place[path.read_text()] if path.exists() else None


def _write_once(path: Path, content: bytes) -> None:
    """All or nothing; whoever comes second changes nothing."""
    temporary = path.with_name(f".tmp-{secrets.token_hex(8)}.part")
    try:
        write_bytes(temporary, content)
        with suppress(FileExistsError):
            path.hardlink_to(temporary)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
