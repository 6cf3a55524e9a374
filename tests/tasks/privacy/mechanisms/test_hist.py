"""The joint release of contribution-bounded counts: privacy over all that one unit can do, error, no split over m."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from brute_selection import neighbours
from exact_geometric import error_bound
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from schemas.audit import Scope
from tasks.privacy.contributions import truncate
from tasks.privacy.design import Design
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.hist import Hist


def design(statements: int, contributions: int, epsilon: str = "1", scope: Scope = Scope.CANDIDATE) -> Design:
    return Design(500, statements, Fraction(epsilon), Fraction("0.05"), scope, contributions=contributions)


@pytest.mark.parametrize("contributions", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_one_unit_moves_the_log_probability_of_every_output_by_at_most_epsilon(
    contributions: int, epsilon: str
) -> None:
    mechanism, counts = Hist.designed(design(3, contributions, epsilon)), (30, 4, 11)
    reachable = [
        other
        for other in neighbours(counts)
        if all(sum(sign * (b - a) > 0 for a, b in zip(counts, other, strict=True)) <= contributions for sign in (1, -1))
    ]
    worst = 0.0
    for output in product((-60, 5, 8, 90), repeat=3):
        here = mechanism.log_probability(output, counts)
        worst = max(worst, *(abs(here - mechanism.log_probability(output, other)) for other in reachable))
    assert 0.99 * float(epsilon) <= worst <= float(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(("statements", "contributions"), [(1, 1), (200, 5), (200, 100), (200, 150), (7, 3)])
def test_a_certificate_exceeds_its_truncated_count_with_probability_at_most_beta(
    statements: int, contributions: int
) -> None:
    for scope in Scope:
        asked = design(statements, contributions, scope=scope)
        mechanism = Hist.designed(asked)
        error = error_bound(mechanism.margin, mechanism.coin, 1 / mechanism.scale)
        assert asked.beta_each * (1 - Fraction(1, 10**12)) <= error <= asked.beta_each
        assert float(mechanism.sensitivity / mechanism.scale) <= 1


@given(arrays.arrays(np.bool_, (6, 5)), st.integers(1, 6))
def test_a_truncated_count_is_never_above_the_true_one(verdicts: np.ndarray, contributions: int) -> None:
    assert np.all(truncate(verdicts, contributions).sum(axis=0) <= verdicts.sum(axis=0))


def test_with_a_bound_of_half_the_statements_or_more_it_is_an_equal_split() -> None:
    for contributions in (5, 8, 100):
        mechanism, split = (
            Hist.designed(design(10, contributions)),
            Frontier.calibrated(Fraction(1, 10), Fraction("0.05")),
        )
        assert float(mechanism.scale) == pytest.approx(float(split.scale), rel=1e-15)
        assert mechanism.margin == split.margin


def test_its_power_does_not_depend_on_the_number_of_statements() -> None:
    few, many = (Hist.designed(design(statements, 2)) for statements in (10, 10_000))
    assert few == many
    assert few.emit_probability(60, 500, Fraction("0.1")) > 0.5 > few.emit_probability(51, 500, Fraction("0.1"))
