"""Sums over integers and integrals by Gauss's rules, against sums of all terms and closed forms."""

import math

import numpy as np
import pytest

from tasks.privacy.quadrature import POINTS, integral_nodes, sum_nodes


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-7, 12), (-10_000, 90_000), (5, 10**6)])
@pytest.mark.parametrize("degree", [0, 1, 2, 7, 16, 2 * POINTS - 2, 2 * POINTS - 1])
def test_a_sum_of_a_polynomial_over_integers_is_exact(low: int, high: int, degree: int) -> None:
    nodes, weights = sum_nodes(low, high, [], math.inf)
    centre, width = (low + high) / 2, max(high - low, 1) / 2
    exact = math.fsum(((np.arange(low, high + 1) - centre) / width) ** degree)
    assert weights @ ((nodes - centre) / width) ** degree == pytest.approx(exact, rel=1e-12, abs=1e-8)
    assert nodes.size == (high - low + 1 if high - low < 100 else POINTS)


@pytest.mark.parametrize("scale", [500.0, 3000.0, 2e6])
def test_a_sum_with_kinks_is_that_of_all_its_terms(scale: float) -> None:
    low, high, kinks = -20_000, 30_000, [-1234, 0, 17, 17, 18, 25_000, 10**9]

    def function(x: np.ndarray) -> np.ndarray:
        return np.sum([np.exp(-np.abs(x - kink + 0.5) / scale) for kink in kinks], axis=0)

    nodes, weights = sum_nodes(low, high, kinks, scale)
    assert nodes.size < 5_000
    assert weights @ function(nodes) == pytest.approx(function(np.arange(low, high + 1)).sum(), rel=1e-13)


def test_an_integral_with_edges_is_exact_for_piecewise_polynomials() -> None:
    nodes, weights = integral_nodes([2.0, -1.0, 0.5, 0.5])
    assert weights @ np.abs(nodes - 0.5) ** 39 == pytest.approx(2 * 1.5**40 / 40, rel=1e-13)
