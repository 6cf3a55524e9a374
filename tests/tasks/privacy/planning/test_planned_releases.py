"""Totals of several releases: exact sums, and the numerical one between its own bounds."""

import math
from fractions import Fraction

import pytest

from tasks.privacy.accounting import Composition, total
from tasks.privacy.design import DesignError
from tasks.privacy.mechanisms import MECHANISMS, DiscreteGaussianMechanism
from tasks.privacy.planning import together
from tasks.privacy.pld import GaussianPart, LaplacePart, pld_epsilon
from tests.designs import design_of

DELTA = Fraction("1e-6")


@pytest.mark.parametrize("name", MECHANISMS)
def test_basic_sums_are_those_that_an_account_counts(name: str) -> None:
    design = design_of(name, 1000, 7, epsilon="0.7")
    found, loss = together(name, design, 13, None), MECHANISMS[name].loss(design)
    assert {"epsilon": found.epsilon, "delta": found.delta} == total([loss] * 13, Composition.APPROXIMATE)
    if loss.rho is not None:
        assert found.rho == total([loss] * 13, Composition.ZCDP)["rho"]
    assert found.pld_epsilon is None


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "gaussian"])
def test_the_numerical_total_of_many_small_losses_is_far_below_the_sum(name: str) -> None:
    found = together(name, design_of(name, 1000, 7, epsilon="0.1"), 40, DELTA)
    assert found.pld_epsilon is not None
    assert found.pld_epsilon < float(found.epsilon) and (found.epsilon, found.pld_delta) == (4, DELTA)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("frontier", [LaplacePart(Fraction(1, 10), 7 * 12)]),
        ("hist", [LaplacePart(Fraction("0.7") / 6, 6 * 12)]),
        ("svt", [LaplacePart(Fraction("0.35"), 12), LaplacePart(Fraction("0.175"), 2 * 12)]),
        ("topk", [LaplacePart(Fraction("0.35"), 12), LaplacePart(Fraction("0.175"), 2 * 12)]),
    ],
)
def test_the_numerical_total_is_that_of_all_noises_of_all_releases(name: str, parts: list[LaplacePart]) -> None:
    found = together(name, design_of(name, 1000, 7, epsilon="0.7"), 12, DELTA)
    assert found.pld_epsilon == pld_epsilon(parts, DELTA)


def test_the_numerical_total_of_gaussian_releases_is_that_of_one_long_vector() -> None:
    design = design_of("discrete_gaussian", 1000, 7, epsilon="0.7")
    chosen = DiscreteGaussianMechanism.designed(design)
    found = together("discrete_gaussian", design, 12, DELTA)
    assert found.pld_epsilon == pld_epsilon([GaussianPart(chosen.sigma, 84)], DELTA)


@pytest.mark.parametrize("name", ["frontier", "laplace", "hist", "svt", "topk"])
def test_the_numerical_total_of_one_pure_release_is_about_its_epsilon_at_a_tiny_delta(name: str) -> None:
    """The largest loss has all of epsilon; one part of one count, where the other parts cannot blur it."""
    design = design_of(name, 1000, 1, epsilon="3", **({"contributions": 1} if name == "hist" else {}))
    found = together(name, design, 1, Fraction("1e-30"))
    assert found.pld_epsilon == pytest.approx(3, abs=1e-3)


def test_pure_parts_have_the_losses_of_randomised_response() -> None:
    """delta(epsilon') = (e^eps - e^epsilon') / (1 + e^eps) of one epsilon-DP release, solved for epsilon'."""
    found = together("frontier", design_of("frontier", 1000, 1, epsilon="2"), 1, Fraction("0.1"))
    assert found.pld_epsilon == pytest.approx(math.log(math.exp(2) - 0.1 * (1 + math.exp(2))), abs=1e-3)


def test_the_floating_point_gaussian_and_huge_sums_have_no_numerical_total() -> None:
    assert together("gaussian", design_of("gaussian", 1000, 7), 2, DELTA).pld_epsilon is None
    assert together("frontier", design_of("frontier", 1000, 7, epsilon="100"), 11, DELTA).pld_epsilon is None


def test_a_design_that_is_not_complete_is_refused_by_name() -> None:
    with pytest.raises(DesignError, match=r"^selected: topk needs it"):
        together("topk", design_of("topk", 1000, 7, selected=None), 2, DELTA)
