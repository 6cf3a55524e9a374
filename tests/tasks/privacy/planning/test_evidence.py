"""Limits beside a plan: the right budget goes to each formula, and none where a theorem does not speak."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from schemas.audit import Scope
from tasks.privacy.design import Design
from tasks.privacy.limits import tv_bound
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.planning import Plan, certified_distances, limits, plan, separations, statement_epsilon
from tests.designs import design_of

SPLITTING = ("frontier", "geometric", "staircase", "laplace", "laplace_rounded")


def made_for(
    name: str = "frontier",
    n: int = 1800,
    m: int = 200,
    theta: str = "0.05",
    beta: str = "0.05",
    scope: Scope = Scope.REPORT,
    **own: object,
) -> Plan:
    """epsilon = 10."""
    return plan(name, Design(n, m, Fraction(10), Fraction(beta), scope, **own), Fraction(theta))  # type: ignore[arg-type]


def test_total_variation_is_bounded_with_a_share_and_with_all_of_epsilon() -> None:
    near, far = separations(made_for(), [3, 1, 3])
    assert (near.distance, far.distance) == (1, 3)
    assert near.tv_statement == pytest.approx(math.tanh(0.05 / 2)) and near.tv_release == pytest.approx(math.tanh(5))
    assert far.tv_statement == pytest.approx(math.tanh(0.15 / 2)) and far.tv_release == pytest.approx(math.tanh(15))


def test_delta_adds_to_the_bound_of_a_release() -> None:
    (line,) = separations(made_for("discrete_gaussian", delta=Fraction("0.01")), [1])
    growth = math.exp(10)
    assert line.tv_release == pytest.approx((growth - 1 + 2 * 0.01) / (growth + 1))
    assert line.tv_statement is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_only_a_mechanism_with_equal_pure_shares_has_the_limits_of_the_theorems(name: str) -> None:
    made = plan(name, replace(design_of(name, 500, 20, epsilon="4"), theta=None), Fraction("0.1"))
    found, each = limits(made), statement_epsilon(made)
    assert (found.width_privcert_units is not None) is (name in SPLITTING)
    assert (found.width_bound_units is not None) is (name in SPLITTING)
    assert (found.half_emission_distance_units is not None) is (name in (*SPLITTING, "hist"))
    if name in SPLITTING:
        assert each == Fraction(4, 20)
    elif name == "hist":
        assert made.design.contributions is not None and each == Fraction(4, min(20, 2 * made.design.contributions))
    else:
        assert each is None
    assert all((line.tv_statement is None) is (each is None) for line in separations(made, [1, 2]))


@pytest.mark.parametrize("name", ["frontier", "geometric", "staircase", "hist", "svt", "topk"])
def test_what_is_said_of_one_statement_holds_for_its_exact_law(name: str) -> None:
    """Emission of one statement, on two datasets whose counts all differ by d: |difference| is at most the bound."""
    design = replace(design_of(name, 60, 4, epsilon="3"), theta=None)
    made = plan(name, design, Fraction("0.3"))
    chosen, each = MECHANISMS[name].designed(made.design), statement_epsilon(made) or design.epsilon
    for counts, d in product(([20, 5, 30, 17], [18, 18, 18, 18]), (1, 2, 4)):
        here = chosen.emit_probabilities(counts, 60, Fraction("0.3"))
        for signs in product((-1, 1), repeat=4):
            there = chosen.emit_probabilities(
                [c + d * s for c, s in zip(counts, signs, strict=True)], 60, Fraction("0.3")
            )
            assert np.abs(here - there).max() <= tv_bound(d, each) + 1e-9


def test_distances_are_those_of_the_smallest_counts_emitted() -> None:
    made = made_for(scope=Scope.CANDIDATE)
    assert made.smallest_count_emitted["0.5"] == 136 and made.threshold_units == 90
    assert certified_distances(made)[:2] == [1, 47]
    assert certified_distances(made_for(n=10, theta="0.5")) == [1]
    assert certified_distances(made_for(theta="0")) == [1, 1, 1, 1]


def test_limits_are_those_of_equal_shares() -> None:
    found = limits(made_for(scope=Scope.CANDIDATE))
    assert found.half_emission_distance_units == 47  # ceil(ln(10) / 0.05)
    kappa_m_ln2 = 200 * math.log(27 / 16) / 4
    assert found.width_bound_units == pytest.approx((kappa_m_ln2 + math.log(1 - 0.4)) / 10 - 2)
    assert found.width_privcert_units == pytest.approx(2 * 200 * math.log(10) / 10)
    assert limits(made_for()).half_emission_distance_units == math.ceil(math.log(1 / (2 * 0.00025)) / 0.05)


def test_the_limit_of_a_histogram_is_that_of_one_bounded_count() -> None:
    made = made_for("hist", contributions=5)
    assert limits(made).half_emission_distance_units == math.ceil(math.log(1 / (2 * 0.00025)) / (10 / 10))
    assert separations(made, [2])[0].tv_statement == pytest.approx(math.tanh(1))


def test_the_fine_grained_bound_ends_where_its_theorem_does() -> None:
    assert limits(made_for(beta="0.125", scope=Scope.CANDIDATE)).width_bound_units is None
    assert limits(made_for(beta="0.1249", scope=Scope.CANDIDATE)).width_bound_units is not None
