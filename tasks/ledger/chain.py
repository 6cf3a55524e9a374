"""The hash chain over everything that was ever decided, and the witness of its head in the release zone.

H_i = SHA-256(canonical(sequence, kind, day, SHA-256(body), H_{i-1})), H_0 = SHA-256 of the ledger id.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

from sqlalchemy import Connection, insert, select, update

from schemas.errors import UserError
from tasks.ledger.canonical import canonical, digest
from tasks.ledger.clock import today
from tasks.ledger.tables import ENTRY, HEAD
from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import Home

WITNESS = "chain_head.json"


class Witness(TypedDict):
    """The head of the chain as the release zone knows it."""

    ledger_id: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One link; `body` is canonical JSON of public facts."""

    sequence: int
    kind: str
    day: str
    body: str
    body_sha256: str
    previous: str
    hash: str


def genesis(ledger_id: str) -> str:
    """H_0."""
    return hashlib.sha256(ledger_id.encode()).hexdigest()


def link_hash(sequence: int, kind: str, day: str, body_sha256: str, previous: str) -> str:
    """H_i."""
    return digest({"sequence": sequence, "kind": kind, "day": day, "body_sha256": body_sha256, "previous": previous})


def append(connection: Connection, kind: str, body: Mapping[str, object]) -> int:
    """Chain one act, inside the caller's transaction; returns its sequence number."""
    head = connection.execute(select(HEAD)).one()
    sequence, day, text = head.sequence + 1, today(), canonical(body).decode()
    body_sha256 = hashlib.sha256(text.encode()).hexdigest()
    value = link_hash(sequence, kind, day.isoformat(), body_sha256, head.hash)
    connection.execute(
        insert(ENTRY).values(
            sequence=sequence,
            kind=kind,
            day=day,
            body=text,
            body_sha256=body_sha256,
            previous=head.hash,
            hash=value,
        )
    )
    connection.execute(update(HEAD).values(sequence=sequence, hash=value))
    return int(sequence)


def entries(connection: Connection) -> Iterator[Entry]:
    """The chain from its first link."""
    for row in connection.execute(select(ENTRY).order_by(ENTRY.c.sequence)):
        yield Entry(row.sequence, row.kind, row.day.isoformat(), row.body, row.body_sha256, row.previous, row.hash)


def check_chain(connection: Connection) -> None:
    """Recompute every link. Raises UserError at the first that does not fit."""
    head = connection.execute(select(HEAD)).one()
    previous, sequence = genesis(head.ledger_id), 0
    for entry in entries(connection):
        sequence += 1
        body_sha256 = hashlib.sha256(entry.body.encode()).hexdigest()
        expected = link_hash(sequence, entry.kind, entry.day, body_sha256, previous)
        if entry.sequence != sequence or entry.previous != previous or entry.hash != expected:
            raise UserError(f"the release log was altered: entry {sequence} does not fit its chain")
        previous = entry.hash
    if (head.sequence, head.hash) != (sequence, previous):
        raise UserError("the release log was altered: its head is not its last entry")


def check_witness(connection: Connection, home: Home) -> None:
    """Refuse when the head that the release zone knows is not in this log: a backup was restored.

    Raises UserError that says how to accept the gap.
    """
    check_known(connection, read_witness(home))


def check_known(connection: Connection, known: Witness | None) -> None:
    """Refuse when `known`, a head of the chain, is not in this log. Raises UserError."""
    if is_missing(connection, known):
        raise UserError(
            "the release log is older than its own releases (a restored backup?): what was charged since is unknown; "
            "restore the newer log, or accept a charge with `privcert budget accept-gap --epsilon E --reason TEXT`"
        )


def is_missing(connection: Connection, known: Witness | None) -> bool:
    """Is this head missing from the log, and not accepted as a gap?

    `known` must be read before the connection's first SELECT: a reader's view may otherwise be older than it.
    Raises UserError when the release zone belongs to another log.
    """
    if known is None:
        return False
    if known["ledger_id"] != connection.execute(select(HEAD.c.ledger_id)).scalar_one():
        raise UserError("the release zone belongs to another release log: restore the right one, or use another home")
    return not _is_known(connection, known["sequence"], known["hash"])


def read_witness(home: Home) -> Witness | None:
    """The head that the release zone knows; None before the first publication."""
    path = home.release / WITNESS
    if not path.exists():
        return None
    content: Witness = json.loads(path.read_bytes())
    return content


def head_witness(connection: Connection) -> Witness:
    """The present head, as the release zone is told it."""
    head = connection.execute(select(HEAD)).one()
    return {"ledger_id": head.ledger_id, "sequence": head.sequence, "hash": head.hash}


def write_witness(connection: Connection, home: Home) -> None:
    """Tell the release zone the present head; under the lock, or a slower process would set it back."""
    write_bytes(home.release / WITNESS, canonical(head_witness(connection)), RELEASE_FILE)


def _is_known(connection: Connection, sequence: int, value: str) -> bool:
    if sequence == 0:
        return True
    found = connection.execute(select(ENTRY.c.hash).where(ENTRY.c.sequence == sequence)).scalar_one_or_none()
    gaps = connection.execute(select(ENTRY.c.body).where(ENTRY.c.kind == "gap")).scalars()
    return found == value or any(json.loads(body)["lost_hash"] == value for body in gaps)
