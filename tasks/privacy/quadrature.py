"""Nodes and weights that sum over integers, or integrate, piecewise smooth functions to double precision."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POINTS = 20
_MOST_TERMS = 2**12  # summed one by one up to here


def sum_nodes(low: int, high: int, kinks: Iterable[int], longest: float) -> tuple[Floats, Floats]:
    """(x, w) with sum(w f(x)) the sum of f over all integers of [low, high].

    f: smooth on each run of integers that starts at low or at a kink, and to be trusted to a polynomial of degree
    2 POINTS - 1 over `longest` of them. Short ranges are summed term by term; long ones by Gauss's rule for the
    uniform weights on consecutive integers (Gram polynomials; Golub and Welsch 1969), whose nodes lie between them.
    """
    if high - low < _MOST_TERMS:
        terms = np.arange(low, high + 1, dtype=np.float64)
        return terms, np.ones_like(terms)
    starts = sorted({low, *(kink for kink in kinks if low < kink <= high)})
    nodes, weights = [], []
    for start, end in zip(starts, [*starts[1:], high + 1], strict=True):
        pieces = max(1, int((end - start) / max(longest, 1.0)) + 1)
        size = -(-(end - start) // pieces)
        for first in range(start, end, size):
            x, w = _gram(min(size, end - first))
            nodes.append(first + x)
            weights.append(w)
    return np.concatenate(nodes), np.concatenate(weights)


def integral_nodes(edges: Iterable[float]) -> tuple[Floats, Floats]:
    """(x, w) of Gauss and Legendre's rule with POINTS nodes between each two neighbouring edges, ascending."""
    points, factors = legendre(POINTS)
    ends = np.unique(np.fromiter(edges, dtype=np.float64))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + points)).ravel(), (half * factors).ravel()


@lru_cache(maxsize=1024)
def legendre(points: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1], exact for polynomials of degree 2 points - 1."""
    x, w = np.polynomial.legendre.leggauss(points)
    return x, w


@lru_cache(maxsize=1024)
def _gram(size: int) -> tuple[Floats, Floats]:
    """Nodes and weights for the sum over 0 .. size - 1."""
    if size <= POINTS:
        return np.arange(size, dtype=np.float64), np.ones(size)
    i = np.arange(1, POINTS, dtype=np.float64)
    squares = i**2 * ((float(size) - i) * (float(size) + i)) / (4 * (4 * i**2 - 1))
    jacobi = np.diag(np.sqrt(squares), 1)
    x, vectors = np.linalg.eigh(jacobi + jacobi.T)
    return x + (size - 1) / 2, size * vectors[0] ** 2
