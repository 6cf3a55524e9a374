"""What was charged to an account, and what of it adds up: exact decimals, basic composition (spec 1.3)."""

import json
from collections.abc import Mapping

from sqlalchemy import Connection, insert, select

from schemas.payloads import LOSS_PARTS
from tasks.ledger.tables import CHARGE, CORPUS, ENTRY

EVERYTHING = "*"
Amounts = Mapping[str, str | None]  # exact decimal text of each of LOSS_PARTS; None where it is not known


def charge(
    connection: Connection, sequence: int, account: str, corpus: str, partition: str, key: str | None, amounts: Amounts
) -> None:
    """Write one charge, inside the caller's transaction."""
    place = {"sequence": sequence, "account": account, "corpus": corpus, "partition": partition, "release_key": key}
    connection.execute(insert(CHARGE).values(**place, **{part: amounts[part] for part in LOSS_PARTS}))


def charge_gaps(connection: Connection, account: str) -> None:
    """Charge the account for every accepted gap it was not charged for: its lost releases are unknown too."""
    charged = select(CHARGE.c.sequence).where(CHARGE.c.account == account)
    gaps = select(ENTRY.c.sequence, ENTRY.c.body).where(ENTRY.c.kind == "gap", ENTRY.c.sequence.not_in(charged))
    for gap in connection.execute(gaps.order_by(ENTRY.c.sequence)).all():
        charge(connection, gap.sequence, account, EVERYTHING, EVERYTHING, None, json.loads(gap.body))


def charges_of(
    connection: Connection, account: str, corpus: str = EVERYTHING, partition: str = EVERYTHING
) -> list[Amounts]:
    """The charges that add up on one line of the account, or on all of it (`*`)."""
    query = select(*(CHARGE.c[part] for part in LOSS_PARTS)).where(CHARGE.c.account == account)
    if not is_pooled(connection, account) and partition != EVERYTHING:
        here = (CHARGE.c.corpus == corpus) & (CHARGE.c.partition == partition)
        query = query.where(here | (CHARGE.c.partition == EVERYTHING))
    return [dict(row._mapping) for row in connection.execute(query)]


def is_pooled(connection: Connection, account: str) -> bool:
    """Do all charges of the account add up? Yes when units may recur, or several corpora share it."""
    rows = connection.execute(select(CORPUS.c.units_recur).where(CORPUS.c.account == account)).scalars().all()
    return len(rows) > 1 or any(rows)


def line_names(connection: Connection, account: str) -> list[tuple[str, str]]:
    """Corpus and partition of every line of the account; `*` where all charges add up, or there is none yet."""
    rows = connection.execute(
        select(CHARGE.c.corpus, CHARGE.c.partition)
        .where(CHARGE.c.account == account, CHARGE.c.partition != EVERYTHING)
        .distinct()
        .order_by(CHARGE.c.partition)
    ).all()
    if is_pooled(connection, account) or not rows:
        return [(EVERYTHING, EVERYTHING)]
    return [(row.corpus, row.partition) for row in rows]
