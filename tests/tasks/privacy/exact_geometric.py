"""The two-sided geometric law in arithmetic of its own: fixed-point integers, bounds rounded outwards.

Shares nothing with the product: e^-x comes from a Taylor series and repeated squaring, not from `decimal`.
"""

from fractions import Fraction
from math import ceil, floor

BITS = 420
ONE = 1 << BITS


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """low <= e^-x <= high, x >= 0, about 100 digits relative for x up to 50."""
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 20)
    small = x / 2**halvings
    low, high = _taylor(small)
    for _ in range(halvings):
        low, high = (low * low) >> BITS, -((-high * high) >> BITS)
    return Fraction(low, ONE), Fraction(high, ONE)


def tail_bounds(j: int, rate: Fraction) -> tuple[Fraction, Fraction]:
    """low <= Pr[G >= j] <= high for Pr[G = g] proportional to e^(-rate |g|)."""
    one_low, one_high = exp_bounds(rate)
    power_low, power_high = exp_bounds(rate * (j if j >= 1 else 1 - j))
    low, high = power_low / (1 + one_high), power_high / (1 + one_low)
    return (low, high) if j >= 1 else (1 - high, 1 - low)


def tail(j: int, rate: Fraction) -> Fraction:
    """Pr[G >= j] to about 100 digits."""
    low, high = tail_bounds(j, rate)
    return (low + high) / 2


def error_bound(margin: int, coin: Fraction, rate: Fraction) -> Fraction:
    """A rigorous upper bound of Pr[G - margin + B > 0], B ~ Bernoulli(coin)."""
    return tail_bounds(margin + 1, rate)[1] * (1 - coin) + tail_bounds(margin, rate)[1] * coin


def certificate_law(count: int, n: int, margin: int, coin: Fraction, rate: Fraction) -> list[Fraction]:
    """Pr[clip(count + G - margin + B, 0, n) = c] for c = 0 .. n."""

    def at_least(c: int) -> Fraction:
        needed = c - count + margin
        return tail(needed, rate) * (1 - coin) + tail(needed - 1, rate) * coin

    reach = [Fraction(1), *(at_least(c) for c in range(1, n + 1)), Fraction(0)]
    return [reach[c] - reach[c + 1] for c in range(n + 1)]


def frontier(epsilon: Fraction, beta: Fraction, steps: int) -> list[Fraction]:
    """pi_0 .. pi_steps of Theorem 2, to about 100 digits."""
    shrink = sum(exp_bounds(epsilon)) / 2
    pi = [beta]
    for _ in range(steps):
        following = min(pi[-1] / shrink, 1 - shrink * (1 - pi[-1]))
        pi.append(Fraction(round(following * ONE), ONE))
    return pi


def _taylor(x: Fraction) -> tuple[int, int]:
    """Bounds of e^-x in units of 2^-BITS for 0 <= x <= 2^-19: the series alternates and shrinks."""
    low, high, term = 0, 0, Fraction(1)
    for k in range(24):
        signed = term if k % 2 == 0 else -term
        low, high = low + floor(signed * ONE), high + ceil(signed * ONE)
        term = Fraction(ceil(term * x * 2**600 / (k + 1)), 2**600)
    rest = ceil(term * ONE) + 24
    return low - rest, high + rest
