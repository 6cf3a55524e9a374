"""Where a file that the user named may be put: never in a home's private zone, never over a file of another kind."""

from enum import Enum
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.home import WITNESS, is_private_zone


class Kind(Enum):
    """What a command writes: where such a file can be told by its bytes, where they stand, and which they are."""

    JSON = (0, b"{")
    HTML = (0, b"<!doctype html")
    METRICS = (0, b"# HELP")
    VERIFIER = (0, b'"""Stand-alone verifier')
    DUCKDB = (8, b"DUCK")
    ANY = (0, b"")


def check_output(path: Path, kind: Kind = Kind.ANY, setting: str = "output") -> None:
    """Refuse a place for a new file, by the setting's name, before anything is written. Raises UserError.

    An empty file may be replaced by any kind. Links in the folders of the path are followed; one at its end is what
    would be replaced.
    """
    folder = path.absolute().parent.resolve()
    if any(is_private_zone(outer) for outer in (folder, *folder.parents)):
        raise UserError(
            f"{setting}: {path.name} would lie in the private zone of a home, whose files are not to be replaced: "
            "choose another place"
        )
    if folder.name == "release" and path.name == WITNESS:
        raise UserError(f"{setting}: {WITNESS} is what the release zone knows of the release log: choose another place")
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{setting}: {path.name} is there and is no regular file: choose another place")
    if not _is_of(path, kind):
        raise UserError(
            f"{setting}: {path.name} is there and is no file of the kind that would replace it: remove it first, or "
            "choose another place"
        )


def _is_of(path: Path, kind: Kind) -> bool:
    start, sign = kind.value
    try:
        with path.open("rb") as file:
            found = file.read(start + len(sign))
    except OSError:  # what may not be read is replaced where the folder lets it be: nothing else can tell
        return True
    return not found or found[start:].lower() == sign.lower()
