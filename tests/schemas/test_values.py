"""Numbers of settings are exact, and what is no such number is refused by name."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.errors import UserError
from schemas.values import (
    MAX_DIGITS,
    MAX_EXPONENT,
    Beta,
    Epsilon,
    Theta,
    Whole,
    decimal_text,
    epsilon_of,
    exact_decimal,
    number_written,
    rate_of,
    theta_of,
    whole_number,
)

numbers = st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**9), max_value=10**9)


@settings(deadline=None)
@given(numbers)
def test_the_text_of_a_decimal_is_that_decimal_and_one_for_all_spellings(number: Decimal) -> None:
    assert Decimal(decimal_text(number)) == number
    longer = Decimal(f"{number:f}" + ("00" if "." in f"{number:f}" else ".00"))
    assert decimal_text(longer) == decimal_text(number)


@settings(deadline=None)
@given(st.integers(-(10**MAX_DIGITS) + 1, 10**MAX_DIGITS - 1), st.integers(-MAX_EXPONENT + MAX_DIGITS, 300))
def test_all_sixty_digits_are_kept(digits: int, exponent: int) -> None:
    number = Decimal(digits).scaleb(exponent, Context(prec=100))
    text = decimal_text(exact_decimal(number))
    assert Fraction(text) == Fraction(number) == Fraction(digits) * Fraction(10) ** exponent
    assert len(text) <= 2 * MAX_DIGITS


@settings(deadline=None)
@given(numbers, numbers)
def test_two_decimals_have_one_text_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    assert (decimal_text(one) == decimal_text(other)) == (one == other)
    assert decimal_text(one * 10) != decimal_text(one) or one == 0


def test_digits_beyond_the_28_of_a_default_context_are_not_rounded_away() -> None:
    number = "0.1234567890123456789012345678901234567890"
    assert decimal_text(Decimal(number)) == number.rstrip("0")


@pytest.mark.parametrize(
    ("value", "name"), [(Decimal("NaN"), "cap"), ("0.1", "cap"), (0.1, "epsilon"), (True, "epsilon")]
)
def test_the_value_of_a_flag_is_refused_in_one_line_that_names_it(value: object, name: str) -> None:
    for check in (epsilon_of, theta_of):
        with pytest.raises(UserError, match=f"^{name}: must be") as caught:
            check(value, name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", ["5e-324", "1e300", "1e-300", "0.1", "0"])
def test_far_numbers_keep_their_value(number: str) -> None:
    assert Decimal(decimal_text(exact_decimal(Decimal(number)))) == Decimal(number)


REFUSED = {
    "boolean": (True, "not a boolean"),
    "float": (0.1, "exact decimal"),
    "text": ("0.1", "not text"),
    "none": (None, "not nothing"),
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
        (Whole, 1.0, "digits only"),
        (Whole, Decimal("1e3"), "digits only"),
        (Whole, True, "not a boolean"),
        (Whole, "1", "not text"),
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


ODD_SPELLINGS = [
    "", " ", "1_0", "+1", "1.", ".5", "-.5", " 1", "1 ", "1\n", "\u0661", "\uff11", "1\u0662", "1e", "e5", "1e5.0",
    "1e+", "--1", "- 1", "0x10", "1,5", "1/2", "\u22121", "1e\u0665", "1__0", "\ufeff1", "1\x00", "two",
    "1e9999999999999999999999",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD_SPELLINGS)
def test_a_number_in_another_spelling_is_none(text: str) -> None:
    assert number_written(text) is None


@pytest.mark.parametrize("text", ["0", "20", "-3", "0.5", "-0.25", "1e-5", "2E+3", "1.50e10", "007", "9" * 5000])
def test_a_number_in_plain_digits_is_read_exactly(text: str) -> None:
    number = number_written(text)
    assert number is not None and Decimal(number) == Decimal(text)
    assert isinstance(number, int) is (text.removeprefix("-").isdigit() and len(text) <= 100)


@pytest.mark.parametrize("text", ["nan", "sNaN", "inf", "-Infinity"])
def test_what_is_not_finite_is_read_so_that_it_is_refused_by_that_name(text: str) -> None:
    with pytest.raises(UserError, match=r"^epsilon: must be (a number, not NaN|finite)"):
        epsilon_of(number_written(text), "epsilon")


def test_text_that_is_refused_is_told_how_numbers_are_written() -> None:
    with pytest.raises(UserError, match=r"^epsilon: must be a number, not text: write it in plain digits, as 20, 0.5"):
        epsilon_of("1_0", "epsilon")
    with pytest.raises(ValueError, match="must be a whole number, not text: write it in plain digits, as 20"):
        whole_number("1_0")


@pytest.mark.parametrize("rate", ["0", "-1", "1e-400", "0.00000099", "1e13", "NaN"])
def test_a_rate_at_which_no_hours_can_be_told_is_refused(rate: str) -> None:
    with pytest.raises(UserError, match=r"^pairs_per_second: must be"):
        rate_of(Decimal(rate), "pairs_per_second")


@pytest.mark.parametrize("rate", ["0.000001", "0.5", "1e12"])
def test_a_rate_may_be_slow_and_fast(rate: str) -> None:
    assert rate_of(Decimal(rate), "pairs_per_second") == Decimal(rate)
