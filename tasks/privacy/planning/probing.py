"""Selection of one statement as a function of its count, beside others that stay: for the power of `svt` and `topk`."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss, legval, legvander
from numpy.typing import NDArray

from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.mechanisms.topk import Topk
from tasks.privacy.quadrature import POINTS, integral_nodes

Floats = NDArray[np.float64]
_SURE = 60.0  # scales: a count so much higher than the k-th one wins for certain, in double precision


def selection_probability(chosen: Selecting, before: Sequence[int], after: Sequence[int]) -> Callable[[int], float]:
    """count -> Pr[the statement between these others is selected], with an absolute error below 1e-10.

    What comes after it has no influence in `svt`, and the order none in `topk`.
    """
    if isinstance(chosen, Topk):
        return win_probability([*before, *after], chosen.selected, chosen.scale)
    return lambda count: float(chosen.selection_probabilities([*before, count])[-1])


def win_probability(others: Sequence[int], selected: int, scale: Fraction) -> Callable[[int], float]:
    """count -> Pr[its noisy count is among the `selected` highest], exponential noise of this scale in units.

    In u = e^(-y / scale), Pr[wins] is the mean over (0, e^(-count / scale)] of Pr[fewer than k others lie above y],
    which is a polynomial between the others' counts (tasks.privacy.noisy_top); it is kept as one on each piece.
    """
    if selected > len(others):
        return lambda _: 1.0
    pivot = sorted(others, reverse=True)[selected - 1]
    heights = np.array([float((count - pivot) / scale) for count in others])
    far = _SURE + math.log(len(others))
    places = selected - int((heights > far).sum())
    edges = _edges(heights[np.abs(heights) <= far])
    nodes, weights = integral_nodes(edges)
    beaten = _fewer_above(heights[np.abs(heights) <= far], places, nodes)
    up_to = np.append(0.0, np.cumsum((weights * beaten).reshape(-1, POINTS).sum(axis=1)))
    pieces = _legendre_coefficients(beaten.reshape(-1, POINTS))
    points, factors = leggauss(POINTS)

    def probability(count: int) -> float:
        height = min(float((count - pivot) / scale), far)
        end = math.exp(-max(height, 0.0))
        piece = min(int(np.searchsorted(edges, end, side="right")), len(edges) - 1) - 1
        start, width = edges[piece], edges[piece + 1] - edges[piece]
        inside = (end - start) / width * (1 + points) - 1
        part = (end - start) / 2 * float(factors @ legval(inside, pieces[piece]))
        return float(min(1.0, math.exp(height) * (up_to[piece] + part)))

    return probability


def _edges(heights: Floats) -> Floats:
    """Ends of the pieces of u in [0, 1], from the k-th highest count (u = 1) upwards.

    Between two of them no count lies, and the square root of the expected number above grows by at most a half.
    """
    kinks = np.unique(np.append(np.exp(-np.maximum(heights, 0)), [0.0, 1.0]))
    found = [kinks]
    for start, end in pairwise(kinks):
        load = float(np.exp(heights[heights <= -math.log(end) + 1e-9]).sum())
        first, last = math.sqrt(load * start), math.sqrt(load * end)
        found.append(np.linspace(first, last, math.ceil(2 * (last - first)) + 1)[1:-1] ** 2 / (load or 1.0))
    return np.unique(np.concatenate(found))


def _fewer_above(heights: Floats, places: int, nodes: Floats) -> Floats:
    """Pr[fewer than `places` of the noisy counts lie above y], at each node u."""
    law = np.zeros((places, nodes.size))
    law[0] = 1
    for height in heights:
        above = np.exp(np.minimum(0.0, height + np.log(nodes)))
        moved = law[:-1] * above
        law *= 1 - above
        law[1:] += moved
    fewer: Floats = law.sum(axis=0)
    return fewer


def _legendre_coefficients(values: Floats) -> Floats:
    """(pieces, POINTS) values at Gauss's nodes -> the interpolating polynomials of each piece, on [-1, 1]."""
    points, factors = leggauss(POINTS)
    degrees = np.arange(POINTS)
    coefficients: Floats = (values * factors) @ legvander(points, POINTS - 1) * (degrees + 0.5)
    return coefficients
