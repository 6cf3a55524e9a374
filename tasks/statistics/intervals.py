"""Exact confidence intervals of a probability from independent trials (Clopper and Pearson 1934)."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import elementwise

Confidence = Fraction | float


class Interval(NamedTuple):
    """low <= probability <= high, elementwise."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, confidence: Confidence) -> Interval:
    """Two-sided interval that misses the probability with at most 1 - confidence, half of it on each side.

    Integers that broadcast. Exactly 0 below for no success, exactly 1 above for no failure; [0, 1] without trials.
    Raises ValueError for counts that are no integers with 0 <= successes <= trials, or a confidence outside (0, 1).
    """
    miss = _miss(confidence) / 2
    return Interval(_low(successes, trials, miss), _high(successes, trials, miss))


def lower_bound(successes: ArrayLike, trials: ArrayLike, confidence: Confidence) -> NDArray[np.float64]:
    """One-sided: the probability is at least this, except with 1 - confidence. Otherwise as `clopper_pearson`."""
    return _low(successes, trials, _miss(confidence))


def upper_bound(successes: ArrayLike, trials: ArrayLike, confidence: Confidence) -> NDArray[np.float64]:
    """One-sided: the probability is at most this, except with 1 - confidence. Otherwise as `clopper_pearson`."""
    return _high(successes, trials, _miss(confidence))


def _low(successes: ArrayLike, trials: ArrayLike, miss: float) -> NDArray[np.float64]:
    """Where Pr[X >= successes] = miss."""
    good, every = _counts(successes, trials)
    return np.where(good == 0, 0.0, _where(special.betainc, miss, np.maximum(good, 1), every - good + 1))


def _high(successes: ArrayLike, trials: ArrayLike, miss: float) -> NDArray[np.float64]:
    """Where Pr[X <= successes] = miss."""
    good, every = _counts(successes, trials)
    return np.where(good == every, 1.0, _where(special.betaincc, miss, good + 1, np.maximum(every - good, 1)))


def _where(
    chance: Callable[..., NDArray[np.float64]], miss: float, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The p with chance(a, b, p) = miss.

    By bracketing: `stats.beta.ppf` is wrong by factors at 1000 successes in 10^9 trials.
    """
    first, second = (part.astype(np.float64) for part in np.broadcast_arrays(a, b))
    found = elementwise.find_root(
        lambda p, a, b: chance(a, b, p) / miss - 1, (np.zeros_like(first), np.ones_like(first)), args=(first, second)
    )
    if not np.all(found.success):
        raise ArithmeticError("a confidence bound was not found")
    root: NDArray[np.float64] = found.x
    return root


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    good, every = np.asarray(successes), np.asarray(trials)
    if good.dtype.kind not in "iu" or every.dtype.kind not in "iu":
        raise ValueError("successes, trials: must be integers")
    if np.any((good < 0) | (good > every)):
        raise ValueError("successes: must be between 0 and trials")
    return good.astype(np.int64), every.astype(np.int64)


def _miss(confidence: Confidence) -> float:
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise ValueError("confidence: must be greater than 0 and less than 1")
    return float(1 - Fraction(confidence))
