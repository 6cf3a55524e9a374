"""The normal law: quantile and tail in doubles, and Mills' ratio with rigorous bounds.

M(x) is e^(x^2/2) times the integral of e^(-t^2/2) over t >= x, that is, tail over density.
"""

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

from tasks.privacy.directed import Directed
from tasks.privacy.discrete_laplace import Interval

MAX_DIGITS = 100
_PI_DIGITS = (
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679821480865"
)
PI = Interval(Decimal(_PI_DIGITS + "1"), Decimal(_PI_DIGITS + "2"))
_FAR = 4  # from here on the continued fraction needs few terms


def mills_ratio(x: Fraction, digits: int) -> Interval:
    """M(x), x >= 0, with a relative width below 10^(8 - digits), digits <= 100."""
    directed = Directed(digits)
    return _continued_fraction(x, directed, digits**2 // 10) if x >= _FAR else _series(x, directed)


def half_gaussian(x: Fraction, directed: Directed) -> Interval:
    """sqrt(pi / 2) e^(x^2/2) = M(0) e^(x^2/2)."""
    root = directed.sqrt(directed.divide(PI, directed.of(2)))
    return directed.multiply(root, directed.exp(directed.of(x * x / 2)))


def z_upper(beta: Fraction) -> float:
    """z with Pr[standard normal > z] = beta, a nearest double; ValueError where beta is below the doubles."""
    if not float(beta) > 0:
        raise ValueError("beta: is too small for a normal quantile")
    return -NormalDist().inv_cdf(float(beta))


def upper_tail(z: float) -> float:
    """Pr[standard normal >= z], a nearest double."""
    return math.erfc(z / math.sqrt(2)) / 2


def _continued_fraction(x: Fraction, directed: Directed, terms: int) -> Interval:
    """M = 1 / K_1, K_i = x + i / K_(i+1) (Laplace; DLMF 7.9): all K_i > x, so that interval bounds only tighten."""
    exact = directed.of(x)
    k = Interval(exact.low, directed.of(x + (terms + 1) / x).high)
    for i in range(terms, 0, -1):
        k = directed.add(exact, directed.divide(directed.of(i), k))
    return directed.divide(directed.of(1), k)


def _series(x: Fraction, directed: Directed) -> Interval:
    """M(0) e^(x^2/2) - sum of x^(2i+1) / (2i+1)!! over i >= 0 (DLMF 7.6.2); all terms positive.

    Once x^2 / (2i+3) < 1/2, what follows a term is less than that term.
    """
    square, term = directed.of(x * x), directed.of(x)
    total, smallest, i = term, Decimal(1).scaleb(-directed.down.prec), 0
    while term.high > smallest or 2 * x * x >= 2 * i + 3:
        i += 1
        term = directed.divide(directed.multiply(term, square), directed.of(2 * i + 1))
        total = directed.add(total, term)
    total = Interval(total.low, directed.up.add(total.high, term.high))
    return directed.subtract(half_gaussian(x, directed), total)
