"""The paper's Laplace filter, by scan and in closed form."""

import math
from fractions import Fraction

import pytest

from tasks.privacy.limits import half_emission_distance
from tasks.privacy.mechanisms import Geometric, Laplace


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "1"])
@pytest.mark.parametrize("beta", ["1e-6", "0.05", "0.4"])
@pytest.mark.parametrize("theta", ["0.05", "0.0501", "0.2"])
def test_half_emission_comes_at_k_star_or_one_later(epsilon: str, beta: str, theta: str) -> None:
    n, mechanism = 1268, Laplace.calibrated(Fraction(epsilon), Fraction(beta))
    t = math.ceil(n * Fraction(theta))
    reached = next(N for N in range(n + 1) if mechanism.emit_probability(N, n, Fraction(theta)) >= 0.5)
    k_star = half_emission_distance(Fraction(epsilon), Fraction(beta))
    assert reached - t + 1 in (k_star, k_star + 1)


def test_the_largest_unsupported_count_is_emitted_with_probability_at_most_beta() -> None:
    mechanism, n, theta = Laplace.calibrated(Fraction("0.5"), Fraction("0.05")), 1000, Fraction("0.05")
    assert mechanism.emit_probability(49, n, theta) == pytest.approx(0.05 * math.exp(-0.5), rel=1e-12)
    assert mechanism.emit_probability(50, n, theta) == pytest.approx(0.05, rel=1e-12)


def test_the_geometric_margin_never_costs_more_than_one_unit_more() -> None:
    for epsilon in ("0.02", "0.5", "3"):
        laplace = Laplace.calibrated(Fraction(epsilon), Fraction("0.05"))
        geometric = Geometric.calibrated(Fraction(epsilon), Fraction("0.05"))
        assert abs(geometric.margin_units - laplace.margin_units) <= 1
