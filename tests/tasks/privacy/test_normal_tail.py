"""Mills' ratio against mpmath, and the golden normal quantiles."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from tasks.privacy.normal_tail import PI, mills_ratio, upper_tail, z_upper

POINTS = ["0", "1e-5", "0.5", "2", "3.999", "4", "4.001", "7", "20", "100"]


@pytest.mark.parametrize("digits", [50, 100])
@pytest.mark.parametrize("x", POINTS)
def test_mills_ratio_contains_the_true_value_and_is_narrow(x: str, digits: int) -> None:
    found = mills_ratio(Fraction(x), digits)
    with mpmath.workdps(digits + 10):
        point = mpmath.mpf(x)
        true = mpmath.exp(point**2 / 2) * mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(point / mpmath.sqrt(2))
        assert mpmath.mpf(str(found.low)) <= true <= mpmath.mpf(str(found.high))
    assert found.high - found.low <= found.low * Decimal(10) ** (8 - digits)


def test_mills_ratio_falls_across_the_change_of_method() -> None:
    below, here = mills_ratio(Fraction(4) - Fraction(1, 10**30), 50), mills_ratio(Fraction(4), 50)
    slope = 1 - 4 * here.low
    assert below.low > here.high
    assert abs((below.low - here.low) * 10**30 / slope - 1) < Decimal("1e-10")


def test_pi_is_pi() -> None:
    with mpmath.workdps(140):
        assert mpmath.mpf(str(PI.low)) < mpmath.pi < mpmath.mpf(str(PI.high))
        assert mpmath.mpf(str(PI.high)) - mpmath.mpf(str(PI.low)) < mpmath.mpf("1e-107")


@pytest.mark.parametrize("beta", ["1e-300", "1e-9", "0.01", "0.05", "0.3", "0.49"])
def test_the_quantile_is_the_inverse_of_the_tail(beta: str) -> None:
    with mpmath.workdps(400):
        z = mpmath.mpf(z_upper(Fraction(beta)))
        tail, density = mpmath.erfc(z / mpmath.sqrt(2)) / 2, mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
        assert abs(tail - mpmath.mpf(beta)) / density < 1e-14 * z  # the error of z itself
        assert upper_tail(float(z)) == pytest.approx(float(tail), rel=1e-12)


def test_a_beta_below_the_doubles_is_refused() -> None:
    with pytest.raises(ValueError, match="beta"):
        z_upper(Fraction(1, 10**350))


def test_golden_quantiles(shared_dir: Path) -> None:
    cases = json.loads((shared_dir / "golden" / "support.json").read_text())["cases"]
    chosen = [case for case in cases if case["fn"] == "z_upper"]
    assert chosen
    for case in chosen:
        assert z_upper(Fraction(case["args"]["beta"])) == pytest.approx(case["expect"], rel=case["rtol"])
