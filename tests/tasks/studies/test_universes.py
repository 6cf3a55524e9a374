"""Universes: known supports, from a seed or a rule."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from schemas.errors import UserError
from tasks.studies.universes import synthetic, worst_case


def test_a_synthetic_universe_is_its_seed() -> None:
    counts = synthetic(10_000, 1_000, 3).counts()
    assert counts.shape == (1_000,) and counts.min() >= 0 and counts.max() <= 10_000
    assert np.array_equal(counts, synthetic(10_000, 1_000, 3).counts())
    assert not np.array_equal(counts, synthetic(10_000, 1_000, 4).counts())


@pytest.mark.statistical  # fixed seed; right supports fail with probability 2e-6 over seeds
def test_six_of_ten_supports_are_rare() -> None:
    supports = synthetic(10**9, 10_000, 20261130).counts() / 10**9
    assert stats.kstest(supports[:6_000], stats.beta(1, 30).cdf).pvalue > 1e-6
    assert stats.kstest(supports[6_000:], stats.beta(4, 12).cdf).pvalue > 1e-6


@pytest.mark.parametrize(("n", "theta", "count"), [(100, "0.07", 6), (1000, "0.05", 49), (3, "1", 2), (10, "0.001", 0)])
def test_the_worst_case_lies_one_unit_below_theta_exactly(n: int, theta: str, count: int) -> None:
    assert worst_case(n, 7, Fraction(theta)).counts().tolist() == [count] * 7


def test_nothing_lies_below_theta_0() -> None:
    with pytest.raises(UserError, match="theta: at 0 everything is supported"):
        worst_case(10, 7, Fraction(0))


@pytest.mark.parametrize("universe", [synthetic(300, 50, 1), worst_case(300, 20, Fraction("0.1"))])
def test_as_many_units_support_a_statement_as_its_count_says(universe) -> None:
    verdicts = universe.verdicts()
    assert verdicts.shape == (universe.n, universe.statements)
    assert np.array_equal(verdicts.sum(axis=0), universe.counts())
    assert universe.priorities().shape == verdicts.shape


def test_statements_have_supporters_of_their_own() -> None:
    verdicts = worst_case(300, 20, Fraction("0.1")).verdicts()
    assert len({row.tobytes() for row in verdicts.T}) == 20
