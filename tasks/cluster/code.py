"""Which code a process runs: compared between a driver and its workers, and sealed with each release."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "schemas",
    "tasks/cluster",
    "tasks/corpora",
    "tasks/inference",
    "tasks/statements",
    "tasks/storage",
    "tasks/support",
)
PACKAGES = ("flows", "schemas", "tasks", "warehouse")
KINDS = (".css", ".html", ".js", ".json", ".py", ".sql", ".yaml")  # what decides; model weights have a fingerprint


@cache
def code_digest() -> str:
    """SHA-256, hex, of the source of all that scoring runs (FOLDERS); equal in a checkout and in a wheel of it."""
    return digest_of(ROOT, FOLDERS, (".py",))


@cache
def product_digest() -> str:
    """SHA-256, hex, of the whole product (PACKAGES): code, SQL, schemas, domains, templates; once in a process.

    Equal in a checkout and in an installation of it, whenever and wherever either was made. It is a function of the
    product's own files alone, and of no record, setting or answer: a domain that somebody adds to the package is
    public, as the statements are that it proposes.
    """
    return digest_of(ROOT, PACKAGES, KINDS)


def digest_of(root: Path, folders: Sequence[str], kinds: Sequence[str]) -> str:
    """SHA-256, hex, of names and contents of the files of these kinds below these folders of `root`."""
    files = (path for folder in folders for path in (root / folder).rglob("*") if path.suffix in kinds)
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in files):
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
