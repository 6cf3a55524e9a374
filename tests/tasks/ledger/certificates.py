"""Certificate files for the verifier's tests: genuine, altered, resealed and signed by another key."""

import copy
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.ledger.verifier import canonical, digest

Document = dict[str, Any]
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)


def sign(document: Document) -> bytes:
    """The document under another key: whatever is wrong with it, its signature fits."""
    document = copy.deepcopy(document)
    document.pop("signature", None)
    document["public_key"] = OTHER_KEY.public_key().public_bytes_raw().hex()
    document["signature"] = OTHER_KEY.sign(canonical(document)).hex()
    return json.dumps(document).encode()


def reseal(document: Document, release_key: str | None = None) -> bytes:
    """Make every hash fit what the document now says, and sign: only what it says can still be wrong."""
    document = copy.deepcopy(document)
    document["release_key"] = release_key or digest(document["payload"]["question"])
    document["chain"][-1]["body"] |= {
        "payload_sha256": digest(document["payload"]),
        "release_key": document["release_key"],
    }
    previous = hashlib.sha256(document["ledger_id"].encode()).hexdigest()
    for link in document["chain"]:
        if "body" in link:
            link["body_sha256"] = digest(link["body"])
        fields = {name: link[name] for name in ("sequence", "kind", "day", "body_sha256")}
        link["hash"] = previous = digest(fields | {"previous": previous})
    return sign(document)
