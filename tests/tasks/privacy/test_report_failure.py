"""The error of a whole report, exact also where it is tiny, and the margins of the paper."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.audit import Scope
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import Frontier, Laplace
from tasks.privacy.report_failure import any_failure_probability, laplace_margin_two_sided, tau_fw_paper


@given(st.lists(st.floats(0, 1), max_size=30))
def test_it_is_one_minus_the_product_of_what_goes_well(chances: list[float]) -> None:
    exact = 1 - math.prod((1 - Fraction(p) for p in chances), start=Fraction(1))
    assert any_failure_probability(chances) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_tiny_chances_are_not_lost() -> None:
    assert any_failure_probability([1e-30] * 1000) == pytest.approx(1e-27, rel=1e-12)
    assert any_failure_probability([0.0, 1.0]) == 1.0 and any_failure_probability([]) == 0.0


@pytest.mark.parametrize("m", [1, 7, 200])
def test_independent_shares_of_beta_spend_all_of_it_just_below_the_threshold(m: int) -> None:
    design = Design(1800, m, Fraction(10), Fraction("0.05"), Scope.REPORT_INDEPENDENT)
    chance = Frontier.calibrated(design.epsilon_each, design.beta_each).emit_probability(89, 1800, Fraction("0.05"))
    assert any_failure_probability(np.full(m, chance)) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1268, 200), (1800, 1), (10**9, 1000)])
def test_the_paper_s_margins_are_wider_by_ln_2_scales_than_the_sharp_ones(n: int, m: int) -> None:
    design = Design(n, m, Fraction(10), Fraction("0.05"), Scope.REPORT)
    sharp, scale = float(Laplace.designed(design).margin_units) / n, m / (n * 10)
    assert tau_fw_paper(n, m, Fraction(10), Fraction("0.05")) == pytest.approx(sharp + scale * math.log(2), rel=1e-12)
    two_sided = laplace_margin_two_sided(n, design.epsilon_each, design.beta_each)
    assert two_sided == pytest.approx(tau_fw_paper(n, m, Fraction(10), Fraction("0.05")), rel=1e-14)


def test_the_margin_holds_at_extremes() -> None:
    found = laplace_margin_two_sided(10**9, Fraction("1e-6"), Fraction("1e-9"))
    assert found == pytest.approx(9 * math.log(10) / 1000, rel=1e-14)


@pytest.mark.parametrize("chances", [[-0.1], [1.1], [math.nan], [0.5, math.inf]])
def test_what_is_no_probability_is_refused(chances: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^probabilities:"):
        any_failure_probability(chances)


@pytest.mark.parametrize(
    ("n", "m", "epsilon", "beta", "name"),
    [
        (0, 1, "1", "0.05", "n"),
        (1, 0, "1", "0.05", "m"),
        (1, 1, "0", "0.05", "epsilon"),
        (1, 1, "1", "0.5", "beta"),
        (1, 1, "1", "0", "beta"),
    ],
)
def test_margins_out_of_range_are_refused(n: int, m: int, epsilon: str, beta: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}:"):
        tau_fw_paper(n, m, Fraction(epsilon), Fraction(beta))
