"""Losses and their exact sums; what is charged over what the exact formula gives lies in [1, 1.01]."""

import math
from decimal import Decimal
from fractions import Fraction

import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.privacy.accounting import (
    NOTHING,
    Composition,
    CompositionError,
    Loss,
    amounts,
    decimal_up,
    fits,
    gaussian_loss,
    pure_loss,
    total,
)
from tasks.privacy.analytic_gaussian import gaussian_delta
from tasks.privacy.design import Design
from tasks.privacy.discrete_gaussian import root_up
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.gaussian import Gaussian
from tasks.privacy.zcdp import smallest_epsilon

BETA = Fraction(1, 20)
DESIGNS = [
    Design(n=1000, statements=m, epsilon=Fraction(e), delta=Fraction(d), beta=BETA)
    for m, e, d in ((1, "1", "1e-5"), (7, "0.1", "1e-9"), (200, "10", "1e-5"), (1000, "0.37", "1e-6"))
]
fractions = st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**12)


def within(charged: Fraction, exact: Fraction) -> bool:
    return 1 <= charged / exact <= Fraction(101, 100)


def test_epsilons_add_exactly_and_rho_is_half_the_sum_of_their_squares() -> None:
    tenth = Fraction(1, 10)
    loss = pure_loss([tenth] * 3)
    assert loss == Loss(3 * tenth, Fraction(0), Fraction(3, 200))
    assert pure_loss([]) == NOTHING
    assert total([loss] * 10, Composition.PURE) == {"epsilon": 3}
    assert total([loss] * 10, Composition.ZCDP) == {"rho": Fraction(3, 20)}


def test_rho_is_rounded_up_to_a_decimal_that_can_be_written() -> None:
    exact = Fraction(1, 3) ** 2 / 2
    rho = pure_loss([Fraction(1, 3)]).rho
    assert rho is not None and exact < rho < exact * (1 + Fraction(1, 10**28))
    assert rho == Fraction(Decimal("0.0555555555555555555555555555556"))


@given(fractions, st.integers(1, 40))
def test_decimals_are_rounded_up(value: Fraction, digits: int) -> None:
    above = decimal_up(value, digits)
    assert value <= above < value * (1 + Fraction(10) ** (1 - digits))
    shift = next(k for k in range(60) if (above * Fraction(10) ** k).denominator == 1)
    assert above * 10**shift < 10**digits or above.denominator == 1


def test_an_approximate_account_sums_epsilon_and_delta_each_under_its_own_cap() -> None:
    cap, loss = Loss(Fraction(1), Fraction(3, 10**6)), Loss(Fraction(1, 10), Fraction(1, 10**6))
    assert fits(cap, [loss] * 2, loss, Composition.APPROXIMATE)
    assert not fits(cap, [loss] * 3, loss, Composition.APPROXIMATE)
    assert not fits(cap, [pure_loss([Fraction(9, 10)])], pure_loss([Fraction(11, 100)]), Composition.APPROXIMATE)
    assert fits(cap, [pure_loss([Fraction(9, 10)])], pure_loss([Fraction(1, 10)]), Composition.APPROXIMATE)


def test_caps_are_met_exactly() -> None:
    cap = Loss(Fraction(3, 10), rho=Fraction(1))
    tenth = pure_loss([Fraction(1, 10)])
    assert fits(cap, [tenth] * 2, tenth, Composition.PURE)
    assert not fits(cap, [tenth] * 3, pure_loss([Fraction(1, 10**50)]), Composition.PURE)
    assert not fits(Loss(Fraction(0), rho=Fraction(1, 200)), [tenth], NOTHING_MUCH, Composition.ZCDP)
    assert fits(Loss(Fraction(0), rho=Fraction(1, 200)), [tenth], NOTHING, Composition.ZCDP)


NOTHING_MUCH = gaussian_loss(Fraction(1, 10**80), Fraction(1), Fraction(1, 10))


def test_each_account_refuses_by_name_what_it_cannot_add() -> None:
    gaussian = gaussian_loss(Fraction(1, 100), Fraction(1), Fraction(1, 10**5))
    with pytest.raises(CompositionError, match=r"delta: .* approximate or zcdp"):
        fits(Loss(Fraction(5)), [], gaussian, Composition.PURE)
    with pytest.raises(CompositionError, match=r"rho: .* approximate"):
        total([Loss(Fraction(1), Fraction(1, 10**5))], Composition.ZCDP)
    assert amounts(gaussian, Composition.ZCDP) == {"rho": Fraction(1, 100)}
    assert amounts(gaussian, Composition.APPROXIMATE) == {"epsilon": 1, "delta": Fraction(1, 10**5)}


@pytest.mark.parametrize(("epsilon", "delta", "rho"), [(-1, 0, None), (1, -1, None), (1, 1, None), (1, 0, -1)])
def test_a_negative_loss_would_buy_budget_back_and_is_refused(epsilon: int, delta: int, rho: int | None) -> None:
    with pytest.raises(ValueError, match="a loss needs"):
        Loss(Fraction(epsilon), Fraction(delta), None if rho is None else Fraction(rho))
    with pytest.raises(ValueError, match="rho > 0 at delta > 0"):
        gaussian_loss(Fraction(0), Fraction(1), Fraction(1, 10))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_pure_charge_is_what_the_real_sampler_loses_up_to_a_hundredth(design: Design) -> None:
    pure = Design(n=design.n, statements=design.statements, epsilon=design.epsilon, beta=BETA)
    mechanism, charged = Frontier.designed(pure), Frontier.loss(pure)
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    stated = Fraction((space >> dp.m.then_laplace(scale=float(mechanism.scale))).map(1))
    assert within(charged.epsilon, stated * pure.statements)
    assert charged.rho is not None and within(charged.rho, stated**2 * pure.statements / 2)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_zcdp_charge_is_what_the_real_sampler_loses_up_to_a_hundredth(design: Design) -> None:
    mechanism, charged = DiscreteGaussianMechanism.designed(design), DiscreteGaussianMechanism.loss(design)
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="float")
    stated = (space >> dp.m.then_gaussian(scale=float(mechanism.sigma))).map(root_up(Fraction(design.statements)))
    exact = design.statements / (2 * mechanism.sigma**2)
    assert charged.rho is not None and within(charged.rho, exact) and within(charged.rho, Fraction(stated))
    assert within(charged.epsilon, smallest_epsilon(exact, design.delta))
    assert charged.delta == design.delta and charged.epsilon == design.epsilon


@pytest.mark.parametrize("design", DESIGNS)
def test_an_epsilon_delta_charge_is_what_the_normal_law_loses_up_to_a_hundredth(design: Design) -> None:
    mechanism, charged = Gaussian.designed(design), Gaussian.loss(design)
    moved = Fraction(math.sqrt(design.statements))
    assert charged.rho is None
    assert within(charged.delta, Fraction(gaussian_delta(mechanism.sigma, charged.epsilon, moved)) * (1 - TINY))
    assert gaussian_delta(mechanism.sigma, charged.epsilon * Fraction(99, 100), moved) > charged.delta


TINY = Fraction(1, 10**12)  # sqrt(m) and delta are doubles
