"""The frontier: how often an honest private certifier can emit (arXiv 2609.38934, Theorem 2).

Honest means that an unsupported statement is emitted with probability at most beta, 0 < beta < 1/2. The theorem assumes
a universe that holds supporting and non-supporting records, so that every count from 0 to n can occur. Every function
raises ValueError, by name, for epsilon outside (0, 1000] (the closed form: [1e-12, 1000]) or beta outside (0, 1/2).
"""

from fractions import Fraction

from tasks.privacy.discrete_laplace import DiscreteLaplace
from tasks.privacy.limits.precision import MAX_COUNT, ceil_of_logs, checked_epsilon, decimal, wide
from tasks.privacy.parameters import Exact, Real, between, share, whole
from tasks.privacy.thresholds import distance, threshold_units

HALF = Fraction(1, 2)


def frontier_recursion(epsilon: Real, beta: Real, steps: int) -> list[float]:
    """pi_0 .. pi_steps: the largest emission probability of an epsilon-DP, beta-honest certifier at distance d.

    pi_0 = beta, pi_{d+1} = min(e^epsilon pi_d, 1 - e^-epsilon (1 - pi_d)).
    """
    exact_epsilon, exact_beta = _checked(epsilon, beta)
    with wide(exact_epsilon):
        growth, shrink = decimal(exact_epsilon).exp(), (-decimal(exact_epsilon)).exp()
        chance, doubt = decimal(exact_beta), decimal(1 - exact_beta)  # doubt = 1 - chance, kept apart: it gets small
        pi = [float(chance)]
        for _ in range(whole(steps, "steps", 0, MAX_COUNT)):
            if growth * chance <= 1 - shrink * doubt:
                chance, doubt = growth * chance, 1 - growth * chance
            else:
                chance, doubt = 1 - shrink * doubt, shrink * doubt
            pi.append(float(chance))
        return pi


def frontier_switch(epsilon: Real, beta: Real) -> int:
    """The first index d from which the recursion takes its second branch: pi_d >= 1 / (1 + e^epsilon).

    That is also the margin of the geometric mechanism: beta e^(d epsilon) (1 + e^epsilon) >= 1 says Pr[G > d] <= beta.
    """
    exact_epsilon, exact_beta = _checked(epsilon, beta)
    return DiscreteLaplace(exact_epsilon).margin(exact_beta)


def frontier_probability(epsilon: Real, beta: Real, k: int) -> float:
    """pi_k in closed form, for k up to 10^12.

    beta e^(k epsilon) up to the switch s, 1 - (1 - pi_s) e^(-(k - s) epsilon) after it.
    """
    exact_epsilon, exact_beta = _checked(epsilon, beta)
    steps, switch = whole(k, "k", 0, MAX_COUNT), frontier_switch(epsilon, beta)
    with wide(exact_epsilon):
        climbed = decimal(exact_beta) * decimal(min(steps, switch) * exact_epsilon).exp()
        if steps <= switch:
            return float(climbed)
        return float(1 - (1 - climbed) * (-decimal((steps - switch) * exact_epsilon)).exp())


def frontier_bound(count: int, n: int, theta: Exact, epsilon: Real, beta: Real) -> float:
    """pi_d of a statement that `count` of n units support; 1 at t = 0, where nothing is unsupported.

    Raises ValueError for a count outside [0, n] or theta outside [0, 1] too.
    """
    threshold = share(theta, "theta")
    steps, bound = distance(count, n, threshold), _checked(epsilon, beta)
    return frontier_probability(*bound, steps) if threshold_units(n, threshold) else 1.0


def half_emission_distance(epsilon: Real, beta: Real) -> int:
    """k* = ceil(ln(1 / (2 beta)) / epsilon): no honest certifier emits with probability 1/2 nearer than this."""
    exact_epsilon, exact_beta = _checked(epsilon, beta)
    return ceil_of_logs([(1, 1 / (2 * exact_beta))], exact_epsilon)


def half_emission_distance_laplace(n: int, theta: Exact, epsilon: Real, beta: Real) -> int:
    """Distance at which the paper's Laplace filter emits with probability 1/2: k* or k* + 1, by the grid.

    ceil(ln(1 / (2 beta)) / epsilon - rho) + 1; with n units it may not exist, then it exceeds n - t + 1. Raises
    ValueError at t = 0, where everything is emitted.
    """
    exact_epsilon, exact_beta = _checked(epsilon, beta)
    if not threshold_units(n, share(theta, "theta")):
        raise ValueError("theta: at a threshold of 0 units everything is emitted")
    return ceil_of_logs([(1, 1 / (2 * exact_beta))], exact_epsilon, less=rho(n, theta)) + 1


def rho(n: int, theta: Exact) -> Fraction:
    """ceil(n theta) - n theta: how far the threshold lies above its real value, in units; exact."""
    exact_theta = share(theta, "theta")
    return threshold_units(whole(n, "n", 0, MAX_COUNT), exact_theta) - n * exact_theta


def _checked(epsilon: Real, beta: Real) -> tuple[Fraction, Fraction]:
    return checked_epsilon(epsilon), between(beta, "beta", 0, HALF)
