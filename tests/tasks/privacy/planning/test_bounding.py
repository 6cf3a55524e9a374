"""What contribution bounding keeps, against the enumeration of all that a unit can support."""

import numpy as np
import pytest
from scipy import stats

from tasks.privacy.contributions import truncate
from tasks.privacy.planning.bounding import bounded_counts, kept_shares
from tests.enumerated_contributions import enumerated_shares

SUPPORTS = [0.05, 0.9, 0.5, 0.3, 0.3, 0.75, 0.0]


@pytest.mark.parametrize("supports", [SUPPORTS, [0.2], [1.0, 1.0, 0.0, 0.5], [0.5] * 8, [1.0] * 6])
def test_the_shares_that_are_kept_are_those_of_the_enumeration(supports: list[float]) -> None:
    bounds = [1, 2, 3, len(supports)]
    found = kept_shares(supports, bounds)
    for bound, shares in zip(bounds, found, strict=True):
        assert shares == pytest.approx(enumerated_shares(supports, bound), abs=1e-12)


def test_many_statements_lose_as_much_as_their_number_says() -> None:
    """All alike with support f: sum of f kept = E[min(S, C)], S binomial."""
    m, f, bound = 3000, 0.13, 380
    (shares,) = kept_shares([f] * m, [bound])
    number = np.arange(m + 1)
    expected = float(stats.binom(m, f).pmf(number) @ np.minimum(number, bound))
    assert m * f * shares == pytest.approx(np.full(m, expected), rel=1e-9)


@pytest.mark.statistical  # fixed seed; a right share fails with probability below 1e-6, over seeds
def test_the_shares_are_those_of_the_truncation_that_a_release_does() -> None:
    rng, n = np.random.default_rng(20261130), 200_000
    verdicts = rng.random((n, len(SUPPORTS))) < SUPPORTS
    counted = truncate(verdicts, 2, rng.random(verdicts.shape)).sum(axis=0)
    expected = np.array(SUPPORTS) * kept_shares(SUPPORTS, [2])[0]
    assert np.abs(counted / n - expected).max() <= 5.2 * np.sqrt(0.25 / n)  # at most 5.2 standard errors


def test_bounded_counts_are_rounded_down() -> None:
    assert bounded_counts([10, 10, 7, 0], np.array([1.0, 0.3, 0.5, 0.2])) == [10, 3, 3, 0]


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^contributions: must be at least 1"):
        kept_shares([0.5], [0])
