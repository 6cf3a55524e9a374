"""Words for units, and figures that are never rounded in the certificate's favour."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reporting.wording import Units, exact_percent, lower_percent, proposed, union_bound, upper_percent


def share(text: str) -> Fraction:
    number, sign = text.split("\N{NO-BREAK SPACE}")
    assert sign == "%"
    return Fraction(number) / 100


counts = st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_a_lower_bound_is_rounded_down_and_a_margin_up_by_less_than_a_digit(count: tuple[int, int]) -> None:
    units, n = count
    digit = Fraction(1, 1000 if n <= 1000 else 10_000)
    assert 0 <= Fraction(units, n) - share(lower_percent(units, n)) < digit
    assert 0 <= share(upper_percent(units, n)) - Fraction(units, n) < digit


@given(st.decimals(0, 1, places=12))
def test_a_threshold_is_written_exactly(theta: Decimal) -> None:
    assert share(exact_percent(str(theta))) == Fraction(theta)


def test_a_long_threshold_is_written_exactly_too() -> None:
    assert (
        exact_percent("0.1234567890123456789012345678901234567")
        == "12.34567890123456789012345678901234567\N{NO-BREAK SPACE}%"
    )


def test_a_partition_without_units_has_no_share() -> None:
    assert share(lower_percent(0, 0)) == 0


@pytest.mark.parametrize(("beta", "times", "total"), [("0.05", 3, "0.15"), ("0.1", 3, "0.3"), ("0.05", 200, "1")])
def test_the_union_bound_is_exact_and_at_most_one(beta: str, times: int, total: str) -> None:
    assert union_bound(beta, times) == total


def test_claims_of_a_released_text_are_not_said_to_be_proposed_blind() -> None:
    assert proposed("tag_template court-cases seed 0") == "They were proposed without looking at the text"
    said = proposed("claims of a released text, sha256 00; extractor x; declared origin: tag_template")
    assert "released before, as its user declares; nobody checked that" in said and "without looking" not in said


@pytest.mark.parametrize("column", ["author", "user_id", "who", "series", "_id"])
def test_units_are_called_units_whatever_their_column_is_called(column: str) -> None:
    """'271 whos' is no English."""
    units = Units(column, "any")
    assert (units.one, units.many) == ("unit", "units")
    assert (units.counted(1), units.counted(1800)) == ("1 unit", "1,800 units")
    assert units.introduced(1800) == f"1,800 units (column {column})"


def test_records_are_called_records() -> None:
    records = Units("record", "any")
    assert (records.one, records.introduced(1), records.introduced(271)) == ("record", "1 record", "271 records")


def test_user_units_are_counted_and_never_their_records() -> None:
    assert Units("author", "any").supporting == "units with at least one record that supports the statement"
    assert Units("author", "all").supporting == "units all of whose records support the statement"
    assert Units("record", "any").supporting == "records that support the statement"
