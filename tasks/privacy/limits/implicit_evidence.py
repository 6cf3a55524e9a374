"""How much one output says about a support that nobody certified (arXiv 2609.38934, Theorem 1).

Neighbouring datasets replace the content of one unit's records, and k replacements lead from one dataset to another.
"""

import math
from decimal import Decimal

from tasks.privacy.limits.precision import MAX_COUNT, checked_epsilon, decimal, wide
from tasks.privacy.parameters import Exact, Real, real, share, whole


def min_replacements(n: int, difference: Exact) -> int:
    """ceil(n difference), exact: the replacements without which no support of n units moves by `difference`.

    Raises ValueError for n < 0 or a difference outside [0, 1].
    """
    return math.ceil(whole(n, "n", 0, MAX_COUNT) * share(difference, "difference"))


def delta_group(k: int, epsilon: Real, delta: Real) -> float:
    """delta_k = delta (e^(k epsilon) - 1) / (e^epsilon - 1): the delta of k replacements, inf beyond the doubles.

    Raises ValueError for k outside [0, 10^12], epsilon outside (0, 1000] or delta outside [0, 1).
    """
    with wide(checked_epsilon(epsilon)):
        return float(_group(k, epsilon, delta)[1])


def tv_bound(k: int, epsilon: Real, delta: Real = 0) -> float:
    """Largest total variation distance between the outputs on two datasets at most k replacements apart.

    min(1, (t - 1 + 2 delta_k) / (t + 1)), t = e^(k epsilon), of any (epsilon, delta)-DP mechanism; for pure DP it is
    tanh(k epsilon / 2). No test of one output tells the two apart with error probabilities that add up to less than
    1 minus this. Raises ValueError as `delta_group`.
    """
    with wide(checked_epsilon(epsilon)):
        growth, delta_k = _group(k, epsilon, delta)
        return min(1.0, float((growth - 1 + 2 * delta_k) / (growth + 1)))


def tv_sharp_path(k: int, epsilon: Real) -> float:
    """The exact largest total variation distance at k replacements under pure DP; beyond the paper.

    An event gains most when its probability climbs the frontier of Theorem 2 symmetrically, from p to 1 - p in k
    steps: 1 - e^(-j epsilon) for k = 2j, 1 - 2 e^(-j epsilon) / (1 + e^epsilon) for k = 2j + 1. It equals `tv_bound`
    for k <= 1 and is smaller from k = 2 on. Raises ValueError as `delta_group`.
    """
    exact_epsilon, steps = checked_epsilon(epsilon), whole(k, "k", 0, MAX_COUNT) // 2
    with wide(exact_epsilon):
        shrunk = (-decimal(steps * exact_epsilon)).exp()
        return float(1 - shrunk * (2 / (1 + decimal(exact_epsilon).exp()) if k % 2 else 1))


def estimation_lower_bound(difference: Exact, k: int, epsilon: Real, delta: Real = 0) -> float:
    """Error that every estimator of a support from one output has on one of two datasets.

    difference (1 - delta_k)_+ / (2 (e^(k epsilon) + 1)), for supports that differ by `difference` on datasets k
    replacements apart, which takes k >= `min_replacements(n, difference)`. Raises ValueError as `delta_group`, and
    for a difference outside [0, 1].
    """
    gap = share(difference, "difference")
    with wide(checked_epsilon(epsilon)):
        growth, delta_k = _group(k, epsilon, delta)
        return float(decimal(gap) * max(Decimal(0), 1 - delta_k) / (2 * (growth + 1)))


def estimation_lower_bound_lecam(difference: Exact, k: int, epsilon: Real, delta: Real = 0) -> float:
    """The same for the expected absolute error, by Le Cam's two-point method: twice as large; beyond the paper.

    difference (1 - TV) / 2 with the TV of `tv_bound`.
    """
    return 2 * estimation_lower_bound(difference, k, epsilon, delta)


def _group(k: int, epsilon: Real, delta: Real) -> tuple[Decimal, Decimal]:
    """e^(k epsilon) and delta_k, in the decimals of the context."""
    nats, loss = checked_epsilon(epsilon), real(delta, "delta")
    if not 0 <= loss < 1:
        raise ValueError("delta: must be at least 0 and less than 1")
    growth = decimal(whole(k, "k", 0, MAX_COUNT) * nats).exp()
    return growth, decimal(loss) * (growth - 1) / (decimal(nats).exp() - 1)
