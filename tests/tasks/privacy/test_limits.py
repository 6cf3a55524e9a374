"""The frontier of Theorem 2."""

from fractions import Fraction

import pytest

from tasks.privacy.limits import frontier_recursion, half_emission_distance


@pytest.mark.parametrize(("epsilon", "beta"), [(1.0, 0.05), (0.01, 1e-9), (5.0, 0.49), (800.0, 0.05)])
def test_the_frontier_starts_at_beta_grows_by_at_most_e_to_the_epsilon_and_ends_at_1(
    epsilon: float, beta: float
) -> None:
    pi = frontier_recursion(epsilon, beta, 5000)
    assert pi[0] == beta and pi == sorted(pi) and 1 - 1e-9 < pi[-1] <= 1


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "4"])
@pytest.mark.parametrize("beta", ["1e-9", "0.05", "0.3"])
def test_nobody_emits_with_probability_one_half_before_k_star(epsilon: str, beta: str) -> None:
    k_star = half_emission_distance(Fraction(epsilon), Fraction(beta))
    pi = frontier_recursion(float(epsilon), float(beta), k_star)
    assert all(value < 0.5 for value in pi[:k_star])


@pytest.mark.parametrize(("epsilon", "beta"), [("0", "0.05"), ("-1", "0.05"), ("1", "0"), ("1", "0.5"), ("1", "0.7")])
def test_values_outside_the_theorem_are_refused(epsilon: str, beta: str) -> None:
    with pytest.raises(ValueError, match=r"epsilon|beta"):
        half_emission_distance(Fraction(epsilon), Fraction(beta))
    with pytest.raises(ValueError, match=r"epsilon|beta"):
        frontier_recursion(float(epsilon), float(beta), 3)


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        frontier_recursion(float("nan"), 0.05, 3)
    with pytest.raises(ValueError, match="beta"):
        frontier_recursion(1.0, float("nan"), 3)
