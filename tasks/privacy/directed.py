"""Directed decimal arithmetic: every result is an interval of decimals that contains the true value."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tasks.privacy.discrete_laplace import Interval

WIDEST = 10**17  # exponents: nothing here over- or underflows


class Directed:
    """Arithmetic with `digits` significant digits, each operation rounded outwards."""

    def __init__(self, digits: int) -> None:
        self.down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=-WIDEST, Emax=WIDEST)
        self.up = Context(prec=digits, rounding=ROUND_CEILING, Emin=-WIDEST, Emax=WIDEST)

    def of(self, value: Fraction | int) -> Interval:
        """An exact number."""
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        return Interval(self.down.divide(top, bottom), self.up.divide(top, bottom))

    def add(self, *terms: Interval) -> Interval:
        """Sum."""
        low, high = Decimal(0), Decimal(0)
        for term in terms:
            low, high = self.down.add(low, term.low), self.up.add(high, term.high)
        return Interval(low, high)

    def subtract(self, a: Interval, b: Interval) -> Interval:
        """a - b."""
        return Interval(self.down.subtract(a.low, b.high), self.up.subtract(a.high, b.low))

    def multiply(self, a: Interval, b: Interval) -> Interval:
        """a b."""
        pairs = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(self.down.multiply(*pair) for pair in pairs), max(self.up.multiply(*p) for p in pairs))

    def divide(self, a: Interval, b: Interval) -> Interval:
        """a / b for a >= 0 and b > 0."""
        return Interval(self.down.divide(a.low, b.high), self.up.divide(a.high, b.low))

    def exp(self, a: Interval) -> Interval:
        """e^a; Decimal's exp, ln and sqrt are correctly rounded, so one step outwards bounds them."""
        return Interval(
            max(Decimal(0), self.down.next_minus(self.down.exp(a.low))), self.up.next_plus(self.up.exp(a.high))
        )

    def ln(self, a: Interval) -> Interval:
        """ln a for a > 0."""
        return Interval(self.down.next_minus(self.down.ln(a.low)), self.up.next_plus(self.up.ln(a.high)))

    def sqrt(self, a: Interval) -> Interval:
        """The root of a >= 0."""
        return Interval(self.down.next_minus(self.down.sqrt(a.low)), self.up.next_plus(self.up.sqrt(a.high)))
