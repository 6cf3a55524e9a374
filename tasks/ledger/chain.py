"""The hash chain over everything that was ever decided, and the witness of its head in the release zone.

H_i = SHA-256(canonical(sequence, kind, day, account tag, SHA-256(body), H_{i-1})), H_0 = SHA-256 of the ledger id.
The tag says which entries concern the same account without naming it, so that none can be withheld unseen.
"""

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

from sqlalchemy import Connection, insert, select, update

from schemas.errors import UserError
from tasks.ledger.canonical import canonical, digest
from tasks.ledger.clock import today
from tasks.ledger.tables import CORPUS, ENTRY, HEAD
from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import WITNESS, Home


class Witness(TypedDict):
    """The head of the chain as the release zone knows it."""

    ledger_id: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One link; `body` is canonical JSON of public facts. account_tag: None where it concerns every account."""

    sequence: int
    kind: str
    day: str
    account_tag: str | None
    body: str
    body_sha256: str
    previous: str
    hash: str


def genesis(ledger_id: str) -> str:
    """H_0."""
    return hashlib.sha256(ledger_id.encode()).hexdigest()


def account_tag(ledger_id: str, account: str | None) -> str | None:
    """16 hex digits that are the same for all entries of an account; None for what concerns every account.

    It hides the account's name from those who cannot guess it.
    """
    return None if account is None else hashlib.sha256(f"{ledger_id}:{account}".encode()).hexdigest()[:16]


def link_hash(sequence: int, kind: str, day: str, tag: str | None, body_sha256: str, previous: str) -> str:
    """H_i."""
    return digest(
        {
            "sequence": sequence,
            "kind": kind,
            "day": day,
            "account_tag": tag,
            "body_sha256": body_sha256,
            "previous": previous,
        }
    )


def append(connection: Connection, kind: str, body: Mapping[str, object]) -> int:
    """Chain one act, inside the caller's transaction; returns its sequence number.

    body: names its account, a partition at least its registered corpus; a gap concerns all. ValueError if not.
    """
    head = connection.execute(select(HEAD)).one()
    account = _account_of(kind, body, _accounts(connection))
    if (account is None) != (kind == "gap"):
        raise ValueError("every entry but a gap names its account")
    sequence, day, text = head.sequence + 1, _day(connection), canonical(body).decode()
    tag, body_sha256 = account_tag(head.ledger_id, account), hashlib.sha256(text.encode()).hexdigest()
    value = link_hash(sequence, kind, day.isoformat(), tag, body_sha256, head.hash)
    connection.execute(
        insert(ENTRY).values(
            sequence=sequence,
            kind=kind,
            day=day,
            account_tag=tag,
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
        yield Entry(**(dict(row._mapping) | {"day": row.day.isoformat()}))


def check_chain(connection: Connection) -> None:
    """Recompute every link. Raises UserError at the first that does not fit."""
    head = connection.execute(select(HEAD)).one()
    previous, sequence, accounts = genesis(head.ledger_id), 0, dict[str, str]()
    for entry in entries(connection):
        sequence += 1
        body_sha256 = hashlib.sha256(entry.body.encode()).hexdigest()
        expected = link_hash(sequence, entry.kind, entry.day, entry.account_tag, body_sha256, previous)
        if entry.sequence != sequence or entry.previous != previous or entry.hash != expected:
            raise UserError(f"the release log was altered: entry {sequence} does not fit its chain")
        body = json.loads(entry.body)
        account = _account_of(entry.kind, body, accounts)
        if entry.account_tag != account_tag(head.ledger_id, account) or (account is None) != (entry.kind == "gap"):
            raise UserError(f"the release log was altered: entry {sequence} has the tag of another account")
        if entry.kind == "corpus":
            accounts[body["corpus"]] = body["account"]
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
            "restore the newer log, or accept a charge with `privcert budget accept-gap --epsilon E --delta D "
            "--reason TEXT` (delta 0 if nothing that was lost had one), or `--rho R` where every account counts rho"
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


def _account_of(kind: str, body: Mapping[str, object], accounts: Mapping[str, str]) -> str | None:
    """Whom an entry concerns; accounts: by corpus."""
    if kind == "gap":
        return None
    named = body.get("account", accounts.get(str(body.get("corpus"))))
    return None if named is None else str(named)


def _accounts(connection: Connection) -> dict[str, str]:
    return {row.corpus: row.account for row in connection.execute(select(CORPUS.c.corpus, CORPUS.c.account))}


def _day(connection: Connection) -> datetime.date:
    """Today, or the newest entry's day while the clock is behind it: days of a chain never decrease."""
    newest = connection.execute(select(ENTRY.c.day).order_by(ENTRY.c.sequence.desc()).limit(1)).scalar_one_or_none()
    return today() if newest is None else max(today(), newest)


def _is_known(connection: Connection, sequence: int, value: str) -> bool:
    if sequence == 0:
        return True
    found = connection.execute(select(ENTRY.c.hash).where(ENTRY.c.sequence == sequence)).scalar_one_or_none()
    gaps = connection.execute(select(ENTRY.c.body).where(ENTRY.c.kind == "gap")).scalars()
    return found == value or any(json.loads(body)["lost_hash"] == value for body in gaps)
