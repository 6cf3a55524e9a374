"""Do the tables that decide say what the chain says? Only the chain cannot be altered unseen; the rest is derived."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Column, Connection, select

from schemas.errors import UserError
from schemas.payloads import LOSS_PARTS
from tasks.ledger.canonical import canonical
from tasks.ledger.chain import Entry, entries
from tasks.ledger.charges import EVERYTHING
from tasks.ledger.tables import CAP, CHARGE, CORPUS, PARTITION, RELEASE

Rows = set[tuple[object, ...]]


@dataclass
class _Derived:
    """The tables as the chain's bodies imply them."""

    caps: dict[str, tuple[object, ...]] = field(default_factory=dict)
    gaps: dict[int, tuple[object, ...]] = field(default_factory=dict)
    corpora: Rows = field(default_factory=set)
    partitions: Rows = field(default_factory=set)
    releases: Rows = field(default_factory=set)
    charges: Rows = field(default_factory=set)

    def accounts(self) -> set[str]:
        return set(self.caps) | {str(account) for _, account, *_ in self.corpora}


def check_tables(connection: Connection) -> None:
    """Compare caps, corpora, partitions, releases and charges with the chain. Raises UserError at the first difference.

    Content keys and payloads are not in the chain's bodies: payloads have their own check.
    """
    chained = _Derived()
    for entry in entries(connection):
        _apply(chained, entry)
    for account in chained.accounts():
        chained.charges |= {
            (at, account, EVERYTHING, EVERYTHING, None, *amounts) for at, amounts in chained.gaps.items()
        }
    for name, expected, columns in (
        ("caps", {(account, *cap) for account, cap in chained.caps.items()}, CAP.c),
        ("corpora", chained.corpora, CORPUS.c),
        ("partitions", chained.partitions, [column for column in PARTITION.c if column.name != "content_key"]),
        ("releases", chained.releases, [RELEASE.c.release_key, RELEASE.c.sequence]),
        ("charges", chained.charges, CHARGE.c),
    ):
        if _rows(connection, columns) != expected:
            raise UserError(f"the release log was altered: its {name} are not what its chain says")


def _apply(chained: _Derived, entry: Entry) -> None:
    body, at = json.loads(entry.body), entry.sequence
    if entry.kind == "cap":
        chained.caps[body["account"]] = tuple(body[name] for name in ("composition", *LOSS_PARTS))
    elif entry.kind == "gap":
        chained.gaps[at] = tuple(body[part] for part in LOSS_PARTS)
    elif entry.kind == "corpus":
        recur = int(body["scheme"]["partition_by"] not in ("all", "list"))
        scheme = canonical(body["scheme"]).decode()
        chained.corpora.add((body["corpus"], body["account"], body["visibility"], scheme, recur))
    elif entry.kind == "partition":
        chained.partitions.add(tuple(body[name] for name in ("version", "corpus", "partition", "number", "n")))
    elif entry.kind == "release":
        charged = tuple(body[name] for name in ("account", "corpus", "partition", "release_key", *LOSS_PARTS))
        chained.releases.add((body["release_key"], at))
        chained.charges.add((at, *charged))


def _rows(connection: Connection, columns: Iterable[Column[object]]) -> Rows:
    return {tuple(row) for row in connection.execute(select(*columns))}
