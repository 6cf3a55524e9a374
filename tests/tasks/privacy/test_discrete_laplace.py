"""The two-sided geometric law against arithmetic of its own (exact_geometric), and the scale that the sampler gets."""

from decimal import Decimal
from fractions import Fraction

import opendp.prelude as dp
import pytest
from exact_geometric import epsilons, exp_bounds, tail_bounds
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.privacy.discrete_laplace import DiscreteLaplace, at_most
from tasks.privacy.sampler_scales import smallest_scale

RATES = [
    Fraction(1, 10**12),
    Fraction(1, 10**6),
    Fraction(1, 97),
    Fraction(1),
    Fraction(5),
    Fraction(50),
    Fraction(1000),
]
rates = st.fractions(Fraction(1, 1000), 20, max_denominator=10**6)
betas = st.decimals("0.000000001", "0.499999999", places=9).map(Fraction)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("j", [-400, -7, -1, 0, 1, 2, 9, 400])
def test_an_upper_tail_contains_the_exact_value_and_is_narrow(rate: Fraction, j: int) -> None:
    tail = DiscreteLaplace(rate).upper_tail(j)
    low, high = tail_bounds(j, rate)
    assert Fraction(tail.low) <= high and low <= Fraction(tail.high)
    assert Fraction(tail.high) - Fraction(tail.low) <= Fraction(1, 10**40) * max(Fraction(tail.high), Fraction(j <= 0))


@settings(max_examples=60, deadline=None)
@given(rates, betas)
def test_the_margin_is_the_smallest_that_keeps_the_error(rate: Fraction, beta: Fraction) -> None:
    k = DiscreteLaplace(rate).margin(beta)
    assert k >= 0 and tail_bounds(k + 1, rate)[1] <= beta
    assert k == 0 or tail_bounds(k, rate)[0] > beta


@settings(max_examples=60, deadline=None)
@given(rates, betas)
def test_the_coin_spends_what_the_margin_left_and_never_more(rate: Fraction, beta: Fraction) -> None:
    law = DiscreteLaplace(rate)
    k = law.margin(beta)
    q = law.coin(beta, k)
    here, beyond = tail_bounds(k, rate), tail_bounds(k + 1, rate)
    assert 0 <= q <= 1 and (q * 2**128).denominator == 1
    assert beyond[1] + q * (here[1] - beyond[0]) <= beta
    one_step_more = q + Fraction(2, 2**128)
    assert q == 1 or beyond[0] + one_step_more * (here[0] - beyond[1]) > beta


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 10**13), Fraction(1001)])
def test_a_rate_that_no_sampler_can_keep_is_refused(rate: Fraction) -> None:
    with pytest.raises(ValueError, match="1e-12"):
        DiscreteLaplace(rate)


def test_the_sampler_never_loses_more_than_epsilon_and_opendp_agrees() -> None:
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    for epsilon in [*epsilons(2000), Fraction(1, 10**12), Fraction(1000)]:
        scale = smallest_scale(epsilon, 1)
        assert 1 / Fraction(scale) <= epsilon
        assert Fraction((space >> dp.m.then_laplace(scale=scale)).map(1)) <= epsilon


def test_the_scale_is_not_larger_than_needed() -> None:
    for epsilon in epsilons(2000):
        assert Fraction(smallest_scale(epsilon, 1)) * epsilon <= 1 + Fraction(4, 2**52)


def test_rounding_the_scale_to_the_nearest_double_would_lose_too_much_for_about_half_of_all_epsilon() -> None:
    chosen = epsilons(2000)
    too_small = sum(1 / Fraction(float(1 / epsilon)) > epsilon for epsilon in chosen)
    assert 0.4 < too_small / len(chosen) < 0.6


def test_at_most_asks_for_the_upper_end() -> None:
    tail = DiscreteLaplace(Fraction(1)).upper_tail(3)
    assert at_most(tail, Fraction(tail.high))
    assert not at_most(tail, Fraction(tail.low) - Fraction(1, 10**60))
    assert isinstance(tail.low, Decimal) and tail.low < tail.high


def test_the_arithmetic_of_these_tests_knows_e() -> None:
    low, high = exp_bounds(Fraction(1))
    e_inverse = Fraction("0.36787944117144232159552377016146086744581113103176783450783680169746")
    assert low <= e_inverse + Fraction(1, 10**66) and e_inverse <= high and high - low < Fraction(1, 10**100)
