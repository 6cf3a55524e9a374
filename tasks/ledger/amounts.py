"""Amounts of privacy budget as exact decimal text: what is charged, capped, chained and sealed."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from schemas.payloads import LossFields
from schemas.values import decimal_text
from tasks.privacy.accounting import Loss


def exact_text(amount: Fraction) -> str:
    """A sum of decimals as decimal text, exact. Raises ArithmeticError for what no decimal is."""
    digits = len(str(amount.denominator)) + len(str(abs(amount.numerator))) + 5
    places = next((k for k in range(digits * 4) if amount * 10**k % 1 == 0), None)
    if places is None:
        raise ArithmeticError("not a decimal")
    digits_written = tuple(int(digit) for digit in str(abs(int(amount * 10**places))))
    return decimal_text(Decimal((int(amount < 0), digits_written, -places)))


def loss_fields(loss: Loss) -> LossFields:
    """A loss as it is sealed and charged."""
    return {
        "epsilon": exact_text(loss.epsilon),
        "delta": exact_text(loss.delta),
        "rho": None if loss.rho is None else exact_text(loss.rho),
    }


def sum_of(rows: list[Mapping[str, str | None]], part: str) -> Fraction | None:
    """The exact sum of one part of these charges; None where one of them does not state it."""
    texts = [row[part] for row in rows]
    return None if None in texts else sum((Fraction(text) for text in texts if text is not None), Fraction(0))
