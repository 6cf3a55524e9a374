"""A bound for a reader errs to the safe side only, and by less than its last digit."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.rounding import (
    at_least,
    at_most,
    chance_at_most,
    double_at_most,
    share_at_least,
    share_at_most,
    written,
)

counts = st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**12)


@given(counts)
def test_a_share_is_rounded_to_the_asked_side_by_less_than_a_digit(count: tuple[int, int]) -> None:
    units, n = count
    low, high = share_at_least(units, n), share_at_most(units, n)
    assert Fraction(low) <= Fraction(units, n) < Fraction(low) + Fraction(1, 10**4)
    assert Fraction(high) - Fraction(1, 10**4) < Fraction(units, n) <= Fraction(high)
    assert len(low) == len(high) == 6


@given(positive)
def test_significant_digits_are_rounded_to_the_asked_side(value: Fraction) -> None:
    low, high = Fraction(at_least(value)), Fraction(at_most(value))
    assert low <= value <= high and high - low <= value / 1000
    assert low > 0


def test_the_figures_that_were_found_rounded_the_wrong_way() -> None:
    assert share_at_least(2281, 4000) == "0.5702"
    assert share_at_most(1105, 4000) == "0.2763"


@pytest.mark.parametrize(
    ("value", "says"),
    [(Fraction(106, 4000), "0.0265"), (Decimal("1e-402"), "1e-402"), (Fraction(1, 3), "0.3334"), (20, "20"), (0, "0")],
)
def test_what_has_few_digits_stays_as_it_is_and_what_is_positive_is_not_nothing(value: Fraction, says: str) -> None:
    assert at_most(value) == says


@given(st.fractions(min_value=Fraction(1, 10**400), max_value=Fraction(1, 10**290)) | positive)
def test_no_positive_number_is_zero_as_a_double(value: Fraction) -> None:
    double = double_at_most(value)
    assert double > 0 and (double == float(value) or Fraction(double) >= value)


def test_a_probability_of_any_size_is_not_said_to_be_less() -> None:
    assert double_at_most(Fraction(1, 10**402)) == 5e-324
    assert chance_at_most(1 - Fraction(1, 10**40)) == "1 - 1e-40"
    assert chance_at_most(Fraction(1, 10**402)) == "1e-402"


def test_a_double_is_the_decimal_that_is_printed_for_it() -> None:
    assert written(0.05) == Decimal("0.05") and at_most(written(0.05)) == "0.05"
