"""Probability that a report says anything unsupported, and the margins that the paper uses against it (spec 1.4)."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.limits.precision import MAX_COUNT, checked_epsilon, decimal, wide
from tasks.privacy.parameters import Exact, between, whole


def any_failure_probability(probabilities: Sequence[float] | NDArray[np.float64]) -> float:
    """1 - prod(1 - p): some of these independent events happens; summed as logarithms, so tiny p are kept.

    With p the probabilities of emitting the unsupported candidates, it is the exact error of a report whose noises are
    independent given the counts. No event: 0. Raises ValueError for a p outside [0, 1].
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    if not np.all((chances >= 0) & (chances <= 1)):
        raise ValueError("probabilities: each must be between 0 and 1")
    with np.errstate(divide="ignore"):  # a certain event: ln 0
        return float(-np.expm1(np.log1p(-chances).sum()))


def laplace_margin_two_sided(n: int, epsilon: Exact, beta: Exact) -> float:
    """ln(1 / beta) / (n epsilon): the margin for |Z|, larger than the sharp one-sided ln(1 / (2 beta)) / (n epsilon).

    A share of the units; epsilon of one statement. Raises ValueError for n < 1, epsilon outside (0, 1000] or beta
    outside (0, 1/2).
    """
    return _margin(n, 1, epsilon, beta)


def tau_fw_paper(n: int, m: int, epsilon: Exact, beta: Exact) -> float:
    """b ln(m / beta_tot), b = m / (n epsilon_tot): the whole-report margin as the paper prints it.

    For the reproduction only: it is the two-sided one; reports use b ln(m / (2 beta_tot)). A share of the units.
    Raises ValueError as `laplace_margin_two_sided`, and for m < 1.
    """
    return _margin(n, m, epsilon, beta)


def _margin(n: int, m: int, epsilon: Exact, beta: Exact) -> float:
    units, statements = whole(n, "n", 1, MAX_COUNT), whole(m, "m", 1, MAX_COUNT)
    error = between(beta, "beta", 0, Fraction(1, 2))
    with wide():
        return float((decimal(statements / error)).ln() * statements / decimal(units * checked_epsilon(epsilon)))
