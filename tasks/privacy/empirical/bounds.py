"""What two samples prove about (epsilon, delta): Clopper-Pearson bounds on one event's probability under each.

For neighbours x, y and any event S, (epsilon, delta)-DP says Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] + delta. So a
lower bound of the one probability and an upper bound of the other bound epsilon and delta from below (Jagielski, Ullman
and Oprea 2020, arXiv:2006.07709, section 4).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.statistics.intervals import lower_bound, upper_bound

Bounds = NDArray[np.float64]


def epsilon_at_least(hits: ArrayLike, others: ArrayLike, trials: int, delta: Fraction, miss: Fraction) -> Bounds:
    """Lower bounds of epsilon, nats, >= 0; each fails with probability at most 2 `miss`.

    hits, others: how many of `trials` draws from the one and the other dataset fell into the event; shapes broadcast.
    """
    more, fewer = lower_bound(hits, trials, 1 - miss) - float(delta), upper_bound(others, trials, 1 - miss)
    return np.log(np.maximum(more / fewer, 1.0))  # fewer > 0, as miss > 0


def delta_at_least(hits: ArrayLike, others: ArrayLike, trials: int, epsilon: Fraction, miss: Fraction) -> Bounds:
    """Lower bounds of delta at `epsilon`, >= 0; each fails with probability at most 2 `miss`."""
    more, fewer = lower_bound(hits, trials, 1 - miss), upper_bound(others, trials, 1 - miss)
    found: Bounds = np.maximum(more - np.exp(float(epsilon)) * fewer, 0.0)
    return found
