"""What stops ingestion: one public line for the user, private details for the operator's file."""

import json
import traceback
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.atomic import write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home


class SourceError(Exception):
    """The source cannot be registered as it is.

    reason: one public line, starting with the name of the setting to change; never a value of the data.
    details: for the operator only (file, row number, trace): functions of private content.
    """

    def __init__(self, reason: str, **details: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


def user_error(home: Home, corpus: str, problem: SourceError) -> UserError:
    """The error to raise: the public line; what is private goes to private/problems/ingest-CORPUS.json."""
    if not problem.details:
        return UserError(problem.reason)
    path = _write(home, corpus, {"reason": problem.reason, **problem.details})
    return UserError(f"{problem.reason}; details for the operator: {path.relative_to(home.root)}")


def our_error(home: Home, corpus: str, error: Exception) -> RuntimeError:
    """A fault of ours, without its text, which may quote a record; the trace goes to the operator's file."""
    path = _write(home, corpus, {"reason": "unexpected error", "trace": trace(error)})
    return RuntimeError(f"ingestion failed unexpectedly; details for the operator: {path.relative_to(home.root)}")


def trace(error: Exception) -> list[str]:
    """The error and its trace, line by line: private."""
    return "".join(traceback.format_exception(error)).splitlines()


def _write(home: Home, corpus: str, content: dict[str, object]) -> Path:
    folder = home.private / "problems"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    path = folder / f"ingest-{corpus}.json"
    write_bytes(path, json.dumps(content, indent=2, default=str).encode(errors="backslashreplace"))
    return path
