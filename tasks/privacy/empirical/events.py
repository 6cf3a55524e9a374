"""Which event to test: chosen on draws that are then set aside, so that any choice leaves the test valid.

An event is "score >= cutoff". The scores order outputs by how much they speak for the one dataset: sums and minima
along the difference of the counts, Fisher's discriminant, and likelihood ratios of outputs and of what was selected,
learned from the draws. Nothing here knows a mechanism: what a broken sampler claims to do does not steer the search.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.privacy.empirical.bounds import Bounds

Outputs = NDArray[np.int64]  # one row a draw, one column a statement: certificates in units
Scores = NDArray[np.float64]
Score = Callable[[Outputs], Scores]


class Bound(Protocol):
    """What hits of `trials` draws from the one and the other dataset prove; elementwise."""

    def __call__(self, hits: ArrayLike, others: ArrayLike, *, trials: int) -> Bounds:
        """Larger is worse for the claim."""


CUTOFFS = 100
WIDEST_KEY = 2**62


@dataclass(frozen=True)
class Event:
    """The outputs whose score reaches the cutoff."""

    score: Score
    cutoff: float

    def hits(self, outputs: Outputs) -> int:
        """How many draws fall into it."""
        return int(np.count_nonzero(self.score(outputs) >= self.cutoff))


def choose_event(one: Outputs, other: Outputs, change: Outputs, bound: Bound) -> Event:
    """The event that proves most on the second halves of these draws.

    one, other: draws from either dataset, equally many. change: counts of `one` less those of `other`, shape (m,).
    The scores are learned on the first halves.
    """
    half = len(one) // 2
    best, found = -1.0, Event(lambda outputs: np.zeros(len(outputs)), 0.0)
    for score in _scores(one[:half], other[:half], change):
        mine, theirs = np.sort(score(one[half:])), np.sort(score(other[half:]))
        cutoffs = _cutoffs(mine)
        proved = bound(_reaching(mine, cutoffs), _reaching(theirs, cutoffs), trials=len(mine))
        at = int(np.argmax(proved))
        if proved[at] > best:
            best, found = float(proved[at]), Event(score, float(cutoffs[at]))
    return found


def _scores(one: Outputs, other: Outputs, change: Outputs) -> Iterator[Score]:
    moved = np.flatnonzero(change)
    seen = np.concatenate([one, other])
    middle, least, most = np.median(seen, axis=0), int(seen.min()), int(seen.max())
    yield lambda outputs: (outputs @ change).astype(np.float64)
    yield lambda outputs: np.min((outputs - middle)[:, moved] * change[moved], axis=1)
    yield _discriminant(one, other, least)
    yield _learned(one, other, least, least + 1)
    yield _learned(one, other, least, most)


def _discriminant(one: Outputs, other: Outputs, least: int) -> Score:
    """Fisher's linear discriminant of certificates and of which are above the least."""

    def features(outputs: Outputs) -> Scores:
        return np.column_stack([outputs, outputs > least]).astype(np.float64)

    spread = np.cov(features(one), rowvar=False) + np.cov(features(other), rowvar=False)
    apart = features(one).mean(axis=0) - features(other).mean(axis=0)
    weights = np.linalg.pinv(np.atleast_2d(spread)) @ apart
    return lambda outputs: features(outputs) @ weights


def _learned(one: Outputs, other: Outputs, least: int, most: int) -> Score:
    """ln of how much oftener `one` gave an output than `other`, each counted half a time more than it was seen.

    Certificates are clipped to [least, most]; columns that no longer fit into the key are left out.
    """
    values = most - least + 1
    places = [values**column for column in range(one.shape[1]) if values ** (column + 1) < WIDEST_KEY]

    def keys(outputs: Outputs) -> NDArray[np.int64]:
        found: NDArray[np.int64] = (np.clip(outputs[:, : len(places)], least, most) - least) @ np.array(places)
        return found

    known, which = np.unique(np.concatenate([keys(one), keys(other)]), return_inverse=True)
    mine = np.bincount(which[: len(one)], minlength=len(known))
    theirs = np.bincount(which[len(one) :], minlength=len(known))
    ratio = np.log((mine + 0.5) / (theirs + 0.5))

    def score(outputs: Outputs) -> Scores:
        asked = keys(outputs)
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[at] == asked, ratio[at], 0.0)

    return score


def _cutoffs(scores: Scores) -> Scores:
    levels = np.unique(scores)
    if len(levels) > 2 * CUTOFFS:
        reached = np.concatenate([np.linspace(0, 1, CUTOFFS), np.geomspace(1 / len(scores), 1, CUTOFFS)])
        levels = np.unique(np.quantile(scores, 1 - reached, method="lower"))
    return levels


def _reaching(scores: Scores, cutoffs: Scores) -> NDArray[np.int64]:
    return len(scores) - np.searchsorted(scores, cutoffs, side="left")
