"""Certificates through a proxy are exact decimals."""

from decimal import Decimal
from fractions import Fraction

import pytest

from tasks.privacy.proxy import proxy_certificate


def test_a_bound_that_meets_the_threshold_exactly_is_emitted() -> None:
    made = proxy_certificate(Decimal("0.3"), Decimal("0.2"), Decimal("0.1"), Decimal("0.05"))
    assert made.lower_bound == Fraction("0.1") and made.emit and made.failure == Fraction("0.05")
    assert not proxy_certificate(Decimal("0.3"), Decimal("0.2"), Decimal("0.1000000001"), Decimal("0.05")).emit
    assert 0.3 - 0.2 < 0.1  # doubles would abstain


def test_a_negative_bound_is_clipped_before_it_is_compared() -> None:
    made = proxy_certificate(Fraction("0.1"), Fraction("0.2"), Fraction(0), Fraction(0))
    assert made.lower_bound == Fraction("-0.1") and made.emit
    assert not proxy_certificate(Fraction("0.1"), Fraction("0.2"), Fraction("0.01"), Fraction(0)).emit


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (("1.1", "0.1", "0.1", "0.1"), "f_proxy"),
        (("0.1", "-0.1", "0.1", "0.1"), "gamma_plus"),
        (("0.1", "0.1", "1.1", "0.1"), "theta"),
        (("0.1", "0.1", "0.1", "1"), "eta"),
        (("0.1", "0.1", "0.1", "-0.1"), "eta"),
    ],
)
def test_arguments_out_of_range_are_refused(values: tuple[str, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}:"):
        proxy_certificate(*map(Fraction, values))


@pytest.mark.parametrize("place", range(4))
def test_floats_are_refused_for_they_are_rounded_already(place: int) -> None:
    values: list[object] = [Fraction("0.1")] * 4
    values[place] = 0.1
    with pytest.raises(ValueError, match="float"):
        proxy_certificate(*values)  # type: ignore[arg-type]
