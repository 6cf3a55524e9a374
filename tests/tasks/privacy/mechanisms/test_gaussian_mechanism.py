"""The Gaussian filter against the golden values, and the one-vector calibration."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tasks.privacy.accounting import Loss
from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms.gaussian import Gaussian

DESIGN = Design(
    n=1268, statements=200, epsilon=Fraction(10), delta=Fraction(1, 10**5), beta=Fraction(1, 20), theta=None
)


def test_golden_margin_and_emission_probabilities(shared_dir: Path) -> None:
    cases = json.loads((shared_dir / "golden" / "support.json").read_text())["cases"]
    n, seen = 1000, set()
    for case in (case for case in cases if case["fn"] in {"gaussian_margin", "emit_probability_gaussian"}):
        args = case["args"]
        mechanism = Gaussian(Fraction(args["sigma"]) * n, Fraction(args["beta"]))
        if case["fn"] == "gaussian_margin":
            found = float(mechanism.margin_units / n)
        else:
            count = Fraction(args["f"]) * n
            found = mechanism.emit_probability(int(count), n, Fraction(args["theta"]))
        assert found == pytest.approx(case["expect"], rel=case["rtol"], abs=0)
        seen.add(case["fn"])
    assert len(seen) == 2


def test_the_counts_are_one_vector_and_each_has_its_share_of_beta() -> None:
    mechanism = Gaussian.designed(DESIGN)
    assert float(mechanism.sigma) == pytest.approx(0.4998886197090085 * math.sqrt(200), rel=1e-12)
    assert mechanism.beta == Fraction(1, 20) / 200
    assert Gaussian.loss(DESIGN) == Loss(Fraction(10), Fraction(1, 10**5))


def test_the_largest_unsupported_count_is_emitted_with_probability_below_beta() -> None:
    mechanism, theta = Gaussian(Fraction(4), Fraction("0.05")), Fraction("0.05")
    assert mechanism.emit_probability(50, 1000, theta) == pytest.approx(0.05, rel=1e-12)
    assert mechanism.emit_probability(49, 1000, theta) < 0.05
    chances = [mechanism.emit_probability(count, 1000, theta) for count in range(1001)]
    assert chances == sorted(chances) and chances[-1] == 1


def test_the_threshold_is_exact() -> None:
    """n theta = 7 exactly, in doubles a little more; and L is compared with theta itself, not with the next unit."""
    sharp = Gaussian(Fraction(1, 10**13), Fraction("0.05"))
    assert sharp.emit_probability(7, 100, Fraction("0.07")) == pytest.approx(0.05, rel=1e-12)
    mechanism, z = Gaussian(Fraction(3), Fraction("0.05")), stats.norm.isf(0.05)
    assert mechanism.emit_probability(64, 1268, Fraction("0.05")) == pytest.approx(
        stats.norm.sf(-0.6 / 3 + z), rel=1e-12
    )


def test_its_log_densities_are_the_normal_ones() -> None:
    mechanism = Gaussian(Fraction(3), Fraction("0.05"))
    margin, outputs = float(mechanism.margin_units), np.linspace(-20, 40, 7)
    found = mechanism.log_probabilities(outputs, np.array(10))
    assert found == pytest.approx(stats.norm.logpdf(outputs, loc=10 - margin, scale=3))


def test_it_is_for_simulation_and_needs_a_delta() -> None:
    assert not Gaussian.releasable
    without = Design(n=10, statements=2, epsilon=Fraction(1), beta=Fraction(1, 20))
    for ask in (Gaussian.designed, Gaussian.loss):
        with pytest.raises(DesignError, match=r"^delta: gaussian needs it"):
            ask(without)


def test_everything_is_emitted_at_theta_0_and_nothing_without_units() -> None:
    mechanism = Gaussian(Fraction(3), Fraction("0.05"))
    assert mechanism.emit_probability(0, 100, Fraction(0)) == 1
    assert mechanism.emit_probability(0, 0, Fraction(0)) == 0
