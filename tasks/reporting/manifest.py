"""The signed manifest of a release database that is handed on (schemas/manifests.py): made, read, checked.

It says which bytes belong to which chain of the release log. Its signature shows who published them; its chain shows
whether one database goes on from another.
"""

import hashlib
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import ValidationError

from schemas.errors import UserError
from schemas.manifests import Manifest
from tasks.ledger.canonical import canonical
from tasks.storage.home import Home

SUFFIX = ".json"  # behind the name of the database


def sign_manifest(home: Home, content: bytes, ledger_id: str, chain: Sequence[str], releases: int) -> Manifest:
    """The manifest of a database with these bytes; chain: up to its head."""
    key = Ed25519PrivateKey.from_private_bytes(home.signing_seed())
    said: dict[str, Any] = {
        "format": "privcert-database/1",
        "ledger_id": ledger_id,
        "sha256": hashlib.sha256(content).hexdigest(),
        "chain": list(chain),
        "releases": releases,
        "product_version": version("privcert"),
        "public_key": key.public_key().public_bytes_raw().hex(),
    }
    return Manifest(**said, signature=key.sign(canonical(said)).hex())


def to_bytes(manifest: Manifest) -> bytes:
    """The file."""
    return canonical(manifest.model_dump()) + b"\n"


def read_manifest(content: bytes, key: str | None) -> Manifest:
    """A manifest whose signature fits its own key, and that is `key` where one is given (64 hex digits).

    Raises UserError by name for what is none, or was signed otherwise.
    """
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError:
        raise UserError(
            f"url: what lies at its name with {SUFFIX} is no manifest of this version of privcert"
        ) from None
    signed = canonical(manifest.model_dump(exclude={"signature"}))
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(manifest.public_key)).verify(
            bytes.fromhex(manifest.signature), signed
        )
    except (InvalidSignature, ValueError):
        raise UserError("url: the signature of its manifest does not fit: it was altered") from None
    if key is not None and manifest.public_key != trusted(key):
        raise UserError("key: the database is signed with another key than this one: do not use it")
    return manifest


def trusted(key: str) -> str:
    """A public key as manifests write it. Raises UserError unless it is one in hex."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", key):
        raise UserError("key: write the public key as its 64 hex digits, as `privcert init` prints it")
    return key.lower()


def manifest_beside(database: Path) -> Manifest | None:
    """What a pull has put beside a database; None where nothing readable is there."""
    try:
        return read_manifest(database.with_name(database.name + SUFFIX).read_bytes(), None)
    except (OSError, UserError):
        return None


def digest_of(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
