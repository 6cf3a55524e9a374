"""Clopper-Pearson intervals against sums of binomial probabilities, far into the tails."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tasks.statistics.intervals import clopper_pearson, lower_bound, upper_bound

CONFIDENCES = [Fraction("0.5"), Fraction("0.95"), Fraction("0.999999"), 1 - Fraction("1e-9")]


def at_most(successes: int, trials: int, p: float) -> float:
    """Pr[X <= successes], X binomial, successes few: (1 - p)^trials times an exact sum."""
    exact, total, term = Fraction(p), Fraction(0), Fraction(1)
    odds = exact / (1 - exact)
    for k in range(successes + 1):
        total += term
        term = term * (trials - k) * odds / (k + 1)
    return math.exp(trials * math.log1p(-p) + math.log(total))


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("trials", [1, 2, 10, 100, 10**5, 10**9])
def test_the_ends_have_the_stated_tails(trials: int, confidence: Fraction) -> None:
    miss = float(1 - confidence) / 2
    for successes in {0, 1, 2, 7, 30} & set(range(min(trials, 31) + 1)):
        low, high = clopper_pearson(successes, trials, confidence)
        assert low <= successes / trials <= high
        if successes:
            assert 1 - at_most(successes - 1, trials, float(low)) == pytest.approx(miss, rel=1e-6, abs=1e-14)
        if successes < trials and float(high) < 0.99:
            assert at_most(successes, trials, float(high)) == pytest.approx(miss, rel=1e-6)


def test_the_bounds_hold_where_the_beta_quantile_of_scipy_does_not() -> None:
    successes, trials, miss = 1000, 10**9, 0.025
    low = lower_bound(successes, trials, 1 - miss)
    # next to Poisson: quantiles of the gamma law
    assert float(low) * trials == pytest.approx(stats.gamma.ppf(miss, successes), rel=1e-6)
    assert float(upper_bound(successes, trials, 1 - miss)) * trials == pytest.approx(
        stats.gamma.isf(miss, successes + 1), rel=1e-6
    )


@pytest.mark.parametrize("method", ["two-sided", "less", "greater"])
def test_scipy_s_own_intervals_agree(method: str) -> None:
    for successes, trials in [(0, 5), (3, 17), (40, 41), (999, 1000), (5, 5)]:
        theirs = stats.binomtest(successes, trials, alternative=method).proportion_ci(0.99, "exact")
        ours = {
            "two-sided": tuple(clopper_pearson(successes, trials, 0.99)),
            "less": (0.0, upper_bound(successes, trials, 0.99)),
            "greater": (lower_bound(successes, trials, 0.99), 1.0),
        }[method]
        assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-15)


def test_ends_are_exact_and_without_trials_nothing_is_known() -> None:
    low, high = clopper_pearson([0, 10, 0], [10, 10, 0], 0.95)
    assert low[0] == 0 and high[1] == 1 and (low[2], high[2]) == (0, 1)
    assert lower_bound(10, 10, 0.95) == pytest.approx(0.05**0.1, rel=1e-12)
    assert upper_bound(0, 10, 0.95) == pytest.approx(1 - 0.05**0.1, rel=1e-12)


def test_arrays_broadcast_and_the_bounds_grow_with_the_successes() -> None:
    low, high = clopper_pearson(np.arange(101)[:, None], [100, 1000], 0.95)
    assert low.shape == high.shape == (101, 2)
    assert (np.diff(low, axis=0) > 0).all() and (np.diff(high, axis=0) >= 0).all()
    assert (low[:, 1] <= low[:, 0]).all()


@pytest.mark.parametrize("trials", [1, 9, 25])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_covers_every_probability_often_enough(trials: int, confidence: float) -> None:
    low, high = clopper_pearson(np.arange(trials + 1), trials, confidence)
    for p in np.linspace(0, 1, 201):
        covered = stats.binom.pmf(np.arange(trials + 1), trials, p)[(low <= p) & (p <= high)].sum()
        assert covered >= confidence - 1e-9


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (1.0, 5), (1, 5.0), (True, 5), ("1", 5)])
def test_what_is_no_count_is_refused(successes: object, trials: object) -> None:
    with pytest.raises(ValueError, match=r"^successes"):
        clopper_pearson(successes, trials, 0.95)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, math.nan, True])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    for function in (clopper_pearson, lower_bound, upper_bound):
        with pytest.raises(ValueError, match=r"^confidence:"):
            function(1, 5, confidence)
