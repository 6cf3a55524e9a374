"""The home: a private zone that only the operator may read, and a release zone for analysts."""

import hmac
import json
import os
import secrets
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.atomic import write_bytes
from tasks.storage.locks import one_process
from tasks.storage.objects import AnyPath, StoredPath
from tasks.storage.store import check_store, claim_store, store_url

PRIVATE_DIRECTORY = 0o700
RELEASE_DIRECTORY = 0o755
WITNESS = "chain_head.json"  # in the release zone: what it was told of the release log (tasks/ledger/chain.py)
_IDENTITY = "home.json"
_KEYS = ("hash.key", "signing.key")


def default_home() -> Path:
    """PRIVCERT_HOME, or ~/.privcert."""
    return Path(os.environ.get("PRIVCERT_HOME") or Path.home() / ".privcert").absolute()


@dataclass(frozen=True, slots=True)
class Home:
    """One installation: its folders, its keys, its ledger id.

    root: the folder; `private/` and `release/` lie in it.
    ledger_id: random and public; names the release log that this home belongs to.
    on_purpose: made by `privcert init`; only such a home takes private corpora.
    store: URL of the bucket and prefix where registered records and verdicts lie; None: in the folder like all else.
    """

    root: Path
    ledger_id: str
    on_purpose: bool
    store: str | None = None

    @property
    def private(self) -> Path:
        """Records, verdicts, counts, keys, release log, Prefect's state, logs: 0700."""
        return self.root / "private"

    @property
    def release(self) -> Path:
        """What passed the release log, for analysts."""
        return self.root / "release"

    def release_folder(self, name: str) -> Path:
        """A folder of the release zone, made when missing."""
        return open_to_analysts(self.release / name)

    @property
    def corpora(self) -> AnyPath:
        """Registered partition versions: corpora/CORPUS/VERSION/{records/*.parquet, units.parquet}."""
        return self._kept("corpora")

    @property
    def scores(self) -> AnyPath:
        """Score cache, one folder a model fingerprint."""
        return self._kept("scores")

    @property
    def runs(self) -> Path:
        """One folder a run: settings, statements, operator's summary."""
        return _private_directory(self.private / "runs")

    @property
    def log_url(self) -> str:
        """SQLAlchemy URL of the release log: PRIVCERT_LOG_URL (PostgreSQL), or a SQLite file in the private zone."""
        return os.environ.get("PRIVCERT_LOG_URL") or f"sqlite:///{self.private / 'release_log.sqlite'}"

    def check_store(self) -> None:
        """See that the store, where there is one, answers and is this home's. Raises UserError, StoreError."""
        if self.store is not None:
            check_store(self.store, self.ledger_id)

    def _kept(self, name: str) -> AnyPath:
        return _private_directory(self.private / name) if self.store is None else StoredPath(self.store) / name

    def keyed_hash(self, *parts: bytes) -> bytes:
        """HMAC-SHA-256 over length-prefixed parts under the home's key, 32 bytes. Stays in the private zone."""
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(self.hash_key(), message, "sha256")

    def hash_key(self) -> bytes:
        """The key of `keyed_hash`, 32 bytes."""
        return (self.private / "hash.key").read_bytes()

    def signing_seed(self) -> bytes:
        """The Ed25519 private key, 32 bytes."""
        return (self.private / "signing.key").read_bytes()


def initialise_home(root: Path, *, on_purpose: bool, store: str | None = None) -> Home:
    """Make a home, or open the one that is there; `on_purpose` is never taken back, and a store never changed.

    store: URL under which records and verdicts are kept from now on (see tasks/storage/objects.py).
    Raises UserError when the folder exists and is not a home, or its permissions are too wide; for a store that cannot
    be used, is another home's, or comes when the home has another or has records of its own. StoreError.
    """
    private, url = root / "private", None if store is None else store_url(store)
    if not (private / _IDENTITY).exists():
        if url is not None:
            claim_store(url, None)  # nothing is made where the store cannot be used
        _make_home(root, on_purpose=on_purpose)
    home = open_home(root)
    if url is not None and home.store is None:
        _refuse_own_records(home)
        claim_store(url, home.ledger_id)
        home = replace(home, store=url)
    elif url is not None and home.store != url:
        raise UserError("store: this home keeps its records in another store, for ever")
    known = replace(home, on_purpose=on_purpose or home.on_purpose)
    if known != open_home(root):
        _write_identity(private, known)
    return open_home(root)


def open_home(root: Path) -> Home:
    """The home at `root`, its permissions checked.

    Raises UserError when there is none, or when others may read its private zone.
    """
    identity = root / "private" / _IDENTITY
    if not identity.exists():
        raise UserError(f"no privcert home at {root}: run `privcert init`, or set PRIVCERT_HOME")
    _check_permissions(root / "private")
    content = json.loads(identity.read_text())
    return Home(root=root, ledger_id=content["ledger_id"], on_purpose=content["on_purpose"], store=content.get("store"))


def is_private_zone(folder: Path) -> bool:
    """Whether this folder is the private zone of a home, whoever's and however it is called (a link may name it).

    One that may not be looked into counts as one.
    """
    try:
        return all((folder / name).exists() for name in (_IDENTITY, *_KEYS))
    except PermissionError:
        return True


def release_zone(root: Path) -> Home:
    """The home as an analyst sees it: its release zone alone; nothing private is read.

    Raises UserError when there is none.
    """
    if not (root / "release").is_dir():
        raise UserError(f"no privcert home at {root}: set PRIVCERT_HOME")
    return Home(root=root, ledger_id="", on_purpose=False)


def open_to_analysts(folder: Path) -> Path:
    """Make a folder that everybody may read, whatever the umask; one that is there keeps its permissions."""
    try:
        folder.mkdir(parents=True, mode=RELEASE_DIRECTORY)
    except FileExistsError:  # also when another process was faster
        return folder
    folder.chmod(RELEASE_DIRECTORY)
    return folder


def _make_home(root: Path, *, on_purpose: bool) -> None:
    private = root / "private"
    _refuse_other_folder(root, {"private", "release"})
    open_to_analysts(root)  # whatever the umask: analysts pass through it to the release zone
    private.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    _refuse_wide(private, private)
    with one_process(private):  # several that make the same home must agree on its keys
        if (private / _IDENTITY).exists():
            return
        _refuse_other_folder(private, set(_KEYS))
        open_to_analysts(root / "release")
        for name in _KEYS:
            if not (private / name).exists():
                write_bytes(private / name, secrets.token_bytes(32))
        made = Home(root=root, ledger_id=secrets.token_hex(16), on_purpose=on_purpose)
        _write_identity(private, made)  # last: its presence means a whole home


def _refuse_other_folder(folder: Path, own: set[str]) -> None:
    """What a killed `init` left may be there, nothing else."""
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if folder.exists() and (not folder.is_dir() or any(not name.startswith(".tmp-") for name in found - own)):
        raise UserError(f"{folder} is not a privcert home and not empty: choose another folder as PRIVCERT_HOME")


def _write_identity(private: Path, home: Home) -> None:
    content = {"ledger_id": home.ledger_id, "on_purpose": home.on_purpose}
    if home.store is not None:
        content["store"] = home.store
    write_bytes(private / _IDENTITY, json.dumps(content).encode())


def _refuse_own_records(home: Home) -> None:
    for name in ("corpora", "scores"):
        folder = home.private / name
        if folder.is_dir() and any(folder.iterdir()):
            raise UserError("store: this home has records of its own, for ever: make another home for the store")


def _private_directory(path: Path) -> Path:
    path.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return path


def _check_permissions(private: Path) -> None:
    for path in (private, *(private / name for name in (_IDENTITY, *_KEYS))):
        _refuse_wide(path, private)


def _refuse_wide(path: Path, private: Path) -> None:
    if not path.exists():
        raise UserError(f"{path} is missing: restore it from a backup of this home")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UserError(f"{path} may be read by others: run `chmod -R go-rwx {private}`")
