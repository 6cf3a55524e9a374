"""Priors against scipy's distribution functions and by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tasks.privacy.planning import DEFAULT_PRIOR, BetaMixture, BetaPart, KnownSupports, prior_counts


def test_quantiles_of_a_mixture_are_where_its_distribution_function_has_their_levels() -> None:
    found = np.array(DEFAULT_PRIOR.quantiles(200))
    levels = 0.6 * stats.beta(1, 30).cdf(found) + 0.4 * stats.beta(4, 12).cdf(found)
    assert levels == pytest.approx((np.arange(200) + 0.5) / 200, abs=1e-12)


def test_quantiles_of_known_supports_are_exact() -> None:
    prior = KnownSupports(tuple(Fraction(text) for text in ("0.5", "0.07", "0.3")))
    assert prior.quantiles(3) == [Fraction("0.07"), Fraction("0.3"), Fraction("0.5")]
    assert prior.quantiles(1) == [Fraction("0.3")]
    assert prior.quantiles(6) == [Fraction(text) for text in ("0.07", "0.07", "0.3", "0.3", "0.5", "0.5")]


def test_counts_are_rounded_to_the_nearest_unit_exactly() -> None:
    prior = KnownSupports((Fraction("0.07"), Fraction("0.145")))
    assert sorted(prior_counts(prior, 100, 2)) == [7, 15]  # in doubles 0.145 * 100 is less than 14.5


@given(st.integers(0, 70))
def test_the_spread_order_only_permutes(size: int) -> None:
    prior = KnownSupports(tuple(Fraction(rank, 100) for rank in range(1, 71)))
    ranks = prior_counts(KnownSupports(prior.supports[:size] or (Fraction(0),)), 100, size)
    assert sorted(ranks) == list(range(1, size + 1))


@pytest.mark.parametrize("beginning", [2, 3, 8, 31, 64])
def test_every_beginning_of_the_spread_order_is_spread_over_the_prior(beginning: int) -> None:
    supports = tuple(Fraction(rank, 100) for rank in range(100))
    first = np.sort(prior_counts(KnownSupports(supports), 100, 100)[:beginning])
    gaps = np.diff(np.concatenate([[-1], first, [100]]))
    assert gaps.max() <= 4 * 100 / beginning


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((), "add up to 1"),
        ((BetaPart(Fraction(1, 2), Fraction(1), Fraction(1)),), "add up to 1"),
        ((BetaPart(Fraction(1), Fraction(0), Fraction(1)),), "greater than 0"),
        (tuple(BetaPart(w, Fraction(1), Fraction(1)) for w in (Fraction(3, 2), Fraction(-1, 2))), "greater than 0"),
    ],
)
def test_a_mixture_that_is_no_distribution_is_refused(parts: tuple[BetaPart, ...], says: str) -> None:
    with pytest.raises(ValueError, match=f"^prior: .*{says}"):
        BetaMixture(parts)


@pytest.mark.parametrize("supports", [(), (Fraction(-1, 10),), (Fraction(11, 10), Fraction(0))])
def test_known_supports_must_be_supports(supports: tuple[Fraction, ...]) -> None:
    with pytest.raises(ValueError, match=r"^prior: needs supports between 0 and 1"):
        KnownSupports(supports)
