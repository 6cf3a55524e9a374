"""Accounts, caps and charges: exact sums of decimals, basic composition (spec 1.3)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlalchemy import Connection, delete, insert, select

from schemas.errors import UserError
from schemas.values import decimal_text, exact_decimal
from tasks.ledger.chain import append
from tasks.ledger.tables import CAP, CHARGE, CORPUS, ENTRY

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Line:
    """What is summed under one cap: one partition lineage, or a whole account (`*`) where units may recur.

    Amounts are exact decimal text; cap and left are None where no cap was set.
    """

    account: str
    line: str
    cap: str | None
    spent: str
    left: str | None


def set_cap(connection: Connection, account: str, epsilon: Decimal, reason: str | None) -> None:
    """Chain the cap of an account, >= 0; raising one needs a reason. UserError where that is missing."""
    _check_amount(epsilon, "cap")
    before, reason = read_cap(connection, account), (reason or "").strip() or None
    if before is not None and epsilon > before and not reason:
        raise UserError(f"reason: raising the cap of {account} from {decimal_text(before)} needs --reason TEXT")
    if before is not None and epsilon == before:
        return
    spent = max((Fraction(line.spent) for line in _account_lines(connection, account)), default=Fraction(0))
    if epsilon < spent:
        raise UserError(f"cap: {account} has spent {exact_text(spent)} already; set at least that")
    append(
        connection,
        "cap",
        {
            "account": account,
            "epsilon": decimal_text(epsilon),
            "before": None if before is None else decimal_text(before),
            "reason": reason,
        },
    )
    connection.execute(delete(CAP).where(CAP.c.account == account))
    connection.execute(insert(CAP).values(account=account, epsilon=decimal_text(epsilon)))
    charge_gaps(connection, account)


def accept_gap(connection: Connection, lost_sequence: int, lost_hash: str, epsilon: Decimal, reason: str) -> None:
    """Chain that the log lost everything up to this head, and charge `epsilon` >= 0 to every account for it."""
    _check_amount(epsilon, "epsilon")
    if not reason.strip():
        raise UserError("reason: accepting a gap needs --reason TEXT")
    accounts = {line.account for line in lines(connection)}
    body = {
        "lost_sequence": lost_sequence,
        "lost_hash": lost_hash,
        "epsilon": decimal_text(epsilon),
        "reason": reason.strip(),
    }
    append(connection, "gap", body)
    for account in sorted(accounts):
        charge_gaps(connection, account)


def charge_gaps(connection: Connection, account: str) -> None:
    """Charge the account for every accepted gap it was not charged for: its lost releases are unknown too."""
    charged = select(CHARGE.c.sequence).where(CHARGE.c.account == account)
    gaps = select(ENTRY.c.sequence, ENTRY.c.body).where(ENTRY.c.kind == "gap", ENTRY.c.sequence.not_in(charged))
    for gap in connection.execute(gaps.order_by(ENTRY.c.sequence)).all():
        epsilon = Decimal(json.loads(gap.body)["epsilon"])
        charge(connection, gap.sequence, account, EVERYTHING, EVERYTHING, None, epsilon)


def read_cap(connection: Connection, account: str) -> Decimal | None:
    """The cap in force, in nats; None when none was set."""
    value = connection.execute(select(CAP.c.epsilon).where(CAP.c.account == account)).scalar_one_or_none()
    return None if value is None else Decimal(value)


def check_affordable(connection: Connection, account: str, corpus: str, partition: str, epsilon: Decimal) -> None:
    """Refuse a charge that would take its line over the cap, or a private one without a cap. Raises UserError.

    A charge of 0 (n = 0: nothing is asked) is always affordable.
    """
    if epsilon == 0:
        return
    cap = read_cap(connection, account)
    if cap is None:
        if _visibility(connection, corpus) == "private":
            raise UserError(f"no cap: set one on purpose, `privcert budget set {account} --epsilon E`")
        return
    spent = _spent(connection, account, corpus, partition)
    if spent + Fraction(epsilon) > Fraction(cap):
        left = exact_text(max(Fraction(cap) - spent, Fraction(0)))
        raise UserError(
            f"budget: epsilon {decimal_text(epsilon)} is more than the {left} left of the cap "
            f"{decimal_text(cap)} of account {account}"
        )


def check_joinable(connection: Connection, account: str) -> None:
    """Refuse another corpus on an account whose charges, added up as they are from then on, exceed its cap."""
    cap, charges = read_cap(connection, account), select(CHARGE.c.epsilon).where(CHARGE.c.account == account)
    spent = sum((Fraction(value) for value in connection.execute(charges).scalars()), Fraction(0))
    if cap is not None and spent > Fraction(cap):
        raise UserError(
            f"account: corpora that share {account} add up, and {exact_text(spent)} is spent of its cap "
            f"{decimal_text(cap)}; raise it to at least that with "
            f"`privcert budget set {account} --epsilon E --reason TEXT`"
        )


def charge(
    connection: Connection, sequence: int, account: str, corpus: str, partition: str, key: str | None, epsilon: Decimal
) -> None:
    """Write one charge, inside the caller's transaction."""
    connection.execute(
        insert(CHARGE).values(
            sequence=sequence,
            account=account,
            corpus=corpus,
            partition=partition,
            release_key=key,
            epsilon=decimal_text(epsilon),
        )
    )


def is_pooled(connection: Connection, account: str) -> bool:
    """Do all charges of the account add up? Yes when units may recur, or several corpora share it."""
    rows = connection.execute(select(CORPUS.c.units_recur).where(CORPUS.c.account == account)).scalars().all()
    return len(rows) > 1 or any(rows)


def lines(connection: Connection) -> list[Line]:
    """Every account and what is left of it, in order of name."""
    accounts = set(connection.execute(select(CAP.c.account)).scalars())
    accounts |= set(connection.execute(select(CORPUS.c.account)).scalars())
    return [line for account in sorted(accounts) for line in _account_lines(connection, account)]


def exact_text(amount: Fraction) -> str:
    """A sum of decimals as decimal text, exact."""
    digits = len(str(amount.denominator)) + len(str(abs(amount.numerator))) + 5
    places = next((k for k in range(digits * 4) if amount * 10**k % 1 == 0), None)
    if places is None:
        raise ArithmeticError("not a decimal")
    digits_written = tuple(int(digit) for digit in str(abs(int(amount * 10**places))))
    return decimal_text(Decimal((int(amount < 0), digits_written, -places)))


def _account_lines(connection: Connection, account: str) -> Iterable[Line]:
    cap = read_cap(connection, account)
    for corpus, partition in _line_names(connection, account):
        spent = _spent(connection, account, corpus, partition)
        yield Line(
            account=account,
            line=EVERYTHING if partition == EVERYTHING else partition,
            cap=None if cap is None else decimal_text(cap),
            spent=exact_text(spent),
            left=None if cap is None else exact_text(max(Fraction(cap) - spent, Fraction(0))),
        )


def _line_names(connection: Connection, account: str) -> list[tuple[str, str]]:
    rows = connection.execute(
        select(CHARGE.c.corpus, CHARGE.c.partition)
        .where(CHARGE.c.account == account, CHARGE.c.partition != EVERYTHING)
        .distinct()
        .order_by(CHARGE.c.partition)
    ).all()
    if is_pooled(connection, account) or not rows:
        return [(EVERYTHING, EVERYTHING)]
    return [(row.corpus, row.partition) for row in rows]


def _spent(connection: Connection, account: str, corpus: str, partition: str) -> Fraction:
    query = select(CHARGE.c.epsilon).where(CHARGE.c.account == account)
    if not is_pooled(connection, account) and partition != EVERYTHING:
        here = (CHARGE.c.corpus == corpus) & (CHARGE.c.partition == partition)
        query = query.where(here | (CHARGE.c.partition == EVERYTHING))
    return sum((Fraction(value) for value in connection.execute(query).scalars()), Fraction(0))


def _visibility(connection: Connection, corpus: str) -> str:
    return str(connection.execute(select(CORPUS.c.visibility).where(CORPUS.c.corpus == corpus)).scalar_one())


def _check_amount(epsilon: Decimal, name: str) -> None:
    try:
        number = exact_decimal(epsilon)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
    if number < 0:
        raise UserError(f"{name}: must be at least 0")
