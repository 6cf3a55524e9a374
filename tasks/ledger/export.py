"""A release as one signed JSON file that anyone can check without data (`privcert verify FILE`)."""

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection, select

from schemas.releases import file_stem
from schemas.values import decimal_text
from tasks.ledger.canonical import canonical
from tasks.ledger.chain import account_tag, entries
from tasks.ledger.sealing import check_theta, read_payload
from tasks.ledger.tables import HEAD, RELEASE
from tasks.privacy.thresholds import emits, threshold_units
from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import Home

FORMAT = "privcert-certificate/1"
DISCLOSURES = (
    "Neighbouring datasets replace the content of one unit's records; which units exist, in which partition each "
    "lies, and n are fixed and not protected.",
    "Registration may have been refused because too many records could not be read or because of repeated or "
    "misplaced ids; that it was not is an unprotected precondition.",
    "So is that no file was malformed (a CSV quote that swallows rows, a record that is not well-formed), no record id "
    "was null, no two unit ids looked alike, and no record was also in another corpus.",
    "That content was replaced under a partition key is public, and when: the version number and its day show it.",
    "Support is what the named frozen model says of each record; certificates bound that count, not the truth.",
    "A statement that is not emitted is not certified; it is not certified to be false.",
)


def write_certificate(connection: Connection, home: Home, release_key: str, theta: Decimal) -> Path:
    """Write release/certificates/CORPUS-PARTITION-KEY12-theta-THETA.json; the same question gives the same bytes."""
    content = certificate(connection, home, release_key, theta)
    folder = home.release_folder("certificates")
    question = read_payload(connection, release_key)["question"]
    path = folder / f"{file_stem(question['corpus'], question['partition'], release_key, decimal_text(theta))}.json"
    if not path.exists() or path.read_bytes() != content:
        write_bytes(path, content, RELEASE_FILE)
    return path


def certificate(connection: Connection, home: Home, release_key: str, theta: Decimal) -> bytes:
    """The signed document. Raises UserError for an unknown release, or a theta that its answer does not hold for."""
    payload = read_payload(connection, release_key)
    check_theta(payload, theta)
    question, answer = payload["question"], payload["answer"]
    n, exact = payload["described"]["partition"]["n"], Fraction(theta)
    sequence = connection.execute(select(RELEASE.c.sequence).where(RELEASE.c.release_key == release_key)).scalar_one()
    ledger_id = connection.execute(select(HEAD.c.ledger_id)).scalar_one()
    tag = account_tag(ledger_id, payload["described"]["partition"]["account"])
    key = Ed25519PrivateKey.from_private_bytes(home.signing_seed())
    document: dict[str, object] = {
        "format": FORMAT,
        "ledger_id": ledger_id,
        "release_key": release_key,
        "sequence": sequence,
        "payload": payload,
        "theta": decimal_text(theta),
        "threshold_units": threshold_units(n, exact),
        "decisions": [
            _decision(name, emits(units, n, exact), reason)
            for name, units, reason in zip(
                question["statement_ids"], answer["certificate_units"], answer["reasons"], strict=True
            )
        ],
        "disclosures": list(DISCLOSURES),
        "chain": list(_links(connection, tag, sequence)),
        "public_key": key.public_key().public_bytes_raw().hex(),
    }
    document["signature"] = key.sign(canonical(document)).hex()
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def _decision(statement_id: str, emitted: bool, reason: str | None) -> dict[str, str | None]:
    """reason: why it abstains; None where it is emitted."""
    if emitted:
        return {"statement_id": statement_id, "decision": "emit", "reason": None}
    return {"statement_id": statement_id, "decision": "abstain", "reason": reason or "below_threshold"}


def _links(connection: Connection, tag: str | None, last: int) -> Iterator[dict[str, object]]:
    """The chain up to this release; bodies exactly where they concern its account, or every account."""
    for entry in entries(connection):
        if entry.sequence > last:
            return
        link: dict[str, object] = {
            "sequence": entry.sequence,
            "kind": entry.kind,
            "day": entry.day,
            "account_tag": entry.account_tag,
            "body_sha256": entry.body_sha256,
            "hash": entry.hash,
        }
        yield link | ({"body": json.loads(entry.body)} if entry.account_tag in (tag, None) else {})


def public_key(home: Home) -> str:
    """Hex of the Ed25519 key that verifies this home's certificates."""
    return Ed25519PrivateKey.from_private_bytes(home.signing_seed()).public_key().public_bytes_raw().hex()
