"""Selection laws by plain enumeration, sharing nothing with the product; also the broken variants of sparse vector."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

Pattern = tuple[bool, ...]


def tail(x: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    """Pr[G >= x] of two-sided geometric noise."""
    a = math.exp(-rate)
    return np.where(x >= 1, np.exp(-rate * np.maximum(x, 1)), 1 + a - np.exp(-rate * (1 - np.minimum(x, 1)))) / (1 + a)


def mass(x: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    """Pr[G = x]."""
    return math.tanh(rate / 2) * np.exp(-rate * np.abs(x))


@dataclass(frozen=True)
class SparseVector:
    """Rates of rho and nu, cutoff k, and what may be wrong: no stop, or rho redrawn after each positive."""

    threshold: int
    threshold_rate: float
    query_rate: float
    cutoff: int
    stops: bool = True
    redraws: bool = False

    def patterns(self, counts: tuple[int, ...]) -> dict[Pattern, float]:
        """Pr[which statements are selected]; False too for what was not reached."""
        edge = 45 / self.threshold_rate + max(abs(count - self.threshold) for count in counts)
        rho = np.arange(-math.ceil(edge), math.ceil(edge) + 1)
        return dict(self._walk(counts, rho, mass(rho, self.threshold_rate), ()))

    def _walk(
        self, counts: tuple[int, ...], rho: NDArray[np.int64], alive: NDArray[np.float64], so_far: Pattern
    ) -> Iterator[tuple[Pattern, float]]:
        rest = len(counts) - len(so_far)
        if not rest or (self.stops and sum(so_far) == self.cutoff):
            yield so_far + (False,) * rest, float(alive.sum())
            return
        short = self.threshold + rho - counts[len(so_far)]
        yield from self._walk(counts, rho, alive * tail(1 - short, self.query_rate), (*so_far, False))
        moved = alive * tail(short, self.query_rate)
        if self.redraws:
            moved = moved.sum() * mass(rho, self.threshold_rate)
        yield from self._walk(counts, rho, moved, (*so_far, True))

    def monotone(self) -> "SparseVector":
        """Query noise of scale k / eps_2, as if counts moved one way only."""
        return replace(self, query_rate=2 * self.query_rate)


def neighbours(counts: tuple[int, ...], moves: Iterable[int] = (-1, 0, 1)) -> list[tuple[int, ...]]:
    """Every vector whose entries differ by one of the moves."""
    return [tuple(c + d for c, d in zip(counts, way, strict=True)) for way in product(tuple(moves), repeat=len(counts))]


def loss(law: SparseVector, counts: tuple[int, ...], moves: Iterable[int] = (-1, 0, 1)) -> float:
    """The largest log-ratio of the probabilities of a pattern, over all neighbours."""
    here = law.patterns(counts)
    there = [law.patterns(other) for other in neighbours(counts, moves)]
    return max(abs(math.log(here[pattern] / other[pattern])) for other in there for pattern in here)


def top_sets(counts: tuple[int, ...], selected: int) -> dict[Pattern, Fraction]:
    """Pr[which k win] with exponential noise of scale 1 / ln 2, exactly: Pr[X_i > y] = min(1, 2^c_i u), u = 2^-y."""
    return {
        tuple(j in winners for j in range(len(counts))): _win(counts, winners)
        for winners in combinations(range(len(counts)), selected)
    }


def _win(counts: tuple[int, ...], winners: tuple[int, ...]) -> Fraction:
    """Sum over pieces of y of the integral of -d Pr[all winners are above y] Pr[all losers are below y]."""
    ends = sorted({Fraction(1, 2**count) for count in counts})
    total = Fraction(0)
    for low, high in zip([Fraction(0), *ends], ends, strict=False):
        if any(2 ** counts[j] * low >= 1 for j in range(len(counts)) if j not in winners):
            continue  # a loser lies above y for certain
        win, lose = [Fraction(1)], [Fraction(1)]
        for j, count in enumerate(counts):
            if j in winners and 2**count * low < 1:
                win = _times(win, [Fraction(0), Fraction(2**count)])
            if j not in winners:
                lose = _times(lose, [Fraction(1), Fraction(-(2**count))])
        slope = [i * value for i, value in enumerate(win)][1:]
        integrand = _times(slope, lose) if slope else []
        total += sum(
            (value * (high ** (i + 1) - low ** (i + 1)) / (i + 1) for i, value in enumerate(integrand)), Fraction(0)
        )
    return total


def _times(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for (i, a), (j, b) in product(enumerate(one), enumerate(other)):
        found[i + j] += a * b
    return found
