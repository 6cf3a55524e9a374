"""Theorem 4's interval: exact ties, the same from counts, and every filter's exact EmitRate inside it."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from designs import mechanism_of
from hypothesis import given
from hypothesis import strategies as st

from tasks.privacy.coverage import (
    emit_probabilities_laplace,
    emit_rate_laplace,
    hoeffding_slack,
    theorem4_interval,
    theorem4_intervals_of_counts,
)
from tasks.privacy.mechanisms import Laplace

FILTERS = ["laplace", "laplace_rounded", "gaussian", "discrete_gaussian", "geometric", "frontier"]
BETA = Fraction("0.05")
shares = st.decimals(0, 1, places=4).map(Fraction)


def test_a_support_that_lies_exactly_on_a_level_counts() -> None:
    low, high = Fraction("0.3"), Fraction("0.29999")
    made = theorem4_interval([low, high], Fraction("0.1"), Fraction("0.1"), BETA)
    assert made.well_supported == Fraction(1, 2) and 0.1 + 2 * 0.1 > 0.3  # doubles would lose it
    assert theorem4_interval([low], low, Fraction(0), BETA).supported == 1


@given(st.integers(1, 500), st.data(), shares, st.decimals(0, "0.3", places=5).map(Fraction))
def test_counts_give_the_same_interval(n: int, data: st.DataObject, theta: Fraction, tau: Fraction) -> None:
    counts = data.draw(st.lists(st.integers(0, n), min_size=1, max_size=20))
    exact = theorem4_interval([Fraction(count, n) for count in counts], theta, tau, BETA)
    found = theorem4_intervals_of_counts(np.array([counts, counts[::-1]]), n, theta, tau, BETA)
    for one, other in zip(exact, found, strict=True):
        assert other.shape == (2,) and other == pytest.approx([float(one)] * 2, rel=1e-14)


def test_levels_of_counts_are_exact_where_doubles_are_not() -> None:
    counts, theta = np.array([6, 7]), Fraction("0.07")
    assert theorem4_intervals_of_counts(counts, 100, theta, Fraction(0), BETA).supported == 0.5
    assert theorem4_intervals_of_counts(counts, 100, Fraction("0.03"), Fraction("0.02"), BETA).well_supported == 0.5
    far = theorem4_intervals_of_counts(np.array([10**9, 10**9 - 1]), 10**9, Fraction(1), Fraction(0), BETA)
    assert far.well_supported == 0.5
    assert theorem4_intervals_of_counts(counts, 100, theta, Fraction(10**30), BETA).lower == 0


@pytest.mark.parametrize("theta", ["0", "0.07", "0.1003", "0.5"])
@pytest.mark.parametrize("name", FILTERS)
def test_the_exact_emit_rate_of_every_filter_lies_inside(name: str, theta: str) -> None:
    n, level = 400, Fraction(theta)
    rng = np.random.default_rng(20261130)
    for epsilon in ("2", "30"):
        mechanism = mechanism_of(name, n, 30, epsilon)
        for counts in (rng.integers(0, n + 1, 30), rng.integers(20, 50, 30), np.full(30, 27), np.full(30, 28)):
            made = theorem4_intervals_of_counts(counts, n, level, mechanism.margin_units / n, BETA)
            rate = mechanism.emit_probabilities(counts.tolist(), n, level).mean()
            assert made.lower * (1 - 1e-12) <= rate <= made.upper * (1 + 1e-12)


def test_the_laplace_rate_is_that_of_the_mechanism() -> None:
    n, epsilon, theta = 1000, Fraction("0.3"), Fraction("0.0507")
    mechanism, counts = Laplace.calibrated(epsilon, BETA), [0, 40, 50, 51, 55, 60, 70, 100, 1000]
    supports = [Fraction(count, n) for count in counts]
    found = emit_probabilities_laplace(supports, theta, 1 / (n * epsilon), mechanism.margin_units / n)
    expected = [mechanism.emit_probability(count, n, theta) for count in counts]
    assert found == pytest.approx(expected, rel=1e-12)
    rate = emit_rate_laplace(supports, theta, 1 / (n * epsilon), mechanism.margin_units / n)
    assert rate == pytest.approx(sum(expected) / len(counts), rel=1e-14)


def test_at_a_threshold_of_0_everything_is_emitted() -> None:
    assert emit_rate_laplace([Fraction(0), Fraction(1)], Fraction(0), Fraction(1, 10), Fraction(1, 2)) == 1


def test_far_tails_are_kept() -> None:
    (chance,) = emit_probabilities_laplace([Fraction(0)], Fraction(1), Fraction(1, 500), Fraction(0))
    assert chance == pytest.approx(0.5 * math.exp(-500), rel=1e-12) and chance > 0


def test_the_slack_is_hoeffding_s() -> None:
    assert hoeffding_slack(200) == math.sqrt(math.log(2000) / 400)
    assert hoeffding_slack(200, 0.05) == pytest.approx(math.sqrt(math.log(40) / 400), rel=1e-15)


@pytest.mark.parametrize("supports", [[], [Decimal("1.1")], [Fraction(-1, 10)], [0.3], [True]])
def test_supports_that_are_none_are_refused(supports: list[object]) -> None:
    with pytest.raises(ValueError, match=r"^supports?:"):
        theorem4_interval(supports, Fraction("0.5"), Fraction("0.1"), BETA)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^supports?:"):
        emit_rate_laplace(supports, Fraction("0.5"), Fraction("0.1"), Fraction("0.1"))  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [[], [-1], [11]])
def test_counts_that_are_none_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match=r"^supports?:"):
        theorem4_intervals_of_counts(np.array(counts, dtype=np.int64), 10, Fraction("0.5"), Fraction("0.1"), BETA)


@pytest.mark.parametrize(
    ("theta", "tau", "beta", "name"),
    [("1.1", "0.1", "0.05", "theta"), ("0.5", "-0.1", "0.05", "tau"), ("0.5", "0.1", "0.5", "beta")],
)
def test_levels_out_of_range_are_refused(theta: str, tau: str, beta: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}:"):
        theorem4_interval([Fraction(1, 2)], Fraction(theta), Fraction(tau), Fraction(beta))


def test_a_scale_a_number_of_samples_and_a_chance_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^scale:"):
        emit_rate_laplace([Fraction(1, 2)], Fraction("0.5"), Fraction(0), Fraction(0))
    with pytest.raises(ValueError, match=r"^m:"):
        hoeffding_slack(0)
    with pytest.raises(ValueError, match=r"^miss:"):
        hoeffding_slack(10, 1.0)
