"""The frontier mechanism: exact error, the optimum of Theorem 2 at every distance, privacy by enumeration."""

from fractions import Fraction
from itertools import pairwise

import pytest
from exact_geometric import certificate_law, epsilons, error_bound, exp_bounds, frontier, tail

from tasks.privacy.limits import frontier_recursion
from tasks.privacy.mechanisms import Frontier, Geometric

EPSILONS = ["0.01", "0.05", "0.3", "1", "2", "5"]
BETAS = ["1e-9", "0.001", "0.05", "0.2", "0.49"]
DISTANCES = [*range(41), *range(49, 400, 9), 400]
CLOSE = Fraction(1, 10**12)
TINY = Fraction(1, 10**90)  # what exact_geometric does not know


def ideal(epsilon: str, beta: str) -> Frontier:
    """Without the rounding of a real sampler's scale."""
    return Frontier(1 / Fraction(epsilon), Fraction(beta))


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_emission_probability_is_the_largest_that_theorem_2_allows(epsilon: str, beta: str) -> None:
    mechanism, n, theta = ideal(epsilon, beta), 2000, Fraction("0.05")
    pi = frontier(Fraction(epsilon), Fraction(beta), DISTANCES[-1])
    floats = frontier_recursion(float(epsilon), float(beta), DISTANCES[-1])
    for d in DISTANCES:
        assert abs(Fraction(mechanism.emit_probability(99 + d, n, theta)) - pi[d]) <= CLOSE
        assert abs(Fraction(floats[d]) - pi[d]) <= CLOSE


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_an_unsupported_statement_is_emitted_with_probability_at_most_beta(epsilon: str) -> None:
    mechanism = ideal(epsilon, "0.05")
    chances = [mechanism.emit_probability(count, 2000, Fraction("0.05")) for count in range(60, 100)]
    assert chances == sorted(chances) and abs(chances[-1] - 0.05) <= 1e-12


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", [*EPSILONS, "20"])
def test_a_certificate_exceeds_the_count_with_probability_beta(epsilon: str, beta: str) -> None:
    mechanism, rate = ideal(epsilon, beta), Fraction(epsilon)
    k, q = mechanism.margin, mechanism.coin
    error = tail(k + 1, rate) * (1 - q) + tail(k, rate) * q
    assert abs(error - Fraction(beta)) <= CLOSE * Fraction(beta)


def test_with_the_scale_of_the_real_sampler_the_error_stays_below_beta_for_2000_epsilons() -> None:
    betas = [Fraction(beta) for beta in BETAS]
    for at, epsilon in enumerate(epsilons(2000)):
        mechanism = Frontier.calibrated(epsilon, betas[at % len(betas)])
        assert error_bound(mechanism.margin, mechanism.coin, 1 / mechanism.scale) <= mechanism.beta
        assert 1 / mechanism.scale <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [Frontier, Geometric])
def test_one_unit_moves_the_probability_of_every_output_by_at_most_e_to_the_epsilon(
    kind: type[Geometric], epsilon: str
) -> None:
    mechanism, n = kind.calibrated(Fraction(epsilon), Fraction("0.05")), 24
    factor = 1 / exp_bounds(Fraction(epsilon))[0]
    laws = [certificate_law(N, n, mechanism.margin, mechanism.coin, 1 / mechanism.scale) for N in range(n + 1)]
    for here, there in pairwise(laws):
        assert abs(sum(here) - 1) < CLOSE
        assert all(p <= factor * q + TINY and q <= factor * p + TINY for p, q in zip(here, there, strict=True))


def test_the_enumeration_would_see_a_scale_that_is_a_tenth_of_a_percent_too_small() -> None:
    mechanism, n = ideal("1", "0.05"), 24
    factor = 1 / exp_bounds(Fraction(1))[0]
    here, there = (certificate_law(N, n, mechanism.margin, mechanism.coin, Fraction("1.001")) for N in (10, 11))
    assert any(p > factor * q + TINY or q > factor * p + TINY for p, q in zip(here, there, strict=True))


def test_a_large_epsilon_needs_no_margin_and_the_coin_does_the_rest() -> None:
    mechanism = Frontier.calibrated(Fraction(50), Fraction(1, 10**9))
    assert mechanism.margin == 0
    assert float(mechanism.coin) == pytest.approx(1e-9, rel=1e-11)
    assert mechanism.emit_probability(50, 1000, Fraction("0.05")) == pytest.approx(1, abs=1e-12)
    assert mechanism.emit_probability(49, 1000, Fraction("0.05")) == pytest.approx(1e-9, rel=1e-11)


def test_an_epsilon_below_the_sampler_s_range_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon per statement"):
        Frontier.calibrated(Fraction("5e-324"), Fraction("0.05"))
