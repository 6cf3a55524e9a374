"""Limits beside a plan: the right budget goes to each formula."""

import math
from fractions import Fraction

import pytest

from schemas.audit import Scope
from tasks.privacy.design import Design
from tasks.privacy.planning import certified_distances, limits, plan, separations


def design(n: int = 1800, m: int = 200, beta: str = "0.05", scope: Scope = Scope.REPORT, delta: str = "0") -> Design:
    """epsilon = 10."""
    return Design(n, m, Fraction(10), Fraction(beta), scope, Fraction(delta))


def test_total_variation_is_bounded_with_a_share_and_with_all_of_epsilon() -> None:
    near, far = separations(design(), [3, 1, 3])
    assert (near.distance, far.distance) == (1, 3)
    assert near.tv_statement == pytest.approx(math.tanh(0.05 / 2)) and near.tv_release == pytest.approx(math.tanh(5))
    assert far.tv_statement == pytest.approx(math.tanh(0.15 / 2)) and far.tv_release == pytest.approx(math.tanh(15))


def test_delta_adds_to_both_bounds() -> None:
    (line,) = separations(design(delta="0.01"), [1])
    growth = math.exp(0.05)
    assert line.tv_statement == pytest.approx((growth - 1 + 2 * 0.01 / 200) / (growth + 1))
    assert line.tv_release > separations(design(), [1])[0].tv_release


def test_distances_are_those_of_the_smallest_counts_emitted() -> None:
    made = plan("frontier", design(scope=Scope.CANDIDATE), Fraction("0.05"))
    assert made.smallest_count_emitted["0.5"] == 136 and made.threshold_units == 90
    assert certified_distances(made)[:2] == [1, 47]
    assert certified_distances(plan("frontier", design(n=10), Fraction("0.5"))) == [1]
    assert certified_distances(plan("frontier", design(), Fraction(0))) == [1, 1, 1, 1]


def test_limits_are_those_of_equal_shares() -> None:
    found = limits(design(scope=Scope.CANDIDATE))
    assert found.half_emission_distance_units == 47  # ceil(ln(10) / 0.05)
    kappa_m_ln2 = 200 * math.log(27 / 16) / 4
    assert found.width_bound_units == pytest.approx((kappa_m_ln2 + math.log(1 - 0.4)) / 10 - 2)
    assert found.width_privcert_units == pytest.approx(2 * 200 * math.log(10) / 10)
    assert limits(design()).half_emission_distance_units == math.ceil(math.log(1 / (2 * 0.00025)) / 0.05)


def test_the_fine_grained_bound_ends_where_its_theorem_does() -> None:
    assert limits(design(beta="0.125", scope=Scope.CANDIDATE)).width_bound_units is None
    assert limits(design(beta="0.1249", scope=Scope.CANDIDATE)).width_bound_units is not None
