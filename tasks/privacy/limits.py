"""What no certifier can beat (arXiv 2609.38934, Theorem 2)."""

import math
from fractions import Fraction


def frontier_recursion(epsilon: float, beta: float, steps: int) -> list[float]:
    """pi_0 .. pi_steps: the largest emission probability of an epsilon-DP, beta-honest certifier at distance d.

    pi_0 = beta, pi_{d+1} = min(e^epsilon pi_d, 1 - e^-epsilon (1 - pi_d)); 0 < beta < 1/2. Theorem 2 assumes that
    the universe of records holds supporting and non-supporting ones. Raises ValueError for epsilon or beta outside
    their ranges.
    """
    _check(epsilon, beta)
    pi, doubt = [beta], 1 - beta  # 1 - pi kept apart: it gets small
    for _ in range(steps):
        up, down = math.exp(min(epsilon, 700.0)) * pi[-1], math.exp(-epsilon) * doubt  # e^700 is large enough
        if up <= 1 - down:
            pi.append(up)
            doubt = 1 - up
        else:
            pi.append(1 - down)
            doubt = down
    return pi


def half_emission_distance(epsilon: Fraction, beta: Fraction) -> int:
    """k* = ceil(ln(1 / (2 beta)) / epsilon): no honest certifier emits with probability 1/2 nearer than this.

    Raises ValueError for epsilon or beta outside their ranges.
    """
    _check(epsilon, beta)
    return max(0, math.ceil(math.log(1 / (2 * beta)) / float(epsilon)))


def _check(epsilon: float | Fraction, beta: float | Fraction) -> None:
    if not epsilon > 0:
        raise ValueError("epsilon must be greater than 0")
    if not 0 < beta < Fraction(1, 2):
        raise ValueError("beta must lie between 0 and 1/2")
