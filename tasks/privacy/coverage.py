"""How often a filter emits, between two shares of well supported candidates (arXiv 2609.38934, Theorem 4).

For candidates drawn from a distribution Pi, p_a = Pr[f >= a] and a filter that emits iff f + Z - tau >= theta with
symmetric noise, Pr[Z > tau] <= beta:

    (1 - beta) p_{theta + 2 tau} <= E[EmitRate] <= p_theta + beta (1 - p_theta).

It holds for laplace, laplace_rounded, gaussian, discrete_gaussian, geometric and frontier, tau = margin / n; not for
hist (truncated counts) nor svt and topk (not every candidate is certified).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.parameters import Exact, between, exact, share, whole
from tasks.privacy.thresholds import threshold_units

MISS = 0.001
"""Probability that a finite run leaves the interval by more than the slack, when nothing else is said."""


class CoverageInterval(NamedTuple):
    """lower <= E[EmitRate] <= upper; supported = p_theta, well_supported = p_{theta + 2 tau}."""

    lower: Fraction
    upper: Fraction
    supported: Fraction
    well_supported: Fraction


class CoverageArrays(NamedTuple):
    """As CoverageInterval, elementwise and in doubles."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    supported: NDArray[np.float64]
    well_supported: NDArray[np.float64]


def theorem4_interval(supports: Sequence[Exact], theta: Exact, tau: Exact, beta: Exact) -> CoverageInterval:
    """The interval for candidates drawn uniformly from these supports; exact, ties count as reached.

    Raises ValueError for no support, one outside [0, 1], theta outside [0, 1], tau < 0 or beta outside (0, 1/2).
    """
    known = [share(support, "support") for support in supports]
    if not known:
        raise ValueError("supports: there is none")
    low, high, error = _levels(theta, tau, beta)
    supported = Fraction(sum(support >= low for support in known), len(known))
    well_supported = Fraction(sum(support >= high for support in known), len(known))
    return CoverageInterval(
        (1 - error) * well_supported, supported + error * (1 - supported), supported, well_supported
    )


def theorem4_intervals_of_counts(
    counts: NDArray[np.int64], n: int, theta: Exact, tau: Exact, beta: Exact
) -> CoverageArrays:
    """The intervals for candidates drawn from support counts of n >= 1 units; shape (..., m) -> (...).

    The thresholds ceil(n theta) and ceil(n (theta + 2 tau)) are exact, so ties are. Raises ValueError as
    `theorem4_interval`.
    """
    if counts.shape[-1] == 0:
        raise ValueError("supports: there is none")
    if np.any((counts < 0) | (counts > whole(n, "n", 1, 2**62))):
        raise ValueError("support: a count must be between 0 and n")
    low, high, error = _levels(theta, tau, beta)
    m = counts.shape[-1]
    supported = np.count_nonzero(counts >= threshold_units(n, low), axis=-1) / m
    well_supported = np.count_nonzero(counts >= min(math.ceil(n * high), n + 1), axis=-1) / m
    lower, upper = float(1 - error) * well_supported, supported + float(error) * (1 - supported)
    return CoverageArrays(*map(np.asarray, (lower, upper, supported, well_supported)))


def hoeffding_slack(m: int, miss: float = MISS) -> float:
    """sqrt(ln(2 / miss) / (2 m)): how far the mean of m independent values in [0, 1] strays, except with `miss`.

    Raises ValueError for m < 1 or miss outside (0, 1).
    """
    chance = float(between(miss, "miss", 0, 1))
    return math.sqrt(math.log(2 / chance) / (2 * whole(m, "m", 1, 2**62)))


def emit_probabilities_laplace(
    supports: Sequence[Exact], theta: Exact, scale: Exact, tau: Exact
) -> NDArray[np.float64]:
    """Pr[f + Z - tau >= theta], Z of this scale (a share of the units), for each support; shape (m,).

    At theta = 0 everything is emitted. Raises ValueError as `theorem4_interval`, and for a scale <= 0.
    """
    threshold, margin, width = share(theta, "theta"), _margin(tau), exact(scale, "scale")
    if width <= 0:
        raise ValueError("scale: must be greater than 0")
    short = np.array([float((threshold + margin - share(support, "support")) / width) for support in supports])
    tail = 0.5 * np.exp(-np.abs(short))
    return np.where((short < 0), 1 - tail, tail) if threshold else np.ones_like(short)


def emit_rate_laplace(supports: Sequence[Exact], theta: Exact, scale: Exact, tau: Exact) -> float:
    """E[EmitRate] of the Laplace filter over these supports: the mean of `emit_probabilities_laplace`."""
    if not supports:
        raise ValueError("supports: there is none")
    return math.fsum(emit_probabilities_laplace(supports, theta, scale, tau)) / len(supports)


def _levels(theta: Exact, tau: Exact, beta: Exact) -> tuple[Fraction, Fraction, Fraction]:
    """theta, theta + 2 tau, beta."""
    threshold = share(theta, "theta")
    return threshold, threshold + 2 * _margin(tau), between(exact(beta, "beta"), "beta", 0, Fraction(1, 2))


def _margin(tau: Exact) -> Fraction:
    margin = exact(tau, "tau")
    if margin < 0:
        raise ValueError("tau: must be at least 0")
    return margin
