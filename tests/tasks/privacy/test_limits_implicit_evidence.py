"""Theorem 1 against sums, a linear program over all mechanisms, and the law of a real one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_geometric import exp_bounds, tail
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tasks.privacy.limits import (
    delta_group,
    estimation_lower_bound,
    estimation_lower_bound_lecam,
    min_replacements,
    tv_bound,
    tv_sharp_path,
)

EPSILONS = ["1e-12", "1e-6", "0.001", "0.1", "1", "5", "50", "1000"]
STEPS = [1, 2, 7, 1000, 10**6, 10**9]


def growth(nats: Fraction) -> Fraction:
    """e^nats to about 100 digits, nats <= 200."""
    return 2 / sum(exp_bounds(nats))


def largest_gap(k: int, epsilon: float) -> float:
    """Largest Pr[S | x_k] - Pr[S | x_0] over all epsilon-DP mechanisms on a path of neighbours x_0 .. x_k."""
    factor, rows = math.exp(epsilon), []
    for i in range(k):
        for here, there in ((i, i + 1), (i + 1, i)):
            row = np.zeros(k + 1)
            row[here], row[there] = 1, -factor
            rows.append((row, 0.0))  # p_here <= factor p_there
            rows.append((-row, factor - 1))  # 1 - p_here <= factor (1 - p_there)
    ends = np.zeros(k + 1)
    ends[0], ends[-1] = 1, -1
    solved = linprog(ends, A_ub=[row for row, _ in rows], b_ub=[bound for _, bound in rows], bounds=(0, 1))
    return float(-solved.fun)


@pytest.mark.parametrize("k", STEPS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_under_pure_privacy_the_bound_is_a_hyperbolic_tangent(epsilon: str, k: int) -> None:
    nats = Fraction(epsilon) * k
    if nats <= 200:
        expected = (growth(nats) - 1) / (growth(nats) + 1)
        assert tv_bound(k, Fraction(epsilon)) == pytest.approx(float(expected), rel=1e-14)
    else:
        assert tv_bound(k, Fraction(epsilon)) == 1.0


@pytest.mark.parametrize("delta", ["0", "1e-300", "1e-9", "0.01", "0.9"])
@pytest.mark.parametrize("k", [0, 1, 5, 30])
@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1", "5"])
def test_with_delta_the_bound_is_that_of_the_sum_over_replacements(epsilon: str, k: int, delta: str) -> None:
    nats, loss = Fraction(epsilon), Fraction(delta)
    delta_k = loss * sum((growth(step * nats) for step in range(k)), Fraction(0))
    t = growth(k * nats)
    assert delta_group(k, nats, loss) == pytest.approx(float(delta_k), rel=1e-14)
    assert tv_bound(k, nats, loss) == pytest.approx(float(min(1, (t - 1 + 2 * delta_k) / (t + 1))), rel=1e-14)
    expected = Fraction("0.3") * max(0, 1 - delta_k) / (2 * (t + 1))
    assert estimation_lower_bound(Fraction("0.3"), k, nats, loss) == pytest.approx(float(expected), rel=1e-14)


def test_delta_grows_beyond_the_doubles_and_never_breaks() -> None:
    assert delta_group(10**9, Fraction(50), Fraction("1e-300")) == math.inf
    assert delta_group(10**9, Fraction(50), Fraction(0)) == 0.0
    assert delta_group(10**9, Fraction("1e-12"), Fraction("1e-12")) == pytest.approx(
        0.001 * 1.00050016670833, rel=1e-12
    )
    assert tv_bound(10**9, Fraction(50), Fraction("1e-300")) == 1.0
    assert estimation_lower_bound(Fraction(1), 10**9, Fraction(50), Fraction("0.5")) == 0.0


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1", "3"])
def test_the_sharp_bound_is_the_best_of_all_mechanisms_on_a_path(epsilon: str, k: int) -> None:
    sharp = tv_sharp_path(k, Fraction(epsilon))
    assert sharp == pytest.approx(largest_gap(k, float(epsilon)), rel=1e-7, abs=1e-9)
    assert sharp == tv_bound(k, Fraction(epsilon)) if k < 2 else sharp < tv_bound(k, Fraction(epsilon))
    assert tv_sharp_path(0, Fraction(epsilon)) == 0


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_no_shift_of_geometric_noise_is_told_apart_better_than_the_bounds_say(epsilon: str) -> None:
    masses = [tail(j, Fraction(epsilon)) - tail(j + 1, Fraction(epsilon)) for j in range(-220, 220)]
    for k in range(1, 12):
        distance = sum(abs(here - there) for here, there in zip(masses[k:], masses, strict=False)) / 2
        assert float(distance) <= tv_sharp_path(k, Fraction(epsilon)) * (1 + 1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("delta", ["0", "1e-6", "0.001"])
def test_le_cam_s_bound_is_half_the_difference_where_the_outputs_overlap(k: int, delta: str) -> None:
    epsilon, loss = Fraction("0.4"), Fraction(delta)
    overlap = 1 - tv_bound(k, epsilon, loss)
    found = estimation_lower_bound_lecam(Fraction("0.2"), k, epsilon, loss)
    assert found == pytest.approx(0.2 * overlap / 2, rel=1e-12)
    assert found == 2 * estimation_lower_bound(Fraction("0.2"), k, epsilon, loss)


@given(st.integers(1, 10**9), st.decimals(0, 1, places=7).map(Fraction))
def test_a_support_moves_by_a_difference_with_that_many_replacements_and_not_with_fewer(
    n: int, difference: Fraction
) -> None:
    k = min_replacements(n, difference)
    assert Fraction(k, n) >= difference and (k == 0 or Fraction(k - 1, n) < difference)


def test_seven_percent_of_a_hundred_takes_seven_replacements() -> None:
    assert min_replacements(100, Fraction("0.07")) == 7 and math.ceil(100 * 0.07) == 8


@pytest.mark.parametrize("k", [-1, 10**12 + 1, True, 1.0, "3"])
def test_a_number_of_replacements_that_is_none_is_refused(k: object) -> None:
    for function in (tv_bound, tv_sharp_path):
        with pytest.raises(ValueError, match=r"^k:"):
            function(k, Fraction(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1001), math.nan, math.inf, True, "1"])
def test_an_epsilon_that_is_none_is_refused(epsilon: object) -> None:
    for function in (tv_bound, tv_sharp_path):
        with pytest.raises(ValueError, match=r"^epsilon:"):
            function(3, epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [Fraction(1), Fraction(-1, 10), math.nan, False, "0"])
def test_a_delta_that_is_none_is_refused(delta: object) -> None:
    for function in (tv_bound, delta_group):
        with pytest.raises(ValueError, match=r"^delta:"):
            function(3, Fraction(1), delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("difference", [Fraction(-1, 10), Fraction(11, 10), 0.1, True])
def test_a_difference_that_is_none_is_refused(difference: object) -> None:
    with pytest.raises(ValueError, match=r"^difference:"):
        min_replacements(10, difference)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^difference:"):
        estimation_lower_bound(difference, 1, Fraction(1))  # type: ignore[arg-type]
