"""Details that only the operator may see: one file under the private zone, appended line by line."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from tasks.storage.atomic import PRIVATE_FILE
from tasks.storage.home import PRIVATE_DIRECTORY, Home

_FILE = "scoring.log"


def logs_folder(home: Home) -> Path:
    """`private/logs` of this home, made when it is missing."""
    folder = home.private / "logs"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return folder


def note_for_operator(logs: Path, text: str, file: str = _FILE) -> None:
    """Append `text` with the time to LOGS/FILE, from any process; a full disk loses the note, never the run."""
    append_for_operator(logs, f"{datetime.now(UTC).isoformat()} {text.rstrip()}\n", file)


def append_for_operator(logs: Path, text: str, file: str) -> None:
    """Append `text` as it is to LOGS/FILE, likewise."""
    entry = text.encode(errors="backslashreplace")
    with suppress(OSError):
        logs.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
        descriptor = os.open(logs / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            os.write(descriptor, entry)  # one call: entries of several processes do not mix
        finally:
            os.close(descriptor)
