"""The analytic Gaussian mechanism against mpmath, the golden values and dp_accounting."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from tasks.privacy.analytic_gaussian import gaussian_delta, gaussian_sigma, joint_sigma, split_sigma

EPSILONS = ["1e-12", "1e-6", "0.001", "0.1", "1", "10", "50", "999"]
DELTAS = ["1e-300", "1e-12", "1e-5", "0.1", "0.9"]


def exact_delta(sigma: float, epsilon: str) -> mpmath.mpf:
    """Theorem 8 as it is printed, sensitivity 1; call it with enough digits."""
    s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
    upper, lower = 1 / (2 * s) - e * s, -1 / (2 * s) - e * s
    return (mpmath.erfc(-upper / mpmath.sqrt(2)) - mpmath.exp(e) * mpmath.erfc(-lower / mpmath.sqrt(2))) / 2


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sigma_is_never_below_the_exact_one_and_at_most_1e_12_above(epsilon: str, delta: str) -> None:
    sigma = gaussian_sigma(Fraction(epsilon), Fraction(delta), Fraction(1))
    with mpmath.workdps(420):
        assert exact_delta(sigma, epsilon) <= mpmath.mpf(delta)
        assert exact_delta(mpmath.mpf(sigma) * (1 - mpmath.mpf("1e-12")), epsilon) > mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sigma", [0.02, 0.5, 3.0, 1e3, 1e7])
def test_delta_is_exact_to_the_last_digits(epsilon: str, sigma: float) -> None:
    with mpmath.workdps(420):
        expected = exact_delta(sigma, epsilon)
    found = gaussian_delta(Fraction(sigma), Fraction(epsilon), Fraction(1))
    assert found == pytest.approx(float(expected), rel=1e-14, abs=1e-320)


def test_only_the_ratio_of_sigma_and_sensitivity_counts() -> None:
    one = gaussian_delta(Fraction(3), Fraction(1, 2), Fraction(2))
    assert one == gaussian_delta(Fraction(3, 1000), Fraction(1, 2), Fraction(2, 1000))
    assert joint_sigma(Fraction(1), Fraction(1, 10**5), 50, 16) == pytest.approx(
        gaussian_sigma(Fraction(1), Fraction(1, 10**5), Fraction(1)) * 4 / 50, rel=1e-14
    )


def test_one_vector_needs_far_less_noise_than_a_split() -> None:
    joint, split = (sigma(Fraction(10), Fraction(1, 10**5), 1268, 200) for sigma in (joint_sigma, split_sigma))
    assert joint * 11 < split


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (10.0, 1e-5)])
def test_dp_accounting_finds_the_same_sigma(epsilon: float, delta: float) -> None:
    from dp_accounting import gaussian_mechanism

    theirs = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
    assert gaussian_sigma(Fraction(epsilon), Fraction(delta), Fraction(1)) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "square"), [("0", "0.1", 1), ("1", "0", 1), ("1", "1", 1), ("1", "0.1", 0)]
)
def test_values_out_of_range_are_refused(epsilon: str, delta: str, square: int) -> None:
    with pytest.raises(ValueError, match="must be greater than 0"):
        gaussian_sigma(Fraction(epsilon), Fraction(delta), Fraction(square))
    with pytest.raises(ValueError, match="must be greater than 0"):
        gaussian_delta(Fraction(0), Fraction(1), Fraction(1))


FUNCTIONS = {
    "gaussian_delta": lambda a: gaussian_delta(Fraction(a["sigma"]), Fraction(a["eps"]), Fraction(a["sensitivity"])),
    "gaussian_sigma": lambda a: gaussian_sigma(
        Fraction(a["eps"]), Fraction(a["delta"]), Fraction(a["sensitivity"]) ** 2
    ),
    "gaussian_sigma_joint": lambda a: joint_sigma(Fraction(a["eps_tot"]), Fraction(a["delta"]), a["n"], a["m"]),
    "gaussian_sigma_split": lambda a: split_sigma(Fraction(a["eps_tot"]), Fraction(a["delta"]), a["n"], a["m"]),
}


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_golden_values(fn: str, shared_dir: Path) -> None:
    cases: list[dict[str, Any]] = json.loads((shared_dir / "golden" / "support.json").read_text())["cases"]
    chosen = [case for case in cases if case["fn"] == fn]
    assert chosen
    for case in chosen:
        if "raises" in case:
            with pytest.raises(ValueError, match="delta"):
                FUNCTIONS[fn](case["args"])
        else:
            assert FUNCTIONS[fn](case["args"]) == pytest.approx(case["expect"], rel=case["rtol"], abs=0)
