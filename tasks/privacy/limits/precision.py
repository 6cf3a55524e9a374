"""Decimals wide enough for every limit: e^(k epsilon) at 10^12 replacements, and differences from 1 without loss."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from tasks.privacy.discrete_laplace import MAX_RATE
from tasks.privacy.parameters import Real, real

DIGITS = 60
MAX_COUNT = 10**12
_WIDEST = 10**17
_MOST_DIGITS = 500


def checked_epsilon(epsilon: Real) -> Fraction:
    """Nats. Raises ValueError outside (0, 1000]."""
    number = real(epsilon, "epsilon")
    if not 0 < number <= MAX_RATE:
        raise ValueError(f"epsilon: must be greater than 0 and at most {MAX_RATE} nats")
    return number


def wide(*small: Fraction) -> AbstractContextManager[Context]:
    """A decimal context with 40 digits left after differences as small as these, and after e^(10^15)."""
    cancelled = max((_zeros(value) for value in small), default=0)
    return localcontext(_context(DIGITS + 2 * cancelled))


def decimal(value: Fraction) -> Decimal:
    """Rounded to the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def ceil_of_logs(terms: Sequence[tuple[int, Fraction]], divisor: Fraction, less: Fraction = Fraction(0)) -> int:
    """ceil(sum of multiple ln(argument) / divisor - less) over the terms (multiple, argument), exact.

    Unless the sum is 0, it is no fraction (Lindemann), so enough digits always decide; where 500 do not, it is the
    smaller candidate, which is right for the sum 0.
    """
    digits = DIGITS
    while True:
        low, high = (math.ceil(bound / divisor - less) for bound in _log_bounds(terms, digits))
        if low == high or digits >= _MOST_DIGITS:
            return low
        digits *= 2


def _log_bounds(terms: Sequence[tuple[int, Fraction]], digits: int) -> tuple[Fraction, Fraction]:
    with localcontext(_context(digits)):
        logs = [(multiple, Fraction(decimal(argument).ln())) for multiple, argument in terms]
    total = sum((multiple * log for multiple, log in logs), Fraction(0))
    # an argument is off by half a unit of its last digit, and so is its logarithm: one each is enough
    error = sum((multiple * (1 + abs(log)) for multiple, log in logs), Fraction(0)) * Fraction(10, 10**digits)
    return total - error, total + error


def _context(digits: int) -> Context:
    return Context(prec=digits, Emin=-_WIDEST, Emax=_WIDEST)


def _zeros(value: Fraction) -> int:
    """About how many zeros follow the point; 0 for values from 1 on, and for 0."""
    return len(str(value.denominator // abs(value.numerator))) if value else 0
