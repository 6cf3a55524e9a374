"""The conversion from zCDP against its own formula in mpmath, searched on a grid, and against exact Gaussian deltas."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.privacy.analytic_gaussian import gaussian_delta
from tasks.privacy.zcdp import largest_rho, smallest_delta, smallest_epsilon

EPSILONS = ["1e-6", "0.1", "1", "10", "50", "999"]
DELTAS = ["1e-300", "1e-12", "1e-5", "0.1", "0.9"]
CLOSE = Fraction(1, 10**18)
LEAST = Fraction(1, 10**400)
epsilons = st.fractions(Fraction(1, 1000), 100, max_denominator=10**4)
deltas = st.decimals("1e-12", "0.5", places=12).map(Fraction)


def log_delta(order: mpmath.mpf, rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """ln of Corollary 13 as it is printed."""
    return (order - 1) * (order * rho - epsilon) - mpmath.log(order - 1) + order * mpmath.log(1 - 1 / order)


def best_log_delta(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Smallest over alpha: a grid of ln(alpha - 1), then ever finer ones around the best point, to about 35 digits."""
    r, e = (mpmath.mpf(value.numerator) / value.denominator for value in (rho, epsilon))
    centre, width = mpmath.mpf(15), mpmath.mpf(40)
    for _ in range(28):
        points = [centre + width * k / 10 for k in range(-10, 11)]
        centre = min(points, key=lambda u: log_delta(1 + mpmath.exp(u), r, e))
        width /= 4
    return log_delta(1 + mpmath.exp(centre), r, e)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_keeps_delta_and_a_little_more_would_not(epsilon: str, delta: str) -> None:
    rho = largest_rho(Fraction(epsilon), Fraction(delta))
    with mpmath.workdps(60):
        wanted = mpmath.log(mpmath.mpf(delta))
        assert best_log_delta(rho, Fraction(epsilon)) <= wanted
        assert best_log_delta(rho * (1 + Fraction(1, 10**17)), Fraction(epsilon)) > wanted


@pytest.mark.parametrize("delta", DELTAS[1:])
@pytest.mark.parametrize("rho", ["1e-6", "0.0123", "1/3", "7"])
def test_epsilon_is_rounded_up_and_hardly(rho: str, delta: str) -> None:
    found = smallest_epsilon(Fraction(rho), Fraction(delta))
    with mpmath.workdps(60):
        wanted = mpmath.log(mpmath.mpf(delta))
        assert found == 0 or best_log_delta(Fraction(rho), found) <= wanted
        assert found == 0 or best_log_delta(Fraction(rho), found * (1 - Fraction(1, 10**15))) > wanted


@pytest.mark.parametrize("epsilon", ["0.001", "0.7", "4", "30"])
@pytest.mark.parametrize("rho", ["1e-6", "0.0123", "1/3", "7"])
def test_delta_is_rounded_up_and_hardly(rho: str, epsilon: str) -> None:
    found = smallest_delta(Fraction(rho), Fraction(epsilon))
    with mpmath.workdps(60):
        best = best_log_delta(Fraction(rho), Fraction(epsilon))
        assert best <= mpmath.log(mpmath.mpf(found.numerator) / found.denominator) <= best + mpmath.mpf("1e-15") or (
            found in (LEAST, 1)
        )


@settings(max_examples=40, deadline=None)
@given(epsilons, deltas)
def test_the_three_directions_agree_and_stay_safe(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    assert abs(smallest_epsilon(rho, delta) / epsilon - 1) < CLOSE * 1000
    assert abs(smallest_delta(rho, epsilon) / delta - 1) < CLOSE * 1000
    assert smallest_epsilon(rho * (1 + CLOSE * 10**6), delta) > epsilon
    assert smallest_epsilon(rho * (1 - CLOSE * 10**6), delta) < epsilon


@settings(max_examples=30, deadline=None)
@given(epsilons, deltas)
def test_results_are_decimals_of_at_most_20_digits(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    for value in (rho, smallest_epsilon(rho, delta), smallest_delta(rho, epsilon)):
        digits = next(k for k in range(60) if (value * Fraction(10) ** k).denominator == 1)
        assert value * 10**digits < 10**20


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("1", "1e-5"), ("10", "1e-5"), ("3", "1e-9")])
def test_rho_is_safe_and_not_wasteful_for_a_normal_law(epsilon: str, delta: str) -> None:
    """A normal law of this rho has the exact delta of Balle and Wang, below what any conversion can say."""
    rho = largest_rho(Fraction(epsilon), Fraction(delta))
    sigma = Fraction(1 / float(2 * rho) ** 0.5)
    exact = gaussian_delta(sigma, Fraction(epsilon), Fraction(1))
    assert float(delta) / 20 < exact < float(delta)
    plain = Fraction(epsilon) ** 2 / (4 * Fraction(str(-float(mpmath.log(mpmath.mpf(delta))))) + 4 * Fraction(epsilon))
    assert rho > plain  # what rho + 2 sqrt(rho ln(1/delta)) allows is about this


def test_a_large_delta_needs_no_epsilon() -> None:
    assert smallest_epsilon(Fraction(1, 10**6), Fraction(1, 2)) == 0
    assert smallest_delta(Fraction(1000), Fraction(1, 1000)) == 1


def test_a_delta_that_nobody_can_ask_for_is_not_computed() -> None:
    assert smallest_delta(Fraction(1, 10**12), Fraction(1000)) == LEAST


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0.1"), ("-1", "0.1"), ("1", "0"), ("1", "1"), ("1", "-0.1")])
def test_values_out_of_range_are_refused(epsilon: str, delta: str) -> None:
    for convert in (largest_rho, smallest_epsilon):
        with pytest.raises(ValueError, match="must be greater than 0"):
            convert(Fraction(epsilon), Fraction(delta))
