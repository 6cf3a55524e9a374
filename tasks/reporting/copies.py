"""The release database as an object of a bucket: pushed by who publishes, pulled by each reader to a disk of theirs.

Beside it lies a signed manifest (`URL.json`), put after it: a pull that finds the two at odds has met a push.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from schemas.errors import UserError
from schemas.manifests import Manifest
from tasks.reporting.continuation import why_it_goes_back
from tasks.reporting.database import read_origin, reading
from tasks.reporting.manifest import SUFFIX, digest_of, read_manifest, sign_manifest, to_bytes, trusted
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.places import release_database
from tasks.reporting.projection import publishing
from tasks.reporting.tables import RELEASE_SCHEMAS
from tasks.storage.atomic import RELEASE_FILE, replacing, write_bytes
from tasks.storage.home import Home, open_to_analysts
from tasks.storage.objects import StoredPath
from tasks.storage.store import refuse_bucket_of, store_url

_SIGN = slice(8, 12)  # of a DuckDB file
_WAITS_SECONDS = (1.0, 2.0)  # between two puts of one push lies one request


@dataclass(frozen=True, slots=True)
class Pulled:
    """A database that was put in its place.

    origin: what it says of itself. releases: how many it holds. manifest: what was signed about it, if anything.
    is_verified: with the key that the reader trusts. went_back: why it does not go on from the one it replaced, None
    where it does.
    """

    origin: dict[str, Any]
    releases: int
    manifest: Manifest | None
    is_verified: bool
    went_back: str | None


def pushed_url(home: Home, url: str) -> str:
    """Where the database is pushed. Raises UserError for the bucket that holds what is private of this home."""
    target = store_url(url, "url")
    if home.store is not None:
        refuse_bucket_of(home.store, target)
    return target


def push_database(home: Home, url: str, chain: Callable[[], Sequence[str]]) -> Manifest:
    """Put release.duckdb at `url`, then what is signed about it, each all or nothing; returns that.

    chain: gives the hashes of the release log, from before its first entry. Raises UserError, also where something else
    lies at `url`, or a database that this one does not go on from; StoreError.
    """
    target, database = StoredPath(pushed_url(home, url)), release_database(home)
    with publishing(home):  # nobody puts another file in its place meanwhile
        origin = _checked(database, "release.duckdb")
        content, releases, hashes = database.read_bytes(), _releases(database), chain()
    known = hashes[: hashes.index(origin["chain_head"]) + 1]
    _refuse_to_replace(target, origin["ledger_id"], known)
    manifest = sign_manifest(home, content, origin["ledger_id"], known, releases)
    target.write_bytes(content)
    _beside(target).write_bytes(to_bytes(manifest))
    return manifest


def _refuse_to_replace(target: StoredPath, ledger_id: str, known: Sequence[str]) -> None:
    """Leave what is no release database, or not an earlier one of this log, as it is. A manifest may lag behind it."""
    called = "url: it stays: what lies there"
    try:
        if target.read_range(0, _SIGN.stop)[_SIGN] != b"DUCK":
            raise UserError(f"{called} is no release database of privcert")
        with TemporaryDirectory() as folder:
            there = Path(folder) / "there.duckdb"
            target.download(there)
            origin = _checked(there, called)
    except FileNotFoundError:
        return
    if origin["ledger_id"] != ledger_id:
        raise UserError("url: the database there is of another release log; it stays: choose another name")
    if origin["chain_head"] not in known:
        raise UserError(
            "url: the database there knows more of this release log than this home (an older copy, a restored "
            "backup?); it stays: push from where the log is whole, or remove it there first"
        )


def pull_database(url: str, target: Path, *, key: str | None = None, older: bool = False) -> Pulled:
    """Put the database at `url`, and its manifest, in the place of `target`, once it is checked.

    key: public key, hex, that must have signed it. older: take one that does not go on from the one that is there.
    Raises UserError, and leaves `target` as it is, for what is no release database, was built by a newer privcert, was
    altered or signed by another key, goes back, or is just being pushed; StoreError.
    """
    source = StoredPath(store_url(url, "url"))
    if key is not None:
        trusted(key)
    try:
        with replacing(target, RELEASE_FILE) as aside:
            manifest = _fetch(source, aside, key)
            origin = _checked(aside, "the object")
            went_back = why_it_goes_back(aside, origin, manifest, target)
            if went_back is not None and not older:
                raise UserError(f"url: the database there {went_back}; the one here stays, --older takes it even so")
            pulled = Pulled(origin, _releases(aside), manifest, key is not None, went_back)
        _keep(manifest, target)
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise UserError("output: there is no such folder") from None
        raise UserError("url: there is no such object, or no such bucket") from None
    except OSError as error:
        raise UserError(f"output: {target.name} cannot be written: {error.strerror or type(error).__name__}") from None
    return pulled


def place_for_pulled(root: Path) -> Path:
    """Where a reader without a home of their own keeps the database: the release zone of `root`, made when missing.

    Raises UserError where a home publishes there by itself.
    """
    if (root / "private").exists():
        raise UserError("output: this home publishes a database of its own; say --output FILE")
    return open_to_analysts(open_to_analysts(root) / "release") / "release.duckdb"


def _fetch(source: StoredPath, aside: Path, key: str | None) -> Manifest | None:
    """Database and manifest that belong together; None: nothing is signed there. Raises UserError."""
    for wait in (*_WAITS_SECONDS, None):
        manifest = _signed(source, key)
        source.download(aside)
        if manifest is None or digest_of(aside) == manifest.sha256:
            return manifest
        if wait is not None:
            time.sleep(wait)
    raise UserError(
        "url: the database there is not the one that its manifest speaks of: it is just being pushed, or a push was "
        "killed, or it was altered: pull again; if this stays, it has to be pushed again"
    )


def _signed(source: StoredPath, key: str | None) -> Manifest | None:
    try:
        content = _beside(source).read_bytes()
    except FileNotFoundError:
        if key is None:
            return None
        source.size()  # where nothing is there at all, that is said
        raise UserError(
            f"key: nothing signed lies beside the database (at its name with {SUFFIX}), so it cannot be verified: an "
            "older privcert has pushed it, or it is just being pushed"
        ) from None
    return read_manifest(content, key)


def _beside(database: StoredPath) -> StoredPath:
    return StoredPath(database.url + SUFFIX)


def _keep(manifest: Manifest | None, target: Path) -> None:
    """Put the manifest beside the database: the next pull compares with it."""
    place = target.with_name(target.name + SUFFIX)
    if manifest is None:
        place.unlink(missing_ok=True)
    else:
        write_bytes(place, to_bytes(manifest), RELEASE_FILE)


def _checked(path: Path, called: str) -> dict[str, Any]:
    """What the file says of itself. Raises UserError unless it is a release database of a version that we know."""
    try:
        origin = read_origin(path)
    except UserError:
        raise UserError(f"{called} was built by a newer privcert: install that version to read it") from None
    if origin is None or not _is_release(path):
        raise UserError(f"{called} is no release database of privcert, or it is damaged")
    return origin


def _releases(path: Path) -> int:
    with reading(path) as connection:
        [(count,)] = connection.sql("select count(*) from base.releases").fetchall()
    return int(count)


def _is_release(path: Path) -> bool:
    with reading(path) as connection:
        try:
            rows = connection.sql("select table_name from duckdb_tables() where schema_name = 'base'").fetchall()
        except duckdb.Error:
            return False
    names = {name for (name,) in rows}
    private = OPERATOR_SCHEMAS.keys() - RELEASE_SCHEMAS.keys()
    return "releases" in names and not names & private
