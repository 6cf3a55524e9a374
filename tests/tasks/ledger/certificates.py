"""Certificate files for the verifier's tests: genuine, altered, resealed and signed by another key."""

import copy
import hashlib
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.ledger.verifier import canonical, digest, written

Document = dict[str, Any]
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)


def sign(document: Document) -> bytes:
    """The document under another key: whatever is wrong with it, its signature fits."""
    document = copy.deepcopy(document)
    document.pop("signature", None)
    document["public_key"] = OTHER_KEY.public_key().public_bytes_raw().hex()
    document["signature"] = OTHER_KEY.sign(canonical(document)).hex()
    return written(document)


def reseal(document: Document, release_key: str | None = None) -> bytes:
    """Make every hash fit what the document now says, and sign: only what it says can still be wrong."""
    document = copy.deepcopy(document)
    document["release_key"] = release_key or digest(document["payload"]["question"])
    document["chain"][-1]["body"] |= {
        "payload_sha256": digest(document["payload"]),
        "release_key": document["release_key"],
    }
    return sign(rechain(document))


def rechain(document: Document) -> Document:
    """Make the links, and the tags of the bodies that name an account, fit what the bodies now say."""
    previous = hashlib.sha256(document["ledger_id"].encode()).hexdigest()
    for link in document["chain"]:
        if "body" in link:
            link["body_sha256"] = digest(link["body"])
            if "account" in link["body"]:
                named = f"{document['ledger_id']}:{link['body']['account']}"
                link["account_tag"] = hashlib.sha256(named.encode()).hexdigest()[:16]
        fields = {name: link[name] for name in ("sequence", "kind", "day", "account_tag", "body_sha256")}
        link["hash"] = previous = digest(fields | {"previous": previous})
    return document


def put(*path: str | int, value: object) -> Callable[[Document], None]:
    """Replace one value."""

    def alter(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        assert path[-1] in inner if isinstance(inner, dict) else len(inner) > 0
        assert inner[path[-1]] != value, "an alteration must alter"
        inner[path[-1]] = value

    return alter


def drop(*path: str | int) -> Callable[[Document], None]:
    """Leave one value out."""

    def alter(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return alter
