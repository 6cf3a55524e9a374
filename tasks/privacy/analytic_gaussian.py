"""The analytic Gaussian mechanism (Balle and Wang 2018, arXiv:1805.06530, Theorem 8), with rigorous bounds.

With h = sensitivity / sigma and u = epsilon / h - h / 2, delta = Q(u) - e^epsilon Q(u + h), Q the normal upper tail.
Since e^epsilon times the density at u + h is the density at u, this is density(u) (M(u) - M(u + h)), M Mills' ratio:
nothing over- or underflows, and what the subtraction loses is given as further digits.
"""

import math
from fractions import Fraction
from functools import lru_cache

from tasks.privacy.directed import Directed
from tasks.privacy.discrete_gaussian import root_up
from tasks.privacy.discrete_laplace import Interval
from tasks.privacy.normal_tail import MAX_DIGITS, half_gaussian, mills_ratio
from tasks.privacy.zcdp import largest_rho

_DIGITS = 50
_STEPS = 60
_CLOSE = 2e-15


def gaussian_delta(sigma: Fraction, epsilon: Fraction, sensitivity: Fraction) -> float:
    """The exact delta of normal noise of this sigma at epsilon, a nearest double; sensitivity in L2, unit of sigma.

    Raises ValueError unless all three are greater than 0.
    """
    if not (sigma > 0 and epsilon > 0 and sensitivity > 0):
        raise ValueError("sigma, epsilon and sensitivity: must be greater than 0")
    return float(_delta(sensitivity / sigma, epsilon))


def gaussian_sigma(epsilon: Fraction, delta: Fraction, squared_sensitivity: Fraction) -> float:
    """A double sigma that gives (epsilon, delta), never below the exact one and at most 1e-12 of it above.

    squared_sensitivity: of the L2 sensitivity, which for m counts as one vector of shares of n is m / n^2.
    Raises ValueError unless epsilon > 0, 0 < delta < 1 and squared_sensitivity > 0.
    """
    if not squared_sensitivity > 0:
        raise ValueError("sensitivity: must be greater than 0")
    return root_up(squared_sensitivity / _largest_ratio(epsilon, delta) ** 2)


def joint_sigma(epsilon: Fraction, delta: Fraction, n: int, counts: int) -> float:
    """sigma, as a share of n, for all counts released as one vector: each moves by at most 1 / n."""
    return gaussian_sigma(epsilon, delta, Fraction(counts, n * n))


def split_sigma(epsilon: Fraction, delta: Fraction, n: int, counts: int) -> float:
    """sigma, as a share of n, for counts released one by one at (epsilon / m, delta / m): for comparison only."""
    return gaussian_sigma(epsilon / counts, delta / counts, Fraction(1, n * n))


@lru_cache(maxsize=4096)
def _largest_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest h = sensitivity / sigma with delta(h) <= delta, from below, relative 1e-13.

    Newton's method on ln delta as a function of ln h, whose slope is h / (M(u) - M(u + h)), from what zCDP gives;
    then h is made smaller until the bounds prove it.
    """
    directed = Directed(_DIGITS)
    target, h = directed.ln(directed.of(delta)), math.sqrt(2 * largest_rho(epsilon, delta))
    for _ in range(_STEPS):
        excess = directed.subtract(directed.ln(_delta(Fraction(h), epsilon)), target)
        step = float(excess) * float(_mills_difference(Fraction(h), epsilon)) / h
        h *= math.exp(-step)
        if abs(step) < _CLOSE:
            break
    proved, slack = Fraction(h), Fraction(_CLOSE)
    while Fraction(_delta(proved, epsilon).high) > delta:
        proved, slack = proved * (1 - slack), 2 * slack
    return proved


def _delta(h: Fraction, epsilon: Fraction) -> Interval:
    directed = Directed(_DIGITS)
    u = epsilon / h - h / 2
    weighted = directed.multiply(_mills_difference(h, epsilon), directed.exp(directed.of(-u * u / 2)))
    return directed.divide(weighted, directed.multiply(directed.of(2), half_gaussian(Fraction(0), directed)))


def _mills_difference(h: Fraction, epsilon: Fraction) -> Interval:
    """M(u) - M(u + h), where M(-y) = 2 M(0) e^(y^2/2) - M(y)."""
    u = epsilon / h - h / 2
    # about h / u of M(u) is left
    digits = min(MAX_DIGITS, _DIGITS + len(str(int(1 / h))) + len(str(int(abs(u)))))
    directed, right = Directed(digits), mills_ratio(u + h, digits)
    left = mills_ratio(abs(u), digits)
    if u < 0:
        left = directed.subtract(directed.multiply(directed.of(2), half_gaussian(u, directed)), left)
    return directed.subtract(left, right)
