"""Numbers for a reader, rounded to the safe side: a lower bound never up, an upper bound never down or to nothing."""

import math
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_NEAR_ONE = Fraction(999, 1000)
_LEAST_NORMAL = sys.float_info.min
Number = int | float | Decimal | Fraction  # a float counts as exactly the double that it is


def share_at_least(units: int, n: int, digits: int = 4) -> str:
    """units / n with so many decimals, rounded down: '0.5702' for 2,281 of 4,000. n > 0."""
    return fixed(Fraction(units, n), digits, round_up=False)


def share_at_most(units: int, n: int, digits: int = 4) -> str:
    """units / n with so many decimals, rounded up. n > 0."""
    return fixed(Fraction(units, n), digits, round_up=True)


def written(double: float) -> Decimal:
    """A double as its shortest decimal: 0.05, and not the 55 digits of the double nearest to it."""
    return Decimal(repr(double))


def fixed(value: Number, digits: int, *, round_up: bool) -> str:
    """A number >= 0 with so many decimals."""
    scaled = Fraction(value) * 10**digits
    whole = -(-scaled // 1) if round_up else scaled // 1
    return f"{Decimal(whole).scaleb(-digits):.{digits}f}"


def at_least(value: Number, digits: int = 4) -> str:
    """A number >= 0 with so many significant digits, rounded down."""
    return _significant(Fraction(value), digits, ROUND_FLOOR)


def at_most(value: Number, digits: int = 4) -> str:
    """A number >= 0 with so many significant digits, rounded up."""
    return _significant(Fraction(value), digits, ROUND_CEILING)


def chance_at_most(bound: Number) -> str:
    """An upper bound of a probability with four significant digits, rounded up; near 1 by its distance from 1."""
    exact = Fraction(bound)
    if exact >= 1:
        return "1 (no bound)"
    return f"1 - {at_least(1 - exact, 2)}" if exact > _NEAR_ONE else at_most(exact)


def double_at_most(value: Fraction) -> float:
    """The nearest double of a number >= 0; where that lies below it in the range without full precision, the next one.

    So what is positive is never 0.
    """
    nearest = float(value)
    return nearest if nearest > _LEAST_NORMAL or Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _significant(value: Fraction, digits: int, rounding: str) -> str:
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{quotient:g}"
