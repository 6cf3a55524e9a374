"""The discrete Gaussian law against plain sums in mpmath, and the sigma that the sampler gets, against OpenDP."""

import functools
import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.privacy.directed import Directed
from tasks.privacy.discrete_gaussian import _WEIGHTS, DiscreteGaussian, root_up, sampler_sigma, stated_rho

SIGMAS = ["0.001", "0.02", "0.3", "1", "3.3", "59.5", "60", "61.7", "150", "600"]  # the method changes at 60
DRAWS = 150_000


@functools.cache
def plain_tails(sigma: str) -> list[mpmath.mpf]:
    """Pr[Z >= j] for j = 0, 1, ...: terms added from far out inwards."""
    with mpmath.workdps(80):
        s = mpmath.mpf(sigma)
        edge = int(20 * s) + 20  # e^-200 of the mass lies beyond
        rest, sums = mpmath.mpf(0), []
        for z in range(edge, -1, -1):
            rest += mpmath.exp(-mpmath.mpf(z * z) / (2 * s * s))
            sums.append(rest)
        norm = 2 * sums[-1] - 1
        return [value / norm for value in reversed(sums)]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_an_upper_tail_contains_the_exact_value_and_is_narrow(sigma: str) -> None:
    law, tails = DiscreteGaussian(Fraction(sigma)), plain_tails(sigma)
    for j in sorted({0, 1, 2, 3, *(int(float(sigma) * x) for x in (0.01, 0.7, 2, 3.9, 4.1, 5.9, 8.5, 10))}):
        found = law.upper_tail(j)
        with mpmath.workdps(80):
            low, high = mpmath.mpf(str(found.low)), mpmath.mpf(str(found.high))
            assert low <= tails[j] * (1 + mpmath.mpf("1e-55")) and tails[j] <= high, j
            assert high - low <= mpmath.mpf("1e-30") * high


def test_the_weights_of_euler_maclaurin_are_bernoulli_numbers_over_factorials() -> None:
    numbers = [Fraction(*map(int, mpmath.bernfrac(2 * k))) for k in range(1, len(_WEIGHTS) + 1)]
    assert [weight * math.factorial(2 * k) for k, weight in enumerate(_WEIGHTS, 1)] == numbers


@pytest.mark.parametrize("sigma", ["1", "1.5", "2", "3", "5", "9"])
def test_the_remainder_of_euler_maclaurin_is_bounded_even_where_it_is_large(sigma: str) -> None:
    law, directed = DiscreteGaussian(Fraction(sigma)), Directed(50)
    for j in range(1, 40):
        bounds, terms = law._euler_maclaurin(j, directed), law._term_by_term(j, directed)
        assert bounds.low <= terms.low and terms.high <= bounds.high


def test_a_tail_far_out_is_as_narrow() -> None:
    for sigma, j in (("61.7", 3000), ("600", 36_001), ("1e5", 10**7)):
        tail = DiscreteGaussian(Fraction(sigma)).upper_tail(j)
        assert 0 < tail.high - tail.low <= tail.high * Decimal("1e-30")


@pytest.mark.parametrize("sigma", ["1e5", "22222.25"])
def test_a_tail_of_a_wide_law_is_the_sum_of_its_terms(sigma: str) -> None:
    law, s = DiscreteGaussian(Fraction(sigma)), float(sigma)
    for j in (1, int(s), int(3 * s), int(6 * s)):
        z = np.arange(j, int(14 * s), dtype=np.float64)
        assert float(law.upper_tail(j)) == pytest.approx(
            np.exp(-(z**2) / (2 * s * s)).sum() / (s * math.sqrt(2 * math.pi)), rel=1e-11
        )


def test_the_tail_is_heavier_than_the_normal_one() -> None:
    assert float(DiscreteGaussian(Fraction(1)).upper_tail(2)) == pytest.approx(0.0586, abs=5e-5)
    assert stats.norm.sf(2) == pytest.approx(0.0228, abs=5e-5)


def test_both_tails_and_all_masses_sum_to_1() -> None:
    law = DiscreteGaussian(Fraction("2.5"))
    for j in (-40, -3, 0, 1, 7):
        assert float(law.upper_tail(j)) + float(law.upper_tail(1 - j)) == pytest.approx(1, abs=1e-15)
    assert math.fsum(math.exp(law.log_probability(z)) for z in range(-60, 61)) == pytest.approx(1, abs=1e-14)
    assert math.exp(law.log_probability(3)) == pytest.approx(float(law.upper_tail(3)) - float(law.upper_tail(4)))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["0.3", "1", "3.3", "59.5", "61.7", "150"]), st.decimals("0.000000001", "0.499999999", places=9))
def test_the_margin_is_the_smallest_that_keeps_the_error(sigma: str, beta: object) -> None:
    k = DiscreteGaussian(Fraction(sigma)).margin(Fraction(str(beta)))
    tails, error = plain_tails(sigma), mpmath.mpf(str(beta))
    assert tails[k + 1] <= error
    assert k == 0 or tails[k] > error


@pytest.mark.parametrize("beta", ["0.4", "1e-9", "1e-300"])
@pytest.mark.parametrize("sigma", ["0.001", "22222.2", "1e12"])
def test_the_margin_of_an_extreme_law_is_the_smallest_by_its_own_bounds(sigma: str, beta: str) -> None:
    law, error = DiscreteGaussian(Fraction(sigma)), Fraction(beta)
    k = law.margin(error)
    assert Fraction(law.upper_tail(k + 1).high) <= error
    assert k == 0 or Fraction(law.upper_tail(k).low) > error


def test_a_tail_far_beyond_the_doubles_is_still_bounded() -> None:
    tail = DiscreteGaussian(Fraction(1)).upper_tail(10**6)
    assert 0 < tail.low <= tail.high and tail.high.adjusted() < -(10**11)
    assert Fraction(DiscreteGaussian(Fraction(10**5)).upper_tail(-(10**9)).high) <= 1


@pytest.mark.parametrize("sigma", ["0", "-1", "0.0009", "1.1e12"])
def test_a_sigma_that_no_release_needs_is_refused(sigma: str) -> None:
    with pytest.raises(ValueError, match="sigma"):
        DiscreteGaussian(Fraction(sigma))


@pytest.mark.statistical  # unseeded, secure draws: fails with probability 1e-6 a case
@pytest.mark.parametrize("sigma", [0.7, 3.3])
def test_real_draws_follow_the_law(sigma: float) -> None:
    law, edge = DiscreteGaussian(Fraction(sigma)), math.floor(3.5 * sigma)
    noise = np.array(opendp_gaussian(sigma)([0] * DRAWS))
    inner = [math.exp(law.log_probability(z)) for z in range(-edge, edge + 1)]
    beyond = float(law.upper_tail(edge + 1))
    observed = np.bincount(np.clip(noise, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    expected = DRAWS * np.array([beyond, *inner, beyond])
    assert expected.min() > 5
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6
    wrong = np.array([math.exp(-z * z / (2 * (1.05 * sigma) ** 2)) for z in range(-edge, edge + 1)])
    assert stats.chisquare(observed[1:-1], observed[1:-1].sum() * wrong / wrong.sum()).pvalue < 1e-6


def losses(count: int) -> list[tuple[Fraction, int]]:
    """(rho, counts in the vector), as decimals of a few to twenty digits."""
    source = random.Random(20261130)
    return [
        (Fraction(f"{10 ** source.uniform(-9, 2):.{source.randint(3, 20)}e}"), source.randint(1, 2000))
        for _ in range(count)
    ]


def test_the_sampler_never_loses_more_than_rho_and_opendp_agrees() -> None:
    for rho, m in losses(600):
        sigma = sampler_sigma(rho, m)
        stated = Fraction(opendp_gaussian(sigma).map(root_up(Fraction(m))))
        assert Fraction(m) / (2 * Fraction(sigma) ** 2) <= stated <= rho
        assert stated == stated_rho(sigma, m)


def test_no_smaller_double_would_do() -> None:
    for rho, m in losses(600):
        smaller = math.nextafter(sampler_sigma(rho, m), 0)
        assert Fraction(opendp_gaussian(smaller).map(root_up(Fraction(m)))) > rho


def test_the_nearest_doubles_would_lose_too_much_for_more_than_half_of_all_rho() -> None:
    chosen = losses(600)
    naive = [opendp_gaussian(math.sqrt(m / (2 * rho))).map(math.sqrt(m)) for rho, m in chosen]
    assert sum(Fraction(stated) > rho for stated, (rho, _) in zip(naive, chosen, strict=True)) > 300


@pytest.mark.parametrize("value", [Fraction(0), Fraction(2), Fraction(4), Fraction(1, 3), Fraction(10**40 + 1)])
def test_a_root_is_rounded_up_to_the_next_double(value: Fraction) -> None:
    root = root_up(value)
    assert Fraction(root) ** 2 >= value
    assert root == 0 or Fraction(math.nextafter(root, 0)) ** 2 < value


def opendp_gaussian(sigma: float) -> dp.Measurement:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="float")
    return space >> dp.m.then_gaussian(scale=sigma)
