"""Numbers of settings are exact, and what is no such number is refused by name."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.values import Beta, Epsilon, Theta, Whole, decimal_text, exact_decimal, whole_number

numbers = st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**9), max_value=10**9)


@settings(deadline=None)
@given(numbers)
def test_the_text_of_a_decimal_is_that_decimal_and_one_for_all_spellings(number: Decimal) -> None:
    assert Decimal(decimal_text(number)) == number
    longer = Decimal(f"{number:f}" + ("00" if "." in f"{number:f}" else ".00"))
    assert decimal_text(longer) == decimal_text(number)


@pytest.mark.parametrize("number", ["5e-324", "1e300", "1e-300", "0.1", "0"])
def test_far_numbers_keep_their_value(number: str) -> None:
    assert Decimal(decimal_text(exact_decimal(Decimal(number)))) == Decimal(number)


REFUSED = {
    "boolean": (True, "not a boolean"),
    "float": (0.1, "exact decimal"),
    "text": ("0.1", "not str"),
    "none": (None, "not NoneType"),
    "NaN": (Decimal("NaN"), "not NaN"),
    "signalling NaN": (Decimal("sNaN"), "not NaN"),
    "infinity": (Decimal("Infinity"), "must be finite"),
    "minus infinity": (Decimal("-Infinity"), "must be finite"),
    "many digits": (Decimal("0." + "1" * 61), "at most 60 digits"),
    "huge exponent": (Decimal("1e-999999"), "exponent within 400"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_exact_number_is_refused_by_name(kind: str) -> None:
    value, says = REFUSED[kind]
    with pytest.raises(ValueError, match=says):
        exact_decimal(value)


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (Epsilon, Decimal(0), "greater than 0"),
        (Epsilon, Decimal(-1), "greater than 0"),
        (Epsilon, Decimal(1000), "less than 1000"),
        (Beta, Decimal(0), "greater than 0"),
        (Beta, Decimal("0.5"), "less than 0.5"),
        (Theta, Decimal("-0.01"), "between 0 and 1"),
        (Theta, Decimal("1.01"), "between 0 and 1"),
        (Whole, 1.0, "not float"),
        (Whole, True, "not a boolean"),
        (Whole, "1", "not str"),
    ],
)
def test_a_number_outside_its_range_is_refused_by_name(kind: object, value: object, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize("value", [Decimal("0"), Decimal("1"), Decimal("0.07")])
def test_a_threshold_may_be_at_either_end(value: Decimal) -> None:
    assert TypeAdapter(Theta).validate_python(value) == value


@settings(deadline=None)
@given(st.integers())
def test_an_integer_stays_itself(number: int) -> None:
    assert whole_number(number) == number
