"""Domain files that audits drew from, kept by their SHA-256 in private/domains: a release names them by it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from tasks.statements.domains import Domain, shipped_content, shipped_domains
from tasks.storage.atomic import write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home


def keep_domain(home: Home, domain: Domain) -> None:
    """Keep the file, so that what its statements are about is known for as long as their release is."""
    folder = home.private / "domains"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    path = folder / f"{domain.sha256}.yaml"
    if not path.exists():
        write_bytes(path, domain.content)


def kept_domain(home: Home, sha256: str) -> bytes | None:
    """The domain file with this SHA-256, kept or shipped; None when no file that is there has it."""
    candidates = _candidates(home.private / "domains" / f"{sha256}.yaml")
    return next((content for content in candidates if hashlib.sha256(content).hexdigest() == sha256), None)


def _candidates(path: Path) -> Iterator[bytes]:
    if path.is_file():
        yield path.read_bytes()
    yield from map(shipped_content, shipped_domains())
