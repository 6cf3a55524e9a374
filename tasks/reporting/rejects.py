"""Rejects of released texts in the release zone: public as the text is, found by the public line that was sealed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import Home

Fields = Mapping[str, str | int]  # of a Reject


def keep_rejects(home: Home, proposer: str, rejects: Sequence[Fields]) -> None:
    """Write release/proposals/HASH.json, once; nothing where there are none."""
    if not rejects:
        return
    path = home.release_folder("proposals") / _name(proposer)
    content = json.dumps({"proposer": proposer, "rejects": list(rejects)}, indent=1, sort_keys=True).encode() + b"\n"
    if not path.exists() or path.read_bytes() != content:
        write_bytes(path, content, RELEASE_FILE)


def read_rejects(release_zone: Path, proposer: str) -> list[Fields] | None:
    """What `keep_rejects` wrote; None where there is nothing."""
    path = release_zone / "proposals" / _name(proposer)
    if not path.is_file():
        return None
    found: list[Fields] = json.loads(path.read_bytes())["rejects"]
    return found


def _name(proposer: str) -> str:
    return f"{hashlib.sha256(proposer.encode()).hexdigest()[:32]}.json"
