"""Would several charges fit under the caps together? Asked before the first; each is checked again when drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import Connection, select

from schemas.errors import UserError
from tasks.ledger.amounts import exact_text
from tasks.ledger.budget import Cap, check_composition, counted_sum, read_cap
from tasks.ledger.charges import EVERYTHING, charges_of, is_pooled
from tasks.ledger.tables import CORPUS
from tasks.privacy.accounting import Loss, amounts


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A charge that may come. units_recur: of its corpus, whose charges then all add up."""

    account: str
    corpus: str
    partition: str
    units_recur: bool
    loss: Loss


@dataclass(slots=True)
class Need:
    """What is asked of one line of an account.

    line: partition key, `*` for a whole account. cap: None where none was set. left: by name, of that cap.
    audits: foreseen charges; fitting: how many of them, from the first, the cap covers. needed: their sum by name.
    first_over: partition of the first that it does not cover.
    """

    account: str
    line: str
    cap: Cap | None
    left: dict[str, Fraction]
    needed: dict[str, Fraction] = field(default_factory=dict)
    audits: int = 0
    fitting: int = 0
    first_over: Foreseen | None = None

    def add(self, charge: Foreseen) -> None:
        """Foresee one more. Raises CompositionError where the account does not count it."""
        self.audits += 1
        for name, amount in _parts(charge.loss, self.cap).items():
            self.needed[name] = self.needed.get(name, Fraction(0)) + amount
        if all(self.needed[name] <= left for name, left in self.left.items()):
            self.fitting += self.first_over is None
        elif self.first_over is None:
            self.first_over = charge

    @property
    def lacking(self) -> dict[str, Fraction]:
        """By how much the cap is too small, by name; empty where it suffices."""
        over = {name: self.needed.get(name, Fraction(0)) - left for name, left in self.left.items()}
        return {name: amount for name, amount in over.items() if amount > 0}


def needs_of(connection: Connection, charges: Sequence[Foreseen]) -> list[Need]:
    """What these charges ask of each line, in order of their first charge. UserError where one is never counted."""
    needs: dict[tuple[str, str, str], Need] = {}
    accounts = {charge.account for charge in charges}
    pooled = {account for account in accounts if _will_be_pooled(connection, account, charges)}
    for charge in charges:
        check_composition(connection, charge.account, charge.loss)
        line = (EVERYTHING, EVERYTHING) if charge.account in pooled else (charge.corpus, charge.partition)
        place = (charge.account, *line)
        if place not in needs:
            needs[place] = _need(connection, *place)
        needs[place].add(charge)
    return list(needs.values())


def check_together(needs: Sequence[Need]) -> None:
    """Refuse all where a cap does not cover its line. Raises UserError: which partition, and what is missing."""
    missing = [says for need in needs if (says := missing_of(need)) is not None]
    if missing:
        raise UserError(f"budget: {'; '.join(missing)}; nothing was spent")


def missing_of(need: Need) -> str | None:
    """Which audit is the first that the cap does not cover, and what is missing for all; None where it covers them."""
    if need.first_over is None:
        return None
    missing = ", ".join(f"{name} {exact_text(amount)}" for name, amount in need.lacking.items())
    first = f"{need.first_over.partition} of {need.first_over.corpus}"
    return (
        f"the cap of account {need.account} covers {need.fitting} of {need.audits} audits, {first} is the first that "
        f"it does not, and {missing} is missing for all"
    )


def _need(connection: Connection, account: str, corpus: str, partition: str) -> Need:
    cap = read_cap(connection, account)
    rows = charges_of(connection, account, corpus, partition)
    counted = {} if cap is None else cap.parts
    left = {name: max(limit - counted_sum(rows, name, account), Fraction(0)) for name, limit in counted.items()}
    return Need(account, partition, cap, left)


def _will_be_pooled(connection: Connection, account: str, charges: Sequence[Foreseen]) -> bool:
    here = [charge for charge in charges if charge.account == account]
    known = set(connection.execute(select(CORPUS.c.corpus).where(CORPUS.c.account == account)).scalars())
    corpora = known | {charge.corpus for charge in here}
    return is_pooled(connection, account) or len(corpora) > 1 or any(charge.units_recur for charge in here)


def _parts(loss: Loss, cap: Cap | None) -> dict[str, Fraction]:
    if cap is not None:
        return amounts(loss, cap.composition)
    return {"epsilon": loss.epsilon, "delta": loss.delta}
