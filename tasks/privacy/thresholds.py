"""Exact thresholds and distances of a statement (spec 1.1)."""

import math
from fractions import Fraction


def threshold_units(n: int, theta: Fraction) -> int:
    """t = ceil(n theta), the smallest supported count; exact (n = 100, theta = 0.07 is 7, in doubles 8).

    Raises ValueError for n < 0 or theta outside [0, 1].
    """
    if n < 0 or not 0 <= theta <= 1:
        raise ValueError("n must be >= 0 and theta between 0 and 1")
    return math.ceil(n * theta)


def distance(count: int, n: int, theta: Fraction) -> int:
    """d = max(N - t + 1, 0): units to replace until the statement is unsupported.

    Raises ValueError for a count outside [0, n].
    """
    if not 0 <= count <= n:
        raise ValueError("a support count must lie between 0 and n")
    return max(count - threshold_units(n, theta) + 1, 0)


def emits(certificate_units: int, n: int, theta: Fraction) -> bool:
    """Emit iff the certificate, clipped to [0, n], reaches t; at theta = 0 always; with n = 0 never."""
    return n > 0 and min(max(certificate_units, 0), n) >= threshold_units(n, theta)


def is_vacuous(margin_units: Fraction, n: int, theta: Fraction) -> bool:
    """Does t + margin exceed n? Then even a statement that all units support is emitted by luck only.

    At theta = 0 everything is emitted; with n = 0 nothing is asked.
    """
    threshold = threshold_units(n, theta)
    return n == 0 or (threshold > 0 and threshold + margin_units > n)
