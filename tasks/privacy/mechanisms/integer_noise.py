"""What mechanisms with whole noise share: C = N + noise - k + B, margin k from the exact tail, an optional coin B."""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from tasks.privacy.discrete_laplace import Interval
from tasks.privacy.mechanisms.protocol import PerCount
from tasks.privacy.thresholds import threshold_units


class IntegerLaw(Protocol):
    """A symmetric law on the integers, with rigorous bounds."""

    def upper_tail(self, j: int) -> Interval:
        """Pr[noise >= j]."""

    def margin(self, beta: Fraction) -> int:
        """The smallest k >= 0 with Pr[noise > k] <= beta."""


class IntegerNoise(PerCount, ABC):
    """Pr[C > N] <= beta for every count N.

    beta: error of one certificate, exact.
    """

    beta: Fraction

    @property
    @abstractmethod
    def law(self) -> IntegerLaw:
        """Of the noise on one count."""

    @cached_property
    def margin(self) -> int:
        """k >= 0, the smallest with Pr[noise > k] <= beta."""
        return self.law.margin(self.beta)

    @property
    def coin(self) -> Fraction:
        """Probability that the certificate is one higher; none unless a mechanism has one."""
        return Fraction(0)

    @property
    def margin_units(self) -> Fraction:
        """k."""
        return Fraction(self.margin)

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[N + noise - k + B >= t]."""
        threshold = threshold_units(n, theta)
        if n == 0 or threshold == 0:
            return float(n > 0)
        needed = threshold - count + self.margin
        without = float(self.law.upper_tail(needed))
        if not self.coin:
            return without
        return without + float(self.coin) * (float(self.law.upper_tail(needed - 1)) - without)
