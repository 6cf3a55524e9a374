"""Theorem 2 against exact arithmetic of its own (exact_geometric), also where doubles cannot decide."""

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, product

import pytest
from exact_geometric import exp_bounds, frontier
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.privacy.limits import (
    frontier_bound,
    frontier_probability,
    frontier_recursion,
    frontier_switch,
    half_emission_distance,
    half_emission_distance_laplace,
    rho,
)

EPSILONS = ["1e-6", "0.001", "0.05", "0.3", "1", "7", "50"]
BETAS = ["1e-9", "0.001", "0.05", "0.25", "0.49"]
EXTREMES = [(Fraction(epsilon), Fraction(beta)) for epsilon, beta in product(EPSILONS, BETAS)]
epsilons = st.decimals("0.000001", "50", places=6).map(Fraction)
betas = st.decimals("0.000000001", "0.499999999", places=9).map(Fraction)


def is_k_star(k: int, epsilon: Fraction, beta: Fraction) -> bool:
    """k is the smallest whole number with e^(-k epsilon) <= 2 beta."""
    return exp_bounds(k * epsilon)[1] <= 2 * beta and exp_bounds((k - 1) * epsilon)[0] > 2 * beta


@pytest.mark.parametrize(("epsilon", "beta"), EXTREMES)
def test_k_star_is_exact(epsilon: Fraction, beta: Fraction) -> None:
    assert is_k_star(half_emission_distance(epsilon, beta), epsilon, beta)


@settings(deadline=None)
@given(epsilons, betas)
def test_k_star_is_exact_for_any_decimals(epsilon: Fraction, beta: Fraction) -> None:
    assert is_k_star(half_emission_distance(epsilon, beta), epsilon, beta)


@pytest.mark.parametrize("k", [1, 3, 17, 20030118])
@pytest.mark.parametrize("digits", [25, 60, 90])
def test_k_star_is_right_where_doubles_see_a_tie(k: int, digits: int) -> None:
    epsilon = Fraction(1, 10**6) if k > 100 else Fraction(1)
    tie = Fraction(Context(prec=150).exp(Decimal(-k) * Decimal(epsilon.numerator) / epsilon.denominator)) / 2
    unit = Fraction(1, 10**digits)
    below = math.floor(tie / unit) * unit
    assert half_emission_distance(epsilon, below) == k + 1
    assert half_emission_distance(epsilon, below + unit) == k


@pytest.mark.parametrize(("epsilon", "beta"), [pair for pair in EXTREMES if pair[0] >= Fraction("0.05")])
def test_recursion_closed_form_and_exact_arithmetic_agree(epsilon: Fraction, beta: Fraction) -> None:
    exact, floats = frontier(epsilon, beta, 400), frontier_recursion(epsilon, beta, 400)
    for d, (pi, found) in enumerate(zip(exact, floats, strict=True)):
        assert found == pytest.approx(float(pi), rel=1e-14)
        if d < 20 or d % 40 == 0:
            assert frontier_probability(epsilon, beta, d) == pytest.approx(float(pi), rel=1e-14)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", ["1e-6", "1e-9"])
def test_the_closed_form_holds_after_millions_of_steps(epsilon: str, beta: str) -> None:
    nats, error = Fraction(epsilon), Fraction(beta)
    switch = frontier_switch(nats, error)
    at_switch = error / (sum(exp_bounds(switch * nats)) / 2)
    for steps in (1, switch // 2, switch):
        climbed = error / (sum(exp_bounds(steps * nats)) / 2)
        assert frontier_probability(nats, error, steps) == pytest.approx(float(climbed), rel=1e-14)
    for more in (1, 10**6, 10**9):
        expected = 1 - (1 - at_switch) * sum(exp_bounds(more * nats)) / 2
        assert frontier_probability(nats, error, switch + more) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize(("epsilon", "beta"), EXTREMES)
def test_the_switch_is_the_first_index_of_the_second_branch(epsilon: Fraction, beta: Fraction) -> None:
    switch, turn = frontier_switch(epsilon, beta), [end / (1 + end) for end in exp_bounds(epsilon)]  # 1 / (1 + e^eps)
    low, high = exp_bounds(switch * epsilon)
    assert beta >= turn[1] * high
    assert switch == 0 or beta < turn[0] * exp_bounds((switch - 1) * epsilon)[0]
    assert low <= high


@pytest.mark.parametrize(("epsilon", "beta"), EXTREMES)
def test_nobody_emits_with_probability_one_half_before_k_star(epsilon: Fraction, beta: Fraction) -> None:
    k_star = half_emission_distance(epsilon, beta)
    assert frontier_probability(epsilon, beta, k_star - 1) < 0.5 <= frontier_probability(epsilon, beta, k_star)


@pytest.mark.parametrize(("epsilon", "beta"), [("1", "0.05"), ("0.01", "1e-9"), ("5", "0.49"), ("800", "0.05")])
def test_the_frontier_starts_at_beta_grows_by_at_most_e_to_the_epsilon_and_ends_at_1(epsilon: str, beta: str) -> None:
    pi = frontier_recursion(Fraction(epsilon), Fraction(beta), 5000)
    factor = math.exp(min(float(epsilon), 700)) * (1 + 1e-12)
    assert pi[0] == float(beta) and pi == sorted(pi) and 1 - 1e-9 < pi[-1] <= 1
    assert all(after <= factor * before for before, after in pairwise(pi))


def test_the_bound_of_a_statement_depends_on_its_distance() -> None:
    theta, epsilon, beta = Fraction("0.07"), Fraction(1), Fraction("0.05")
    for count in range(20):
        expected = frontier_probability(epsilon, beta, max(count - 6, 0))
        assert frontier_bound(count, 100, theta, epsilon, beta) == expected
    assert frontier_bound(0, 100, Fraction(0), epsilon, beta) == 1.0


@pytest.mark.parametrize(("n", "theta", "left"), [(10, "0.3", "0"), (10, "0.21", "0.9"), (10**9, "1e-10", "0.9")])
def test_rho_is_what_the_threshold_lies_above_its_real_value(n: int, theta: str, left: str) -> None:
    assert rho(n, Fraction(theta)) == Fraction(left)


@settings(deadline=None)
@given(st.integers(1, 10**9), st.decimals("0.001", "0.9", places=5).map(Fraction), epsilons, betas)
def test_the_laplace_filter_reaches_one_half_at_k_star_or_one_later(
    n: int, theta: Fraction, epsilon: Fraction, beta: Fraction
) -> None:
    d, k_star = half_emission_distance_laplace(n, theta, epsilon, beta), half_emission_distance(epsilon, beta)
    assert d in (k_star, k_star + 1)

    def half(count: int) -> bool:
        """N - n theta >= ln(1 / (2 beta)) / epsilon."""
        above = count - n * theta
        return above >= 0 and exp_bounds(above * epsilon)[1] <= 2 * beta

    count = d + math.ceil(n * theta) - 1
    assert half(count) and not half(count - 1)


def test_at_a_threshold_of_no_units_there_is_no_half_emission() -> None:
    with pytest.raises(ValueError, match="theta"):
        half_emission_distance_laplace(10, Fraction(0), Fraction(1), Fraction("0.05"))


@pytest.mark.parametrize(("epsilon", "beta"), [("0", "0.05"), ("-1", "0.05"), ("1001", "0.05")])
def test_an_epsilon_outside_the_theorem_is_refused(epsilon: str, beta: str) -> None:
    for function in (half_emission_distance, frontier_switch):
        with pytest.raises(ValueError, match=r"^epsilon"):
            function(Fraction(epsilon), Fraction(beta))
    with pytest.raises(ValueError, match=r"^epsilon"):
        frontier_recursion(Fraction(epsilon), Fraction(beta), 3)
    with pytest.raises(ValueError, match=r"^epsilon"):
        frontier_probability(Fraction(epsilon), Fraction(beta), 3)


@pytest.mark.parametrize("beta", ["0", "0.5", "0.7", "-0.1"])
def test_a_beta_outside_the_theorem_is_refused(beta: str) -> None:
    for function in (half_emission_distance, frontier_switch):
        with pytest.raises(ValueError, match=r"^beta"):
            function(Fraction(1), Fraction(beta))
    with pytest.raises(ValueError, match=r"^beta"):
        frontier_recursion(Fraction(1), Fraction(beta), 3)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), True, "1", Decimal("NaN"), None])
def test_what_is_not_a_number_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"^epsilon"):
        half_emission_distance(wrong, Fraction("0.05"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^beta"):
        frontier_recursion(Fraction(1), wrong, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^k"):
        frontier_probability(Fraction(1), Fraction("0.05"), wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^theta"):
        rho(10, wrong)  # type: ignore[arg-type]


def test_a_threshold_as_a_float_is_refused_for_it_is_rounded_already() -> None:
    with pytest.raises(ValueError, match=r"^theta: .*float"):
        rho(100, 0.07)  # type: ignore[arg-type]
