"""Parameters as exact numbers, refused by name before anything is computed with them."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from schemas.values import exact_decimal

Exact = Fraction | Decimal | int
Real = Exact | float


def exact(value: Exact, name: str) -> Fraction:
    """The number that was written. ValueError for floats, booleans, text, NaN and infinities."""
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(exact_decimal(value))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def real(value: Real, name: str) -> Fraction:
    """As `exact`, but a finite float stands for its binary value: for limits, which nothing is released by."""
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    return exact(value if not isinstance(value, float) else Decimal(value), name)


def share(value: Exact, name: str) -> Fraction:
    """An exact number in [0, 1]."""
    number = exact(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"{name}: must be between 0 and 1")
    return number


def between(value: Real, name: str, low: Exact, high: Exact) -> Fraction:
    """A number strictly between."""
    number = real(value, name)
    if not low < number < high:
        raise ValueError(f"{name}: must be greater than {low} and less than {high}")
    return number


def whole(value: int, name: str, at_least: int, at_most: int) -> int:
    """An integer in this range; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name}: must be a whole number, not {type(value).__name__}")
    if not at_least <= value <= at_most:
        raise ValueError(f"{name}: must be between {at_least} and {at_most}")
    return int(value)
