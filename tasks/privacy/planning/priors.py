"""Declared priors of supports: what a plan assumes about data that nobody has looked at.

A prior is public. It comes from the task, from public corpora or from a guess, never from the records to be certified.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

_HALVINGS = 60  # of [0, 1]: beyond the digits of a double


class Prior(Protocol):
    """A distribution of supports on [0, 1]."""

    def quantiles(self, size: int) -> list[float] | list[Fraction]:
        """The quantiles at 1/(2 size), 3/(2 size), ..., ascending."""


@dataclass(frozen=True, slots=True)
class BetaPart:
    """Beta(a, b) with a weight; all greater than 0."""

    weight: Fraction
    a: Fraction
    b: Fraction


@dataclass(frozen=True, slots=True)
class BetaMixture:
    """Supports from a mixture of Beta distributions; the weights add up to exactly 1. ValueError by name."""

    parts: tuple[BetaPart, ...]

    def __post_init__(self) -> None:
        if any(min(part.weight, part.a, part.b) <= 0 for part in self.parts):
            raise ValueError("prior: weights and Beta parameters must be greater than 0")
        if sum(part.weight for part in self.parts) != 1:
            raise ValueError("prior: the weights must add up to 1")

    def quantiles(self, size: int) -> list[float]:
        """By bisection of the distribution function."""
        levels = (np.arange(size) + 0.5) / size
        low, high = np.zeros(size), np.ones(size)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._distribution(middle) < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return [float(support) for support in low]

    def _distribution(self, supports: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = [float(part.weight) * betainc(float(part.a), float(part.b), supports) for part in self.parts]
        total: NDArray[np.float64] = np.sum(parts, axis=0)
        return total


@dataclass(frozen=True, slots=True)
class KnownSupports:
    """The distribution of a list of public supports, for example of the same statements on a public corpus.

    ValueError for an empty list and for supports outside [0, 1].
    """

    supports: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.supports or not all(0 <= support <= 1 for support in self.supports):
            raise ValueError("prior: needs supports between 0 and 1, at least one")

    def quantiles(self, size: int) -> list[Fraction]:
        """Exact."""
        ascending, given = sorted(self.supports), len(self.supports)
        return [ascending[(2 * rank + 1) * given // (2 * size)] for rank in range(size)]


DEFAULT_PRIOR = BetaMixture(
    (
        BetaPart(Fraction("0.6"), Fraction(1), Fraction(30)),
        BetaPart(Fraction("0.4"), Fraction(4), Fraction(12)),
    )
)
"""Most statements rare, some common: the mixture of the synthetic sweep (spec 1.11)."""


def prior_counts(prior: Prior, n: int, size: int) -> list[int]:
    """Support counts of `size` statements at the prior's quantiles, rounded to whole units, in a spread order.

    The order is that of van der Corput (reversed bits): every beginning of the list is spread evenly over the prior,
    so no statement is favoured by its place. Nothing is drawn.
    """
    ascending = [math.floor(n * support + Fraction(1, 2)) for support in prior.quantiles(size)]
    return [ascending[rank] for rank in _spread(size)]


def _spread(size: int) -> list[int]:
    bits = max(size - 1, 0).bit_length()
    reversed_bits = (int(f"{place:0{bits}b}"[::-1], 2) for place in range(2**bits))
    return [rank for rank in reversed_bits if rank < size]
