"""AboveThreshold with cutoff k (Lyu, Su and Li 2017, arXiv:1603.01699, Algorithm 1): scales, exact laws, decisions.

Statement j, in public order, is selected iff N_j + nu_j >= t + rho; it stops after k selected. rho is drawn once, at
scale 1 / eps_1, the nu_j afresh, at scale 2k / eps_2. Whole counts move both ways when a unit is replaced, so the
halved scale k / eps_2 of monotone queries is not allowed.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.quadrature import integral_nodes, sum_nodes

Floats = NDArray[np.float64]
# x -> (Pr[nu >= x], Pr[nu < x]), both to full relative precision
Tails = Callable[[Floats], tuple[Floats, Floats]]

_SCALES = 38  # of the threshold noise on each side: Pr[|rho| > 38 scales] < 1e-16
_NEGLIGIBLE = 1e-22  # probability that is dropped for good, once for each statement and node
_ROOT_DIGITS = 15


def optimal_split(epsilon: Fraction, selected: int) -> tuple[Fraction, Fraction]:
    """eps_1 : eps_2 = 1 : (2k)^(2/3), eps_1 + eps_2 = epsilon exactly (the same paper, section 4.2).

    The root is rounded down to 15 decimals, so that every machine finds the same fractions. Raises ValueError for
    selected < 1.
    """
    _check(selected)
    power = Fraction(_cube_root(4 * selected**2 * 10 ** (3 * _ROOT_DIGITS)), 10**_ROOT_DIGITS)
    first = epsilon / (1 + power)
    return first, epsilon - first


def scales(n: int, selected: int, epsilon_threshold: Fraction, epsilon_queries: Fraction) -> tuple[Fraction, Fraction]:
    """Scales of rho and nu as shares of n >= 1: 1 / (n eps_1) and 2k / (n eps_2). ValueError for selected < 1."""
    _check(selected)
    return 1 / (n * epsilon_threshold), 2 * selected / (n * epsilon_queries)


def scales_dwork_roth(n: int, selected: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """2k / (n epsilon) and twice that: Algorithm 2 of Dwork and Roth 2014, for comparison. ValueError as above."""
    _check(selected)
    return 2 * selected / (n * epsilon), 4 * selected / (n * epsilon)


def decide(
    supports: Sequence[Fraction], threshold: Fraction, selected: int, rho: Fraction, nu: Sequence[Fraction]
) -> list[int]:
    """Which statements (0-based) are selected with this noise, exactly; equality selects. ValueError as above."""
    _check(selected)
    above = [j for j, (f, noise) in enumerate(zip(supports, nu, strict=True)) if f + noise >= threshold + rho]
    return above[:selected]


def certify_laplace(
    supports: Sequence[Fraction],
    chosen: Sequence[int],
    theta: Fraction,
    n: int,
    epsilon_each: Fraction,
    beta: Fraction,
    noise: Sequence[Fraction],
) -> list[tuple[int, float, bool]]:
    """(statement, f + noise - margin, emitted) of the selected ones, with margin ln(1 / (2 beta)) / (n epsilon_each).

    The continuous form, for comparison; noise: one fresh value for each selected, as a share of n.
    """
    margin = Fraction(math.log(1 / (2 * beta))) / (n * epsilon_each)
    values = [supports[j] + added - margin for j, added in zip(chosen, noise, strict=True)]
    return [(j, float(value), value >= theta) for j, value in zip(chosen, values, strict=True)]


def selection_probabilities(
    counts: Sequence[int], threshold: int, selected: int, threshold_scale: Fraction, query_scale: Fraction
) -> Floats:
    """Pr[statement j is selected] with two-sided geometric noises; (m,) -> (m,).

    A sum over rho within 38 scales; what is left out is less than 1e-15.
    """
    edge = math.ceil(_SCALES * threshold_scale) + 1
    nodes, log_mass = _threshold_law(-edge, edge, counts, threshold, threshold_scale, query_scale)
    rate = float(1 / query_scale)

    def tails(x: Floats) -> tuple[Floats, Floats]:
        log_above, log_below = _log_tails(x, rate)
        return np.exp(log_above), np.exp(log_below)

    return _sweep(nodes + threshold, np.exp(log_mass), np.asarray(counts, dtype=np.float64), selected, tails)


def laplace_selection_probabilities(
    counts: Sequence[Fraction], threshold: Fraction, selected: int, threshold_scale: Fraction, query_scale: Fraction
) -> Floats:
    """The same with Laplace noises, by quadrature; counts, threshold and scales in units; (m,) -> (m,)."""
    scale, rate = float(threshold_scale), 1 / float(query_scale)
    gaps = np.asarray([float(count - threshold) for count in counts])
    ends = (min(0.0, gaps.min()) - _SCALES * scale, max(0.0, gaps.max()) + _SCALES * scale)
    steps = math.ceil((ends[1] - ends[0]) / _smooth(scale, float(query_scale)))
    nodes, weights = integral_nodes([*np.linspace(*ends, steps + 1), 0.0, *gaps])
    density = np.exp(-np.abs(nodes) / scale) / (2 * scale)
    return _sweep(nodes, weights * density, gaps, selected, lambda x: _halves(np.exp(-rate * np.abs(x)) / 2, x > 0))


def laplace_emit_probabilities(
    supports: Sequence[Fraction],
    theta: Fraction,
    threshold: Fraction,
    n: int,
    selected: int,
    epsilons: tuple[Fraction, Fraction, Fraction],
    beta: Fraction,
) -> Floats:
    """Pr[statement j is selected, and its fresh Laplace certificate reaches theta], for comparison; (m,) -> (m,).

    threshold: T of the selection, a share. epsilons: eps_1, eps_2, eps_cert. beta: of each certificate.
    """
    first, second, certificate = epsilons
    rho, nu = scales(1, selected, first, second)
    chosen = laplace_selection_probabilities([n * f for f in supports], n * threshold, selected, rho, nu)
    rate = float(certificate / selected)
    short = np.asarray([rate * float(n * (theta - f)) + math.log(1 / (2 * beta)) for f in supports])
    emitted: Floats = chosen * _halves(np.exp(-np.abs(short)) / 2, short > 0)[0]
    return emitted


def log_pattern_probability(
    chosen: Sequence[bool],
    counts: Sequence[int],
    threshold: int,
    selected: int,
    threshold_scale: Fraction,
    query_scale: Fraction,
) -> float:
    """ln Pr[exactly these statements are selected]; (m,) each. What comes after the k-th selected was not reached.

    The window is wide enough for a relative error below 1e-9 with up to 20 statements. -inf for more than k.
    """
    if sum(chosen) > selected:
        return -math.inf
    reached = len(chosen) if sum(chosen) < selected else max(j for j, is_chosen in enumerate(chosen) if is_chosen) + 1
    gaps = [0, *(count - threshold for count in counts[:reached])]
    edge = math.ceil(_SCALES * threshold_scale) + 1
    nodes, logs = _threshold_law(
        min(gaps) - edge, max(gaps) + edge, counts[:reached], threshold, threshold_scale, query_scale
    )
    for count, is_chosen in zip(counts[:reached], chosen, strict=False):
        above, below = _log_tails(nodes + threshold - count, float(1 / query_scale))
        logs = logs + (above if is_chosen else below)
    return float(np.logaddexp.reduce(logs))


def _threshold_law(
    low: int, high: int, counts: Sequence[int], threshold: int, scale: Fraction, query_scale: Fraction
) -> tuple[Floats, Floats]:
    """Nodes of rho in [low, high] and the logarithms of their masses."""
    kinks = {0, *(count - threshold + 1 for count in counts)}
    nodes, weights = sum_nodes(low, high, kinks, _smooth(float(scale), float(query_scale)))
    rate = float(1 / scale)
    return nodes, np.log(weights) + math.log(math.tanh(rate / 2)) - rate * np.abs(nodes)


def _smooth(threshold_scale: float, query_scale: float) -> float:
    """Over this length what is summed is a polynomial of low degree, to double precision."""
    return min(threshold_scale, query_scale) / 2


def _log_tails(x: Floats, rate: float) -> tuple[Floats, Floats]:
    """ln Pr[G >= x] and ln Pr[G < x] of the two-sided geometric law."""
    above = x > 0.5  # both forms hold at 0 and at 1, and nodes between whole numbers stay on one side
    smaller = -rate * np.where(above, x, 1 - x) - math.log1p(math.exp(-rate))
    larger = np.log1p(-np.exp(smaller))
    return np.where(above, smaller, larger), np.where(above, larger, smaller)


def _halves(smaller: Floats, is_upper: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(upper tail, lower tail), the given one being the smaller."""
    larger = 1 - smaller
    return np.where(is_upper, smaller, larger), np.where(is_upper, larger, smaller)


def _sweep(bars: Floats, mass: Floats, counts: Floats, selected: int, tails: Tails) -> Floats:
    """Sum over the nodes of Pr[j is selected | bar]: a statement after the other, by the number of positives so far.

    bars: t + rho at the nodes. alive[i]: mass of the nodes at which i < k statements were selected so far.
    """
    alive = np.zeros((selected, bars.size))
    alive[0] = mass
    found = np.empty(counts.size)
    for j, count in enumerate(counts):
        above, below = tails(bars - count)
        reached = alive.sum(axis=0)
        found[j] = above @ reached
        if found[j] > _NEGLIGIBLE:
            moved = alive[:-1] * above
            alive *= below
            alive[1:] += moved
        if j % 32 == 31:
            keep = reached > _NEGLIGIBLE
            alive, bars = alive[:, keep], bars[keep]
    return found


def _check(selected: int) -> None:
    if selected < 1:
        raise ValueError("selected: k must be at least 1")


def _cube_root(value: int) -> int:
    """The largest integer whose cube is at most value."""
    root = 1 << -(-value.bit_length() // 3)
    while True:
        following = (2 * root + value // root**2) // 3
        if following >= root:
            return root
        root = following
