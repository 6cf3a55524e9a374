"""Accounts and caps: exact sums of decimals (spec 1.3), under the composition that an account's first cap fixed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlalchemy import Connection, delete, insert, select

from schemas.errors import UserError
from schemas.payloads import LOSS_PARTS
from schemas.values import exact_decimal
from tasks.ledger.amounts import exact_text, sum_of
from tasks.ledger.chain import append
from tasks.ledger.charges import EVERYTHING, Amounts, charge_gaps, charges_of, line_names
from tasks.ledger.tables import CAP, CORPUS
from tasks.privacy.accounting import NOTHING, Composition, CompositionError, Loss, amounts, pure_loss


class NoCapError(UserError):
    """Private data on an account that no cap was set for."""


@dataclass(frozen=True, slots=True)
class Cap:
    """What an account may lose in all. Of `limit` only the parts that the composition counts are meant."""

    composition: Composition
    limit: Loss

    @property
    def parts(self) -> dict[str, Fraction]:
        """The limits by name: epsilon; epsilon and delta; or rho."""
        return amounts(self.limit, self.composition)


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of amount on a line, exact decimal text. cap and left: None where it is not counted or not capped.

    spent: None where an accepted gap did not state it.
    """

    cap: str | None
    spent: str | None
    left: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """What is summed under one cap: one partition lineage, or a whole account (`*`) where units may recur.

    composition: pure, approximate or zcdp; None where no cap was set.
    """

    account: str
    line: str
    composition: str | None
    epsilon: Part
    delta: Part
    rho: Part
    is_overspent: bool


def cap_of(epsilon: Decimal | None, delta: Decimal | None, rho: Decimal | None) -> Cap:
    """A cap >= 0 on epsilon (pure), epsilon and delta (approximate), or rho (zcdp). UserError by name."""
    given = {"epsilon": epsilon, "delta": delta, "rho": rho}
    exact = {name: _amount(value, name) for name, value in given.items() if value is not None}
    if set(exact) == {"rho"}:
        return Cap(Composition.ZCDP, Loss(Fraction(0), rho=exact["rho"]))
    if "rho" in exact or "epsilon" not in exact:
        raise UserError("cap: give epsilon, epsilon and delta, or rho alone")
    composition = Composition.APPROXIMATE if "delta" in exact else Composition.PURE
    return Cap(composition, Loss(exact["epsilon"], exact.get("delta", Fraction(0))))


def set_cap(connection: Connection, account: str, cap: Cap, reason: str | None) -> None:
    """Chain the cap of an account; raising it needs a reason. UserError where that is missing, or it cannot be kept.

    The first cap fixes the account's composition.
    """
    before, reason = read_cap(connection, account), (reason or "").strip() or None
    if before is not None and before.composition is not cap.composition:
        raise UserError(f"cap: {account} counts {' and '.join(before.parts)}, for ever: give that and nothing else")
    if before == cap:
        return
    if before is not None and not reason and any(cap.parts[name] > before.parts[name] for name in cap.parts):
        raise UserError(f"reason: raising the cap of {account} from {_said(before.parts)} needs --reason TEXT")
    charge_gaps(connection, account)
    _check_spent(connection, account, cap)
    row = {"composition": str(cap.composition)} | _texts(cap)
    was = None if before is None else _texts(before)
    append(connection, "cap", {"account": account, **row, "before": was, "reason": reason})
    connection.execute(delete(CAP).where(CAP.c.account == account))
    connection.execute(insert(CAP).values(account=account, **row))


def accept_gap(
    connection: Connection,
    lost_sequence: int,
    lost_hash: str,
    stated: Mapping[str, Decimal | None],
    reason: str,
) -> None:
    """Chain that the log lost everything up to this head, and charge every account for it.

    stated: by part, >= 0, what no account lost more of; each account counts the parts of its composition. Epsilon is
    nothing without a delta: where that is stated to be 0, all that was lost is pure, and rho follows from epsilon.
    What is not stated stays unknown. UserError where an account counts it, known or yet to come.
    """
    exact = {name: _amount(value, name) for name, value in stated.items() if value is not None}
    if "epsilon" not in exact and ("rho" not in exact or "delta" in exact):
        raise UserError("epsilon: accepting a gap needs --epsilon E with --delta D, or --rho R alone")
    if "epsilon" in exact and "delta" not in exact:
        raise UserError("delta: say --delta D beside --epsilon: 0 only if nothing that was lost had a delta")
    if not reason.strip():
        raise UserError("reason: accepting a gap needs --reason TEXT")
    if exact.get("delta") == 0:
        exact.setdefault("rho", pure_loss([exact["epsilon"]]).rho or Fraction(0))
    lost = {name: exact_text(exact[name]) if name in exact else None for name in LOSS_PARTS}
    accounts = _accounts(connection)
    for account in accounts:
        cap = read_cap(connection, account)
        missing = [] if cap is None else [name for name in cap.parts if lost[name] is None]
        if missing:
            flags = " and ".join(f"--{name} {name[0].upper()}" for name in missing)
            raise UserError(f"{missing[0]}: account {account} counts it, so accepting a gap must state it: {flags}")
    append(
        connection,
        "gap",
        {"lost_sequence": lost_sequence, "lost_hash": lost_hash, **lost, "reason": reason.strip()},
    )
    for account in accounts:
        charge_gaps(connection, account)


def read_cap(connection: Connection, account: str) -> Cap | None:
    """The cap in force; None when none was set."""
    row = connection.execute(select(CAP).where(CAP.c.account == account)).one_or_none()
    if row is None:
        return None
    epsilon, delta, rho = (None if text is None else Decimal(text) for text in (row.epsilon, row.delta, row.rho))
    return cap_of(epsilon, delta, rho)


def check_countable(connection: Connection, account: str, visibility: str, loss: Loss) -> None:
    """Refuse what the account can never be charged: no cap on private data, or it does not count such a loss."""
    if read_cap(connection, account) is None and visibility == "private":
        raise NoCapError(f"no cap: set one on purpose, `privcert budget set {account} --epsilon E`")
    check_composition(connection, account, loss)


def check_composition(connection: Connection, account: str, loss: Loss) -> None:
    """Refuse a loss that the account's composition does not count, were it charged or not. Raises UserError."""
    cap = read_cap(connection, account)
    try:
        _ = None if cap is None else amounts(loss, cap.composition)
    except CompositionError as error:
        raise UserError(f"{error}; account {account} is {cap and cap.composition} for ever") from None


def check_affordable(connection: Connection, account: str, corpus: str, partition: str, loss: Loss) -> None:
    """Refuse a charge that would take its line over the cap, or a private one without a cap. Raises UserError.

    Nothing (n = 0: nothing is asked) is always affordable.
    """
    if loss == NOTHING:
        return
    check_countable(connection, account, _visibility(connection, corpus), loss)
    cap = read_cap(connection, account)
    if cap is None:
        return
    rows = charges_of(connection, account, corpus, partition)
    for name, amount in amounts(loss, cap.composition).items():
        left = cap.parts[name] - counted_sum(rows, name, account)
        if amount > left:
            raise UserError(
                f"budget: {name} {exact_text(amount)} is more than the {exact_text(max(left, Fraction(0)))} left of "
                f"the cap {exact_text(cap.parts[name])} of account {account}"
            )


def check_joinable(connection: Connection, account: str) -> None:
    """Refuse another corpus on an account whose charges, added up as they are from then on, exceed its cap."""
    cap, rows = read_cap(connection, account), charges_of(connection, account)
    spent = {} if cap is None else {name: counted_sum(rows, name, account) for name in cap.parts}
    if cap is not None and any(spent[name] > cap.parts[name] for name in spent):
        raise UserError(
            f"account: corpora that share {account} add up, and {_said(spent)} is spent of its cap {_said(cap.parts)}; "
            f"raise it to at least that with `privcert budget set {account} {_flags(cap)} --reason TEXT`"
        )


def lines(connection: Connection) -> list[Line]:
    """Every account and what is left of it, in order of name."""
    return [line for account in _accounts(connection) for line in _account_lines(connection, account)]


def _account_lines(connection: Connection, account: str) -> Iterator[Line]:
    cap = read_cap(connection, account)
    for corpus, partition in line_names(connection, account):
        rows = charges_of(connection, account, corpus, partition)
        parts = {name: _part(cap, rows, name) for name in LOSS_PARTS}
        counted = {} if cap is None else cap.parts
        yield Line(
            account=account,
            line=EVERYTHING if partition == EVERYTHING else partition,
            composition=None if cap is None else str(cap.composition),
            is_overspent=any(counted_sum(rows, name, account) > limit for name, limit in counted.items()),
            **parts,
        )


def _part(cap: Cap | None, rows: list[Amounts], name: str) -> Part:
    spent, limit = sum_of(rows, name), None if cap is None else cap.parts.get(name)
    left = None if limit is None or spent is None else max(limit - spent, Fraction(0))
    return Part(*(None if amount is None else exact_text(amount) for amount in (limit, spent, left)))


def _check_spent(connection: Connection, account: str, cap: Cap) -> None:
    """A cap is at least what was spent, and counts everything that was."""
    for corpus, partition in line_names(connection, account):
        rows = charges_of(connection, account, corpus, partition)
        is_first = read_cap(connection, account) is None
        if is_first and cap.composition is Composition.PURE and counted_sum(rows, "delta", account) != 0:
            raise UserError(f"delta: {account} was charged at a delta that is not 0, which a pure cap does not count")
        spent = {name: counted_sum(rows, name, account) for name in cap.parts}
        if any(spent[name] > limit for name, limit in cap.parts.items()):
            raise UserError(f"cap: {account} has spent {_said(spent)} already; set at least that")


def counted_sum(rows: list[Amounts], name: str, account: str) -> Fraction:
    """The exact sum of one part of these charges. Raises UserError where an accepted gap did not state it."""
    spent = sum_of(rows, name)
    if spent is None:
        raise UserError(f"{name}: an accepted gap that {account} was charged for did not state it: count another part")
    return spent


def _accounts(connection: Connection) -> list[str]:
    named = set(connection.execute(select(CAP.c.account)).scalars())
    return sorted(named | set(connection.execute(select(CORPUS.c.account)).scalars()))


def _texts(cap: Cap) -> dict[str, str | None]:
    return {name: exact_text(cap.parts[name]) if name in cap.parts else None for name in LOSS_PARTS}


def _said(parts: dict[str, Fraction]) -> str:
    return ", ".join(f"{name} {exact_text(amount)}" for name, amount in parts.items())


def _flags(cap: Cap) -> str:
    return " ".join(f"--{name} {name[0].upper()}" for name in cap.parts)


def _visibility(connection: Connection, corpus: str) -> str:
    return str(connection.execute(select(CORPUS.c.visibility).where(CORPUS.c.corpus == corpus)).scalar_one())


def _amount(value: Decimal, name: str) -> Fraction:
    try:
        number = exact_decimal(value)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
    if number < 0:
        raise UserError(f"{name}: must be at least 0")
    if name == "delta" and number >= 1:
        raise UserError("delta: must be less than 1")
    return Fraction(number)
