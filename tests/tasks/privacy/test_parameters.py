"""Parameters are exact or refused by name."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tasks.privacy.parameters import between, exact, real, share, whole


@pytest.mark.parametrize("value", [Fraction(7, 100), Decimal("0.07")])
def test_decimals_and_fractions_stay_what_they_are(value: Fraction | Decimal) -> None:
    assert exact(value, "x") == real(value, "x") == share(value, "x") == Fraction(7, 100)


def test_a_float_stands_for_its_binary_value_where_it_may_be_given_at_all() -> None:
    assert real(0.1, "x") == Fraction(0.1) != Fraction(1, 10)
    for function in (exact, share):
        with pytest.raises(ValueError, match=r"^x: .*binary float"):
            function(0.1, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, Decimal("NaN"), Decimal("-Infinity"), True, "1", None])
def test_what_is_no_number_is_refused_by_name(wrong: object) -> None:
    for function in (exact, real, share):
        with pytest.raises(ValueError, match=r"^x: "):
            function(wrong, "x")  # type: ignore[arg-type]


def test_ranges_are_kept() -> None:
    assert share(1, "x") == 1 and share(0, "x") == 0
    assert between(Fraction(1, 3), "x", 0, 1) == Fraction(1, 3)
    for outside in (Fraction(-1, 10**9), 1 + Fraction(1, 10**9)):
        with pytest.raises(ValueError, match=r"^x: must be between 0 and 1"):
            share(outside, "x")
    for end in (0, 1):
        with pytest.raises(ValueError, match=r"^x: must be greater than 0 and less than 1"):
            between(end, "x", 0, 1)


def test_whole_numbers_come_as_such() -> None:
    found = whole(np.int64(5), "k", 0, 10)  # type: ignore[arg-type]
    assert found == 5 and type(found) is int
    for wrong in (True, 5.0, "5", -1, 11):
        with pytest.raises(ValueError, match=r"^k: must be"):
            whole(wrong, "k", 0, 10)  # type: ignore[arg-type]
