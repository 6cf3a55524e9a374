"""Frontier mechanism: C = N + G - k + B, the optimum of Theorem 2 at every threshold at once (spec 1.3).

G is two-sided geometric, k the smallest margin with Pr[G > k] <= beta, B a coin that spends what the margin left of
beta: Pr[C > N] = beta. It is the canonical noise of Awan and Slavkovic 2018 (NeurIPS, section 4), rounded.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from tasks.privacy.mechanisms.geometric import Geometric


@dataclass(frozen=True)
class Frontier(Geometric):
    """epsilon-DP certificate with Pr[C > N] = beta (up to a coin rounded down to 2^-128).

    At every threshold, Pr[emit] equals the largest value that an epsilon-DP, beta-honest certifier can reach.
    """

    name: ClassVar[str] = "frontier"

    @cached_property
    def coin(self) -> Fraction:
        """q = (beta - Pr[G > k]) / Pr[G = k], rounded down."""
        return self.law.coin(self.beta, self.margin)
