"""Which code a process runs, so that a driver and its workers can be compared."""

import hashlib
from functools import cache
from pathlib import Path

FOLDERS = (
    "schemas",
    "tasks/cluster",
    "tasks/corpora",
    "tasks/inference",
    "tasks/statements",
    "tasks/storage",
    "tasks/support",
)


@cache
def code_digest() -> str:
    """SHA-256, hex, of the source of all that scoring runs (FOLDERS); equal in a checkout and in a wheel of it."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
