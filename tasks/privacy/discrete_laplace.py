"""Two-sided geometric (discrete Laplace) law on the integers, with rigorous bounds.

Pr[G = g] = (1 - a) / (1 + a) a^|g|, a = e^-rate (Ghosh, Roughgarden and Sundararajan 2012, arXiv:0811.2841), hence
Pr[G >= j] = a^j / (1 + a) for j >= 1 and 1 - a^(1-j) / (1 + a) for j <= 0. Rates are exact fractions; results are
intervals of decimals that contain the true value, so that a margin can be rounded in the safe direction.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

MIN_RATE = Fraction(1, 10**12)
MAX_RATE = Fraction(1000)
COIN_DENOMINATOR = 2**128


@dataclass(frozen=True, slots=True)
class Interval:
    """low <= true value <= high."""

    low: Decimal
    high: Decimal

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """The law with this rate (1 / scale), in nats per count.

    Raises ValueError for a rate outside [1e-12, 1000].
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if not MIN_RATE <= self.rate <= MAX_RATE:
            raise ValueError("epsilon per statement must lie between 1e-12 and 1000 nats")

    def upper_tail(self, j: int) -> Interval:
        """Pr[G >= j], relative width below 1e-40 (absolute, for j <= 0)."""
        down, up = self._contexts(j)
        a = self._power(1)
        one_plus = Interval(down.add(1, a.low), up.add(1, a.high))
        power = self._power(j if j >= 1 else 1 - j)
        tail = Interval(down.divide(power.low, one_plus.high), up.divide(power.high, one_plus.low))
        return tail if j >= 1 else Interval(down.subtract(1, tail.high), up.subtract(1, tail.low))

    def margin(self, beta: Fraction) -> int:
        """The smallest k >= 0 with Pr[G > k] <= beta; where 60 digits cannot decide, the larger one."""
        k = max(0, math.ceil(self._log_ratio(beta)) - 1)  # right to dozens of digits, so one below is safely too small
        while not at_most(self.upper_tail(k + 1), beta):
            k += 1
        return k

    def coin(self, beta: Fraction, k: int) -> Fraction:
        """q of the frontier mechanism (spec 1.3), rounded down to a multiple of 2^-128; in [0, 1].

        k: margin(beta). Pr[G > k] + q Pr[G = k] <= beta, with equality up to the rounding.
        """
        down, up = self._contexts(k)
        beyond, here = self.upper_tail(k + 1), self.upper_tail(k)
        spare = down.subtract(_decimal(beta, down), beyond.high)
        mass = up.subtract(here.high, beyond.low)
        q = max(Decimal(0), min(Decimal(1), down.divide(spare, mass)))
        return Fraction(math.floor(Fraction(q) * COIN_DENOMINATOR), COIN_DENOMINATOR)

    def _power(self, j: int) -> Interval:
        """e^(-rate j), j >= 0; Decimal.exp is correctly rounded, so one step outwards bounds it."""
        down, up = self._contexts(j)
        exponent = -self.rate * j
        low, high = down.exp(_decimal(exponent, down)), up.exp(_decimal(exponent, up))
        return Interval(max(Decimal(0), down.next_minus(low)), min(Decimal(1), up.next_plus(high)))

    def _log_ratio(self, beta: Fraction) -> Fraction:
        """-ln(beta (1 + a)) / rate - 1, roughly: where the margin lies."""
        down, _ = self._contexts(1)
        log = down.ln(down.multiply(_decimal(beta, down), down.add(1, self._power(1).low)))
        return -Fraction(log) / self.rate - 1

    def _contexts(self, j: int) -> tuple[Context, Context]:
        # digits lost: 1 - a cancels log10(1/rate); exp amplifies the rounding of rate * j by its size
        digits = 70 + 2 * len(str(self.rate.denominator // self.rate.numerator + 1)) + len(str(abs(j)))
        widest = 10**17
        return (
            Context(prec=digits, rounding=ROUND_FLOOR, Emin=-widest, Emax=widest),
            Context(prec=digits, rounding=ROUND_CEILING, Emin=-widest, Emax=widest),
        )


def at_most(value: Interval, bound: Fraction) -> bool:
    """Is the true value certainly <= bound?"""
    return Fraction(value.high) <= bound


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
