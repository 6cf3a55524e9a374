"""Privacy-loss totals: what they must be for one part, below basic composition, above nothing else."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tasks.privacy.analytic_gaussian import gaussian_delta
from tasks.privacy.pld import GaussianPart, LaplacePart, pld_epsilon
from tasks.privacy.zcdp import largest_rho, smallest_epsilon

DELTA = Fraction(1, 10**5)


def vector_delta(sigma: float, counts: int, epsilon: float) -> float:
    """Exact delta when all counts move by 1: the loss is (counts - 2 S) / (2 sigma^2), S the sum of the noises."""
    edge = int(12 * sigma) + 2
    one = np.exp(-(np.arange(-edge, edge + 1.0) ** 2) / (2 * sigma**2))
    law = one = one / one.sum()
    for _ in range(counts - 1):
        law = np.convolve(law, one)
    sums = np.arange(law.size) - counts * edge
    loss = (counts - 2.0 * sums) / (2 * sigma**2)
    return float((law * -np.expm1(np.minimum(epsilon - loss, 0))).sum())


def test_one_count_loses_what_its_two_probabilities_say() -> None:
    """delta(epsilon) of one discrete Laplace count of rate r is (1 - e^(epsilon - r)) / (1 + e^-r)."""
    rate = 1.5
    epsilon = rate + math.log1p(-1e-3 * (1 + math.exp(-rate)))
    assert pld_epsilon([LaplacePart(Fraction(rate), 1)], Fraction(1, 1000)) == pytest.approx(epsilon, abs=1e-6)


def test_many_counts_lose_what_as_many_coins_lose() -> None:
    """A count's loss is +rate with probability 1 / (1 + e^-rate), else -rate."""
    rate, times = 0.05, 200
    epsilon = pld_epsilon([LaplacePart(Fraction(1, 20), times)], DELTA)
    losses, chances = (
        rate * (2 * np.arange(times + 1) - times),
        stats.binom.pmf(np.arange(times + 1), times, 1 / (1 + math.exp(-rate))),
    )
    for at, more in ((epsilon, False), (epsilon - 1e-3, True)):
        exact = float((chances * -np.expm1(np.minimum(at - losses, 0))).sum())
        assert (exact > float(DELTA) * (1 + 1e-6)) is more


def test_the_grid_follows_a_part_that_loses_little() -> None:
    sigma, counts = 5000, 1000
    epsilon = pld_epsilon([GaussianPart(Fraction(sigma), counts)], DELTA)
    moved = Fraction(math.sqrt(counts))
    assert gaussian_delta(Fraction(sigma), Fraction(epsilon), moved) <= float(DELTA)
    assert gaussian_delta(Fraction(sigma), Fraction(epsilon * 0.98), moved) > float(DELTA)


@pytest.mark.parametrize(("sigma", "counts"), [(1.0, 1), (3.0, 5), (7.9, 40)])
def test_a_gaussian_vector_has_the_exact_delta_of_its_counts(sigma: float, counts: int) -> None:
    epsilon = pld_epsilon([GaussianPart(Fraction(sigma), counts)], DELTA)
    assert vector_delta(sigma, counts, epsilon) <= float(DELTA) * (1 + 1e-9)
    assert vector_delta(sigma, counts, epsilon - 2e-3) > float(DELTA)


def test_a_plan_costs_less_than_the_sum_of_its_parts() -> None:
    parts = [LaplacePart(Fraction(1, 20), 200), GaussianPart(Fraction(50), 100)]
    total = pld_epsilon(parts, DELTA)
    rho = 200 * Fraction(1, 20) ** 2 / 2 + Fraction(100, 2 * 50**2)
    assert total < 10
    assert total < float(smallest_epsilon(rho, DELTA))
    assert total > max(pld_epsilon([part], DELTA) for part in parts)


def test_a_release_calibrated_by_zcdp_stays_below_its_epsilon() -> None:
    rho = largest_rho(Fraction(1), DELTA)
    sigma = Fraction(math.sqrt(20 / (2 * rho)))
    assert 0.8 < pld_epsilon([GaussianPart(sigma, 20)], DELTA) < 1


def test_nothing_costs_nothing_and_delta_is_checked() -> None:
    assert pld_epsilon([], DELTA) == 0
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="delta"):
            pld_epsilon([], delta)
