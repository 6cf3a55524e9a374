"""AboveThreshold: exact selection probabilities against enumeration, simulation and a direct sum."""

import math
from collections.abc import Sequence
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from brute_selection import SparseVector
from scipy import integrate, stats

from tasks.privacy import sparse_vector
from tasks.privacy.sparse_vector import (
    decide,
    laplace_selection_probabilities,
    log_pattern_probability,
    optimal_split,
    scales,
    selection_probabilities,
)

VECTORS = [(20, 20, 20), (50, 3, 41, 20), (19, 20, 21, 26, 0), (34, 33)]
T = 20


@pytest.mark.parametrize("selected", [1, 2, 3])
@pytest.mark.parametrize("counts", VECTORS)
@pytest.mark.parametrize("epsilon", ["0.3", "2", "30"])
def test_selection_probabilities_are_sums_over_all_patterns(
    counts: tuple[int, ...], selected: int, epsilon: str
) -> None:
    first, second = optimal_split(Fraction(epsilon), selected)
    law = SparseVector(T, float(first), float(second / (2 * selected)), selected)
    patterns = law.patterns(counts)
    assert sum(patterns.values()) == pytest.approx(1, abs=1e-12)
    arguments = T, selected, 1 / first, 2 * selected / second
    found = selection_probabilities(counts, *arguments)
    expected = [sum(p for pattern, p in patterns.items() if pattern[j]) for j in range(len(counts))]
    assert found == pytest.approx(expected, abs=1e-14, rel=1e-11)
    for pattern, probability in patterns.items():
        assert log_pattern_probability(pattern, counts, *arguments) == pytest.approx(math.log(probability), abs=1e-9)


def test_a_pattern_far_below_the_range_of_doubles_has_its_logarithm() -> None:
    found = log_pattern_probability([True], [-5000], T, 1, Fraction(1), Fraction(2))
    assert found == pytest.approx(-5020 / 2, rel=1e-3)


def test_a_pattern_with_more_than_k_selected_is_impossible() -> None:
    assert log_pattern_probability([True, True], [20, 20], T, 1, Fraction(3), Fraction(5)) == -math.inf


@pytest.mark.parametrize("spread", [0, 3000, 10**6])
@pytest.mark.parametrize("selected", [1, 15])
def test_a_long_sum_by_gauss_s_rule_is_that_of_all_terms(spread: int, selected: int) -> None:
    counts = (50_000 + spread * (np.arange(120) * 37 % 120 - 88) // 120).tolist()
    arguments = counts, 50_000, selected, Fraction(150), Fraction(370)
    short = selection_probabilities(*arguments)
    with patch("tasks.privacy.quadrature._MOST_TERMS", 10**9):
        direct = selection_probabilities(*arguments)
    assert np.abs(short - direct).max() < 1e-14


@pytest.mark.statistical  # fixed seed; right probabilities fail with probability 1e-6 a statement, over seeds
@pytest.mark.parametrize("selected", [1, 3])
def test_selection_probabilities_agree_with_a_plain_simulation(selected: int) -> None:
    counts, runs = np.array([25, 8, 18, 22, 20, 31, 15]), 200_000
    first, second = optimal_split(Fraction(2), selected)
    rng = np.random.default_rng(20261201)
    rho = _two_sided(rng, float(first), (runs, 1))
    above = counts + _two_sided(rng, float(second / (2 * selected)), (runs, counts.size)) >= T + rho
    taken = (above & (np.cumsum(above, axis=1) <= selected)).sum(axis=0)
    chances = selection_probabilities(counts.tolist(), T, selected, 1 / first, 2 * selected / second)
    for seen, chance in zip(taken, chances, strict=True):
        assert stats.binomtest(int(seen), runs, float(chance)).pvalue > 1e-6


def test_the_continuous_form_agrees_with_an_adaptive_integral() -> None:
    counts, rho, nu = [Fraction(23), Fraction("17.5")], 3.0, 5.0
    found = laplace_selection_probabilities(counts, Fraction(T), 1, Fraction(3), Fraction(5))

    def second_selected(x: float) -> float:
        first, second = (stats.laplace.sf(T + x - float(count), scale=nu) for count in counts)
        return float((1 - first) * second * stats.laplace.pdf(x, scale=rho))

    exact = integrate.quad(second_selected, -120, 120, points=[-2.5, 0, 3], limit=400, epsabs=1e-13)[0]
    assert found[1] == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("selected", [1, 2, 4, 20, 500])
def test_the_split_is_the_optimal_one_and_loses_nothing(selected: int) -> None:
    first, second = optimal_split(Fraction("0.7"), selected)
    assert first + second == Fraction("0.7")
    assert float(second / first) == pytest.approx((2 * selected) ** (2 / 3), rel=1e-14)


def test_an_exact_cube_is_found_exactly() -> None:
    assert optimal_split(Fraction(5), 4) == (1, 4)  # (2 * 4)^(2/3) = 4


def test_equality_selects_and_the_cutoff_stops() -> None:
    supports = [Fraction(x) for x in ("0.1", "0.3", "0.2", "0.4")]
    assert decide(supports, Fraction("0.2"), 2, Fraction(0), [Fraction("0.05"), *[Fraction(0)] * 3]) == [1, 2]
    assert decide(supports, Fraction("0.2"), 4, Fraction("0.1"), [Fraction(0)] * 4) == [1, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda: scales(10, 0, Fraction(1), Fraction(1)),
        lambda: sparse_vector.scales_dwork_roth(10, 0, Fraction(1)),
        lambda: optimal_split(Fraction(1), 0),
        lambda: decide([], Fraction(1), 0, Fraction(0), []),
    ],
)
def test_a_cutoff_below_one_is_refused_by_name(call) -> None:
    with pytest.raises(ValueError, match=r"^selected: "):
        call()


def _two_sided(rng: np.random.Generator, rate: float, shape: Sequence[int]) -> np.ndarray:
    success = -math.expm1(-rate)
    return rng.geometric(success, size=shape) - rng.geometric(success, size=shape)
