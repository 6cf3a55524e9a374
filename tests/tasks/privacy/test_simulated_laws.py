"""Seeded noise against its exact law."""

import numpy as np
import pytest
from scipy import stats

from tasks.privacy.simulation.noise_laws import _cell_ratio, discrete_gaussian, two_sided_geometric

DRAWS = 400_000


def fits(drawn: np.ndarray, weights: np.ndarray, edge: int) -> bool:
    """Chi-square at 1e-6 on the values within `edge`, the tails pooled."""
    law = weights / weights.sum()
    middle = len(weights) // 2
    inner = law[middle - edge : middle + edge + 1]
    expected = DRAWS * np.array([law[: middle - edge].sum(), *inner, law[middle + edge + 1 :].sum()])
    observed = np.bincount(np.clip(drawn, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    keep = expected > 5
    assert keep.sum() > 2
    expected = expected[keep] * observed[keep].sum() / expected[keep].sum()
    return bool(stats.chisquare(observed[keep], expected).pvalue > 1e-6)


@pytest.mark.statistical  # fixed seed; a right sampler fails with probability 1e-6 a case, over seeds
@pytest.mark.parametrize("rate", [0.02, 0.5, 3.0])
def test_the_two_sided_geometric_follows_its_law(rate: float) -> None:
    values = np.arange(-3000, 3001)
    drawn = two_sided_geometric(rate, (DRAWS,), np.random.default_rng(1))
    assert fits(drawn, np.exp(-rate * np.abs(values)), int(4 / rate) + 2)


@pytest.mark.statistical  # fixed seed; a right sampler fails with probability 1e-6 a case, over seeds
@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.9, 3.1, 8.0, 40.0])
def test_the_discrete_gaussian_follows_its_law(sigma: float) -> None:
    values = np.arange(-2000, 2001)
    drawn = discrete_gaussian(sigma, (DRAWS,), np.random.default_rng(2))
    assert fits(drawn, np.exp(-(values**2) / (2 * sigma**2)), int(3.5 * sigma) + 1)


@pytest.mark.parametrize("sigma", [3.1, 5.0, 100.0, 1e4])
def test_thinned_rounded_normals_have_exactly_the_discrete_law(sigma: float) -> None:
    """Chance of a candidate times chance to keep it, against the law; and what is kept untested is kept for certain."""
    z = np.arange(0, int(6 * sigma), max(1, int(sigma / 50)))
    ratio = _cell_ratio(z.astype(np.float64), sigma)
    cell = stats.norm.cdf(-(z - 0.5) / sigma) - stats.norm.cdf(-(z + 0.5) / sigma)
    law = np.exp(-(z**2) / (2 * sigma**2))
    assert cell * ratio / (cell[0] * ratio[0]) == pytest.approx(law, rel=1e-9)
    assert ratio[0] == 1 and (1 - (z**2 + 1) / (24 * sigma**4) <= ratio + 1e-10).all()  # doubles


def test_rounded_normals_alone_would_fail_where_the_grid_matters() -> None:
    sigma, values = 1.0, np.arange(-2000, 2001)
    rounded = np.rint(np.random.default_rng(3).normal(scale=sigma, size=DRAWS)).astype(np.int64)
    assert not fits(rounded, np.exp(-(values**2) / (2 * sigma**2)), 4)
