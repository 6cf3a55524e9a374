"""Thresholds in whole units, exact where doubles are not."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.privacy.thresholds import distance, emits, is_vacuous, threshold_units

shares = st.decimals(0, 1, places=6).map(Fraction)


def test_seven_percent_of_a_hundred_is_seven() -> None:
    assert threshold_units(100, Fraction(Decimal("0.07"))) == 7
    assert math.ceil(100 * 0.07) == 8  # what doubles would say


@given(st.integers(0, 10**9), shares)
def test_the_threshold_is_the_smallest_supported_count(n: int, theta: Fraction) -> None:
    t = threshold_units(n, theta)
    assert Fraction(t) >= n * theta > t - 1


@given(st.integers(1, 1000), shares, st.data())
def test_the_distance_is_how_many_units_make_a_statement_unsupported(
    n: int, theta: Fraction, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, n))
    d = distance(count, n, theta)
    assert (d > 0) == (count >= n * theta)
    assert d == 0 or (count - d < n * theta <= count - d + 1) or theta == 0


@pytest.mark.parametrize(("count", "n"), [(-1, 10), (11, 10), (0, -1)])
def test_a_count_outside_the_units_has_no_distance(count: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"count|n must"):
        distance(count, n, Fraction("0.3"))


@pytest.mark.parametrize("theta", [Fraction(-1, 10), Fraction(10000001, 10000000)])
def test_a_threshold_outside_0_to_1_is_refused(theta: Fraction) -> None:
    with pytest.raises(ValueError, match="theta"):
        threshold_units(10, theta)


def test_certificates_are_clipped_before_they_are_compared() -> None:
    assert emits(-5, 10, Fraction(0))
    assert emits(99, 10, Fraction(1))
    assert not emits(6, 100, Fraction("0.07")) and emits(7, 100, Fraction("0.07"))
    assert not emits(0, 0, Fraction(0))


def test_a_release_is_vacuous_when_threshold_and_margin_exceed_the_units() -> None:
    assert not is_vacuous(95, 100, Fraction("0.05"))
    assert is_vacuous(96, 100, Fraction("0.05"))
