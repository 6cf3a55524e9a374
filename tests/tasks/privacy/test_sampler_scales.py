"""Scales of joint and selecting noise: the sampler's own account stays within epsilon, and no smaller double serves."""

import math
from fractions import Fraction

import opendp.prelude as dp
import pytest
from exact_geometric import epsilons

from tasks.privacy.design import DesignError
from tasks.privacy.sampler_scales import laplace_scale


def test_the_scale_is_the_smallest_double_that_the_sampler_accounts_at_most_epsilon() -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    for at, epsilon in enumerate(epsilons(1000)):
        distance = 1 + at % 400
        scale = float(laplace_scale(epsilon, distance))
        smaller = math.nextafter(scale, 0)
        assert Fraction(dp.m.make_laplace(*space, scale=scale).map(distance)) <= epsilon
        assert Fraction(dp.m.make_laplace(*space, scale=smaller).map(distance)) > epsilon


@pytest.mark.parametrize(("epsilon", "distance"), [("5e-324", 1), ("1e-11", 20), ("1001", 1), ("1e400", 2)])
def test_an_epsilon_outside_the_sampler_s_range_is_refused_by_name(epsilon: str, distance: int) -> None:
    with pytest.raises(DesignError, match=r"^epsilon: "):
        laplace_scale(Fraction(epsilon), distance)
