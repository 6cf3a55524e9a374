"""Selection by `svt` and `topk` estimated in milliseconds: for the search, and where exact sums would take minutes.

Whether a statement is selected depends on how many others are, a sum of independent indicators (for svt, given the
noisy threshold). Its law is taken as normal with a term for skewness (Volkova 1996, Theory Probab. Appl. 40, 791).
Where few others are in doubt, a probability may be wrong by 0.05; their sum is right to about 1 percent.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk

Floats = NDArray[np.float64]
_NODES = 64
_LEVELS = (np.arange(_NODES) + 0.5) / _NODES


class _Moments(NamedTuple):
    """Mean, variance and third central moment of a sum of indicators, elementwise."""

    mean: Floats
    variance: Floats
    third: Floats

    def fewer_than(self, number: int) -> Floats:
        """Pr[the sum is below `number`]."""
        deviation = np.sqrt(np.maximum(self.variance, 1e-12))
        x = (number - 0.5 - self.mean) / deviation
        skewed = self.third / (6 * deviation**3) * (1 - x**2) * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        found: Floats = np.clip(ndtr(x) + skewed, 0, 1)
        return found


def estimated_selection(chosen: Selecting, counts: Sequence[int]) -> Floats:
    """Pr[statement j is selected | counts]; (m,) -> (m,)."""
    if isinstance(chosen, Topk):
        return _Top(chosen, counts).win(np.asarray(counts, dtype=np.float64), is_among=True)
    above = _above(cast(Svt, chosen), counts)
    before = _Moments(*(np.cumsum(part, axis=0) - part for part in _parts(above)))
    reached = before.fewer_than(chosen.selected)
    reached[: chosen.selected] = 1
    selected: Floats = (above * reached).mean(axis=1)
    return selected


def estimated_probe(chosen: Selecting, before: Sequence[int], after: Sequence[int]) -> Callable[[int], float]:
    """count -> Pr[the statement between these others is selected]."""
    if isinstance(chosen, Topk):
        others = _Top(chosen, [*before, *after])
        return lambda count: float(others.win(np.array([float(count)]), is_among=False)[0])
    svt = cast(Svt, chosen)
    moments = _Moments(*(part.sum(axis=0) for part in _parts(_above(svt, before))))
    reached = moments.fewer_than(svt.selected) if len(before) >= svt.selected else np.ones(_NODES)
    return lambda count: float((_above(svt, [count])[0] * reached).mean())


class _Top:
    """How many noisy counts lie above y: the indicator of count c has probability min(1, e^-(y - c) / scale)."""

    def __init__(self, chosen: Topk, counts: Sequence[int]) -> None:
        self.selected, self.scale = chosen.selected, float(chosen.scale)
        self.heights = np.sort(np.asarray(counts, dtype=np.float64)) / self.scale
        sums = [np.logaddexp.accumulate(power * self.heights) for power in (1, 2, 3)]
        self.log_sums = [np.append(-np.inf, part) for part in sums]

    def win(self, counts: Floats, *, is_among: bool) -> Floats:
        """Pr[each is among the highest]; is_among: it is one of the counts itself, and no rival of its own."""
        if self.selected > self.heights.size - is_among:
            return np.ones(counts.size)
        y = (counts / self.scale)[:, None] - np.log(_LEVELS)
        higher = np.searchsorted(self.heights, y.ravel()).reshape(y.shape)
        first, second, third = (
            np.exp(logs[higher] - power * y) for power, logs in zip((1, 2, 3), self.log_sums, strict=True)
        )
        own = _LEVELS * is_among
        rivals = _Moments(
            self.heights.size - higher + first - own,
            first - second - own * (1 - own),
            first - 3 * second + 2 * third - own * (1 - own) * (1 - 2 * own),
        )
        found: Floats = rivals.fewer_than(self.selected).mean(axis=1)
        return found


def _above(svt: Svt, counts: Sequence[int]) -> Floats:
    """Pr[noisy count >= noisy threshold], (m, nodes), at whole quantiles of the threshold's noise."""
    rate = float(1 / svt.threshold_scale)
    tail = np.minimum(_LEVELS, 1 - _LEVELS)
    size = np.maximum(0, np.ceil(-np.log(tail * (1 + math.exp(-rate))) / rate) - 1)
    bars = svt.threshold + np.where(_LEVELS < 0.5, -size, size)
    needed, per_unit = bars - np.asarray(counts, dtype=np.float64)[:, None], float(1 / svt.query_scale)
    far = np.exp(-per_unit * np.where(needed >= 1, needed, 1 - needed)) / (1 + math.exp(-per_unit))
    found: Floats = np.where(needed >= 1, far, 1 - far)
    return found


def _parts(chances: Floats) -> tuple[Floats, Floats, Floats]:
    variances = chances * (1 - chances)
    return chances, variances, variances * (1 - 2 * chances)
