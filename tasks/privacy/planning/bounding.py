"""What contribution bounding leaves of the counts under a prior (spec 1.6).

A unit that supports S > C statements is counted for C of them, any of them alike (by a keyed hash of unit and
statement). Assumed here: a unit supports the statements independently of each other, so that S is Poisson-binomial.
Where statements go together, some units support many and bounding costs more than is said here.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-20  # probability of a number of statements


def kept_shares(supports: Sequence[float], contributions: Sequence[int]) -> Floats:
    """Pr[a unit that supports statement j is counted for it], for each C; shape (len(contributions), m).

    E[min(1, C / (1 + S_j))], where S_j is the number of the other statements that the unit supports. ValueError for
    C < 1.
    """
    if min(contributions) < 1:
        raise ValueError("contributions: must be at least 1")
    distinct, place = np.unique(np.asarray(supports, dtype=np.float64), return_inverse=True)
    numbers, chances = _others(_number_supported(supports), distinct)
    kept = np.minimum(1, np.asarray(contributions, dtype=np.float64)[:, None] / (1 + numbers))
    shares: Floats = np.minimum(1, kept @ chances)[:, place]
    return shares


def bounded_counts(counts: Sequence[int], kept: Floats) -> list[int]:
    """Expected counts after bounding, rounded down to whole units (a double's error aside)."""
    return [int(count * share * (1 + 1e-12)) for count, share in zip(counts, kept, strict=True)]


def _number_supported(supports: Sequence[float]) -> Floats:
    """Poisson-binomial law of 0 .. m."""
    law = np.zeros(len(supports) + 1)
    law[0] = 1
    for number, support in enumerate(supports, start=1):
        moved = law[:number] * support
        law[:number] *= 1 - support
        law[1 : number + 1] += moved
    return law


def _others(law: Floats, supports: Floats) -> tuple[Floats, Floats]:
    """(numbers s, Pr[S_j = s] for each support), (w,) and (w, len(supports)): `law` with one statement taken out.

    Each recursion is run in the direction in which its errors shrink.
    """
    likely = np.flatnonzero(law > _NEGLIGIBLE)
    first, last = max(int(likely[0]) - 1, 0), int(likely[-1])
    rare, common = supports <= 0.5, supports > 0.5
    found, f = np.zeros((last - first + 1, supports.size)), supports
    before = np.zeros(int(rare.sum()))
    for number in range(first, last + 1):
        before = np.maximum(0, law[number] - f[rare] * before) / (1 - f[rare])
        found[number - first, rare] = before
    after = np.zeros(int(common.sum()))
    for number in range(last, first, -1):
        after = np.maximum(0, law[number] - (1 - f[common]) * after) / f[common]
        found[number - 1 - first, common] = after
    return np.arange(first, last + 1, dtype=np.float64), found
