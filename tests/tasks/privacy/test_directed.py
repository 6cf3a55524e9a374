"""Directed arithmetic against exact fractions, and against mpmath with 120 digits."""

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from tasks.privacy.directed import Directed

numbers = st.fractions(-1000, 1000, max_denominator=10**6)
positive = st.fractions(Fraction(1, 10**6), 1000, max_denominator=10**6)
NARROW = Fraction(1, 10**10)


@given(numbers, numbers, positive)
def test_sums_products_and_quotients_contain_the_exact_value(a: Fraction, b: Fraction, c: Fraction) -> None:
    directed = Directed(12)
    x, y, z = directed.of(a), directed.of(b), directed.of(c)
    for found, exact in (
        (x, a),
        (directed.add(x, y, z), a + b + c),
        (directed.subtract(x, y), a - b),
        (directed.multiply(x, y), a * b),
        (directed.divide(z, directed.of(abs(a) + 1)), c / (abs(a) + 1)),
    ):
        assert Fraction(found.low) <= exact <= Fraction(found.high)
        assert Fraction(found.high) - Fraction(found.low) <= NARROW * (1000 + abs(exact))


@given(numbers, positive)
def test_exp_ln_and_sqrt_contain_the_true_value(a: Fraction, c: Fraction) -> None:
    directed = Directed(12)
    with mpmath.workdps(120):
        exponent, argument = (mpmath.mpf(v.numerator) / v.denominator for v in (a, c))
        for found, true in (
            (directed.exp(directed.of(a)), mpmath.exp(exponent)),
            (directed.ln(directed.of(c)), mpmath.log(argument)),
            (directed.sqrt(directed.of(c)), mpmath.sqrt(argument)),
        ):
            assert mpmath.mpf(str(found.low)) <= true <= mpmath.mpf(str(found.high))
            assert mpmath.mpf(str(found.high)) - mpmath.mpf(str(found.low)) <= 1e-7 * abs(true) + 1e-11


def test_nothing_underflows_to_a_wrong_zero() -> None:
    tiny = Directed(12).exp(Directed(12).of(Fraction(-(10**16))))
    assert 0 < tiny.low < tiny.high
