"""The store of a home: a prefix of a bucket that is this home's alone, for ever."""

import json
import re

from schemas.errors import UserError
from tasks.storage.objects import PROTOCOLS, StoredPath, StoreError

_IDENTITY = "store.json"
_FORMAT = 1
_SLASHES_OF_A_BUCKET = 2  # no store is a whole bucket
_PART = re.compile(r"[A-Za-z0-9._@=-]+")  # what no client reads as a pattern or quotes


def store_url(text: str, setting: str = "store") -> str:
    """The URL as a home keeps it. Raises UserError, by the name of the setting, for a place that is not taken."""
    protocol, separator, place = text.partition("://")
    parts = place.rstrip("/").split("/")
    if not separator or protocol not in PROTOCOLS:
        raise UserError(
            f"{setting}: write PROTOCOL://BUCKET/NAME with one of {', '.join(PROTOCOLS)}, where an object is put whole "
            "or not at all"
        )
    if "@" in parts[0] and (protocol in ("s3", "gs") or ":" in parts[0]):
        raise UserError(f"{setting}: credentials do not belong in the URL; they are taken from the environment")
    if len(parts) < 2 or not all(map(_PART.fullmatch, parts)) or {".", ".."} & set(parts):
        raise UserError(f"{setting}: write PROTOCOL://BUCKET/NAME in letters, digits and . _ - and nothing else")
    return f"{protocol}://{'/'.join(parts)}"


def refuse_bucket_of(store: str, target: str) -> None:
    """Raises UserError where `target`, to be read by others, lies in the bucket of a private store; both as URLs."""
    if _bucket(store) == _bucket(target):
        raise UserError("url: this is the bucket of the home's store, which is private: choose another bucket")


def claim_store(url: str, ledger_id: str | None) -> None:
    """Make the store this home's, or see that it is; without an id, see only that it could be claimed by a new home.

    Raises UserError, by name, for the store of another home, for a prefix inside or around one and for a prefix that
    holds anything else; StoreError.
    """
    store = StoredPath(url)
    found = store.objects()
    owner = _owner(store) if store / _IDENTITY in found else None
    if any(path.name == _IDENTITY and path.parent != store for path in found):
        raise UserError("store: the store of another home lies below this prefix: choose another")
    if owner is None:
        _refuse_inside_another(store)
    if found and owner is None:
        raise UserError("store: this prefix is not empty and not the store of a home: choose another")
    if owner is not None and owner != ledger_id:
        raise UserError("store: this is the store of another home: choose another prefix")
    if owner is None and ledger_id is not None:
        (store / _IDENTITY).write_bytes(json.dumps({"format": _FORMAT, "ledger_id": ledger_id}).encode())


def check_store(url: str, ledger_id: str) -> None:
    """Is the store there, and this home's? One object is asked for. Raises UserError, StoreError."""
    owner = _owner(StoredPath(url))
    if owner is None:
        raise StoreError("store: the store of this home is not there: restore the bucket, or the access to it")
    if owner != ledger_id:
        raise UserError("store: this is the store of another home: check the endpoint and the bucket")


def _bucket(url: str) -> tuple[str, str]:
    protocol, _, place = url.partition("://")
    return "az" if protocol == "abfs" else protocol, place.split("/")[0].split("@")[0]  # az and abfs are one service


def _refuse_inside_another(store: StoredPath) -> None:
    """Raises UserError where a prefix that this one lies in is a store: two homes would mix, and be cleared as one."""
    outer = store.parent
    while outer.url.count("/") > _SLASHES_OF_A_BUCKET:
        try:
            (outer / _IDENTITY).read_bytes()
        except FileNotFoundError:
            pass
        except StoreError as error:
            if not isinstance(error.__cause__, PermissionError):  # credentials may be good for this prefix alone
                raise
        else:
            raise UserError("store: this prefix lies inside the store of another home: choose another")
        outer = outer.parent


def _owner(store: StoredPath) -> str | None:
    try:
        identity = json.loads((store / _IDENTITY).read_bytes())
        if identity["format"] != _FORMAT:
            raise UserError("store: it was made by a newer privcert: use that one")
        return str(identity["ledger_id"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"store: its {_IDENTITY} cannot be read: restore the bucket") from None
