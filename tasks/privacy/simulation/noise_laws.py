"""Seeded noise, vectorised, with the exact laws of the mechanisms up to double precision. For studies only."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = tuple[int, ...]

_TABLE_UP_TO = 3.0  # sigma; below it nearly all normals would need the exact test, and a table is short
_TABLE_SIGMAS = 40  # exp(-800) is 0 in doubles


def two_sided_geometric(rate: float, shape: Shape, rng: np.random.Generator) -> Integers:
    """Pr[G = g] proportional to e^(-rate |g|): the difference of two geometric variables.

    The floor of an exponential variable over `rate` is geometric with a = e^-rate.
    """
    up, down = rng.standard_exponential(shape), rng.standard_exponential(shape)
    up /= rate
    down /= rate
    np.floor(up, out=up)
    np.floor(down, out=down)
    up -= down
    return up.astype(np.int64)


def discrete_gaussian(sigma: float, shape: Shape, rng: np.random.Generator) -> Integers:
    """Pr[Z = z] proportional to exp(-z^2 / (2 sigma^2)) on the integers."""
    if sigma <= _TABLE_UP_TO:
        return _from_table(sigma, shape, rng)
    size = int(np.prod(shape))
    accepted = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        found = _rounded_normals(sigma, size - filled, rng)
        accepted[filled : filled + found.size] = found
        filled += found.size
    return accepted.reshape(shape)


def _from_table(sigma: float, shape: Shape, rng: np.random.Generator) -> Integers:
    edge = int(np.ceil(_TABLE_SIGMAS * sigma))
    values = np.arange(-edge, edge + 1)
    cumulated = np.cumsum(np.exp(-(values**2) / (2 * sigma**2)))
    found: Integers = np.searchsorted(cumulated, rng.random(shape) * cumulated[-1], side="right") - edge
    return found


def _rounded_normals(sigma: float, size: int, rng: np.random.Generator) -> Integers:
    """Rounded normals, thinned to the discrete law: at z the ratio of the laws is at most that at 0.

    The mass of the cell of z is e^(-z^2/2s^2) times the mean over |x| <= 1/2 of cosh(zx/s^2) e^(-x^2/2s^2), which is
    smallest at z = 0; the ratio of the two means is at least (z/2s^2) / sinh(z/2s^2) >= 1 - z^2 / (24 s^4), so few
    candidates need the exact test.
    """
    candidates = np.rint(rng.normal(scale=sigma, size=size))
    luck = rng.random(size)
    squeeze = 1 - (candidates**2 + 1) / (24 * sigma**4)
    unsure = np.flatnonzero(luck > squeeze)
    keep = np.ones(size, dtype=np.bool_)
    keep[unsure] = luck[unsure] <= _cell_ratio(np.abs(candidates[unsure]), sigma)
    return candidates[keep].astype(np.int64)


def _cell_ratio(z: Floats, sigma: float) -> Floats:
    """(cell of 0 / mass at 0) / (cell of z / mass at z), in (0, 1]."""
    centre = ndtr(0.5 / sigma) - ndtr(-0.5 / sigma)
    cell = ndtr((0.5 - z) / sigma) - ndtr((-0.5 - z) / sigma)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = centre * np.exp(-(z**2) / (2 * sigma**2)) / cell
    return np.nan_to_num(ratio, nan=0.0, posinf=0.0)
