"""The two-sided geometric law in arithmetic of its own: fixed-point integers, bounds rounded outwards.

Shares nothing with the product: e^-x comes from a Taylor series and repeated squaring, not from `decimal`.
"""

import random
from fractions import Fraction

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
    """A rigorous upper bound of Pr[G - margin + B > 0], B ~ Bernoulli(coin), margin >= 0."""
    low, high = exp_bounds(rate)
    at_margin = exp_bounds(rate * margin)[1] / (1 + low)
    return at_margin * (high * (1 - coin) + coin)


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
    fixed = (x.numerator << BITS) // x.denominator
    total, term, k = ONE, ONE, 0
    while term:
        k += 1
        term = (term * fixed) // (k << BITS)
        total += term if k % 2 == 0 else -term
    return total - 2 * k - 1, total + 2 * k + 1  # each term and x itself are off by less than one unit


def epsilons(count: int, seed: int = 20261130) -> list[Fraction]:
    """Decimals as users and splits give them, from 1e-4 to 40: half of them short, half divided by a count."""
    source = random.Random(seed)
    short = [Fraction(f"{10 ** source.uniform(-4, 1.6):.{source.randint(4, 7)}f}") for _ in range(count // 2)]
    split = [Fraction(source.randint(1, 80), 2 * source.randint(1, 1000)) for _ in range(count - len(short))]
    return [epsilon for epsilon in short + split if epsilon > 0]
