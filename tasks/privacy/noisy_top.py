"""One-shot noisy top k: exponential noise of scale s = 2k / epsilon is added once to the m counts, the k highest win.

It is epsilon-DP. Fix the noise of those that lose. When a unit is replaced, count j moves from c_j to c'_j, and
|c_j - c'_j| <= 1. Give each winner the noise E_j + (c_j - c'_j) + 1, at most 2 more and none less: the noisy counts of
all winners rise by exactly 1, those of the losers by at most 1, so the same k win, even in the same order. The density
e^(-x/s) of each winner's noise falls by at most e^(-2/s), all together by at most e^(-2k/s) = e^(-epsilon).

In a release nothing is continuous. The whole and the fractional part of E_j are independent, the whole one geometric
with Pr[at least g] = e^(-g/s), and the fractional parts have one law: of statements whose whole noisy counts tie, each
order is equally likely. So geometric noise (two-sided geometric noise of rate 1/s, drawn anew where it is negative) and
a fair coin order for ties give this very law from an exact sampler. OpenDP's `noisy_top_k` under max divergence is
another one for k > 1: it picks k times, with fresh noise each time.

Exact probabilities: Pr[X_i > y] = min(1, e^(-(y - c_i)/s)) is, in u = e^(-y/s), a linear function or 1, so that every
probability below is the integral of a piecewise polynomial in u, whose pieces end where y is a count.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.quadrature import integral_nodes, legendre

Floats = NDArray[np.float64]
_SURE = 60.0  # scales: a count so much higher (or lower) wins (or does not matter) but for probability m e^-60
_BLOCK = 2**22  # doubles held at a time


def selection_probabilities(counts: Sequence[int], selected: int, scale: Fraction) -> Floats:
    """Pr[statement j is among the `selected` highest noisy counts]; (m,) -> (m,), summing to min(k, m).

    scale: of the exponential noise, in units. Absolute error below 1e-12.
    """
    if selected >= len(counts):
        return np.ones(len(counts))
    pivot = sorted(counts, reverse=True)[selected - 1]
    heights = np.array([float((count - pivot) / scale) for count in counts])
    far = _SURE + math.log(len(counts))
    sure, core, low = heights > far, np.abs(heights) <= far, heights < -far
    places = selected - int(sure.sum())
    nodes, weights = _nodes(heights[core])
    found = np.ones(len(counts))
    found[core], reach = _win(heights[core], places, nodes, weights)
    found[low] = np.exp(heights[low]) * reach
    return found


def log_set_probability(chosen: Sequence[bool], counts: Sequence[int], selected: int, scale: Fraction) -> float:
    """ln Pr[exactly these statements win], in whatever order; (m,) each. -inf for a set of another size than min(k, m).

    An exact rule of m / 2 nodes a piece, in logarithms: for small m.
    """
    if sum(chosen) != min(selected, len(counts)):
        return -math.inf
    if all(chosen):
        return 0.0
    winners = [count for count, is_chosen in zip(counts, chosen, strict=True) if is_chosen]
    losers = [count for count, is_chosen in zip(counts, chosen, strict=True) if not is_chosen]
    top = max(losers)  # the lowest winner ends above every loser, thus above all their counts
    above = np.array([float((count - top) / scale) for count in winners])
    below = np.array([float((count - top) / scale) for count in losers])
    logs = []
    edges = [0.0, *sorted({-height for height in above if height > 0}, reverse=True), -math.inf]
    for end, start in pairwise(edges):
        linear = int(np.sum(above + end <= 0))
        if not linear:
            continue  # every winner is above y for certain
        log_u, log_weight = _log_nodes(start, end, -(-len(counts) // 2))
        # d/du of the product of Pr[X_i > y] over the winners: each linear factor contributes the product over u
        density = math.log(linear) - log_u
        win = np.minimum(0.0, above[:, None] + log_u).sum(axis=0)
        lose = np.log(-np.expm1(below[:, None] + log_u)).sum(axis=0)
        logs.append(np.logaddexp.reduce(log_weight + density + win + lose))
    return float(np.logaddexp.reduce(logs))


def _nodes(heights: Floats) -> tuple[Floats, Floats]:
    """Nodes in u for y from the k-th highest count on; closer together where more noisy counts lie above y.

    Below the k-th highest count at least k others are higher for certain. Between two edges the square root of the
    expected number of linear ones above grows by at most 1.
    """
    kinks = np.unique(np.append(np.exp(-np.maximum(heights, 0)), 0.0))
    edges = [kinks]
    for start, end in pairwise(kinks):
        load = np.exp(heights[heights <= -np.log(end) + 1e-9]).sum()
        first, last = math.sqrt(load * start), math.sqrt(load * end)
        steps = np.linspace(first, last, math.ceil(last - first) + 1)[1:-1]
        edges.append(steps**2 / load if load else steps)
    return integral_nodes(np.concatenate(edges))


def _win(heights: Floats, places: int, nodes: Floats, weights: Floats) -> tuple[Floats, float]:
    """(Pr[j wins] for each, integral of Pr[fewer than `places` of all are above y] du).

    Pr[j wins] = integral of e^h_j Pr[fewer than `places` others are above y] du over y above count j.
    """
    found, reach = np.zeros(heights.size), 0.0
    size = max(1, _BLOCK // (places * (heights.size + 1)))
    for start in range(0, nodes.size, size):
        u, w = nodes[start : start + size], weights[start : start + size]
        above = np.exp(np.minimum(0.0, heights[:, None] + np.log(u)))
        after = _at_most_after(above, places)
        before = np.zeros((places, u.size))
        before[0] = 1
        for j, chance in enumerate(above):
            others = np.einsum("ij,ij->j", before, after[j + 1, ::-1])
            found[j] += (np.where(chance < 1, chance, 0.0) * w / u) @ others
            moved = before[:-1] * chance
            before *= 1 - chance
            before[1:] += moved
        reach += float(w @ after[0, -1])
    return found, reach


def _at_most_after(above: Floats, places: int) -> Floats:
    """[j, i]: Pr[at most i of the statements from j on are above], i < places; shape (m + 1, places, nodes)."""
    after = np.ones((above.shape[0] + 1, places, above.shape[1]))
    for j in range(above.shape[0] - 1, -1, -1):
        np.multiply(after[j + 1], 1 - above[j], out=after[j])
        after[j, 1:] += after[j + 1, :-1] * above[j]
    return after


def _log_nodes(start: float, end: float, points: int) -> tuple[Floats, Floats]:
    """ln of nodes and weights on [e^start, e^end], exact for polynomials of degree 2 points - 1."""
    x, w = legendre(points)
    width = -math.expm1(start - end)
    return end + np.log1p(-width * (1 - x) / 2), end + np.log(width * w / 2)
