"""What certifying many statements at a fine threshold costs (arXiv 2609.38934, Theorem 5).

An epsilon_tot-DP filter that emits everything supported at theta + w and nothing below theta, each with probability
1 - beta, needs n w of about m / epsilon_tot units. The theorem assumes rich records (any subset of the m statements can
be supported by one record, so that supports overlap freely) and 0 < beta < 1/8. Every function raises ValueError, by
name, for m outside [1, 10^12], epsilon outside (0, 1000] or beta outside its range.
"""

import math
from fractions import Fraction

from tasks.privacy.limits.precision import MAX_COUNT, ceil_of_logs, checked_epsilon, decimal, wide
from tasks.privacy.parameters import Real, between, whole

KAPPA = 0.75 * math.log2(3) - 1
"""1 - H_2(1/4), the exponent of a binary code with relative distance 1/4."""

EXACT_CODE_MAX = 100_000
_EIGHTH, _HALF = Fraction(1, 8), Fraction(1, 2)


def fine_grained_bound(m: int, epsilon: Real, beta: Real) -> float:
    """Smallest width n w, in units: (kappa m ln 2 + ln(1 - 8 beta)) / epsilon_tot - 2; negative says nothing."""
    statements, exact_epsilon, exact_beta = _checked(m, epsilon, beta)
    with wide():
        log_codewords = statements * decimal(Fraction(27, 16)).ln() / 4  # kappa ln 2 = ln(27/16) / 4
        return float((log_codewords + decimal(1 - 8 * exact_beta).ln()) / decimal(exact_epsilon) - 2)


def fine_grained_distance(m: int, epsilon: Real, beta: Real, *, exact_code: bool = False) -> int:
    """Replacements that must lie between two of the datasets in the proof; n w is at least this minus 2.

    ceil((ln M + ln(1 - 8 beta)) / epsilon_tot), at least 0, for a code of M words in {0, 1}^m that differ pairwise in
    more than m / 4 places: decoding by nearest word fails with probability at most 8 beta (Markov). exact_code: M is
    the Gilbert-Varshamov count 2^m / sum_{i <= m/4} C(m, i), rounded up (m up to 100,000), in place of 2^(kappa m).
    """
    statements, exact_epsilon, exact_beta = _checked(m, epsilon, beta)
    keep = 1 - 8 * exact_beta
    if exact_code:
        whole(m, "m of an exact code", 1, EXACT_CODE_MAX)
        return max(0, ceil_of_logs([(1, gilbert_varshamov(statements) * keep)], exact_epsilon))
    # 2^(4 kappa) = 27/16
    return max(0, ceil_of_logs([(statements, Fraction(27, 16)), (4, keep)], 4 * exact_epsilon))


def gilbert_varshamov(m: int) -> int:
    """Words that a binary code of length m with pairwise distance above m / 4 has at least; exact."""
    ball, term = 0, 1
    for i in range(m // 4 + 1):
        ball += term
        term = term * (m - i) // (i + 1)
    return -(-(1 << m) // ball)


def privcert_width(m: int, n: int, epsilon: Real, beta: Real) -> float:
    """w_PF = 2 m ln(1 / (2 beta)) / (n epsilon_tot): what equal shares of the Laplace filter need, beta < 1/2.

    A share of the units (may exceed 1), for comparison with `fine_grained_bound` / n. Raises ValueError for n < 1.
    """
    statements, exact_epsilon = whole(m, "m", 1, MAX_COUNT), checked_epsilon(epsilon)
    twice = 2 * between(beta, "beta", 0, _HALF)
    with wide(1 - twice):
        return float(-2 * statements * decimal(twice).ln() / decimal(whole(n, "n", 1, MAX_COUNT) * exact_epsilon))


def _checked(m: int, epsilon: Real, beta: Real) -> tuple[int, Fraction, Fraction]:
    return whole(m, "m", 1, MAX_COUNT), checked_epsilon(epsilon), between(beta, "beta", 0, _EIGHTH)
