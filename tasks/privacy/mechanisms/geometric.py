"""Geometric mechanism: C = N + G - k, two-sided geometric G, deterministic margin k (spec 1.3)."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from tasks.privacy.discrete_laplace import DiscreteLaplace, sampler_scale
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Geometric:
    """epsilon-DP certificate with Pr[C > N] = Pr[G > k] <= beta.

    scale: of the noise, in units; the double that the sampler gets (or, in studies, its nearest fraction).
    beta: error of this one certificate, exact.
    """

    name: ClassVar[str] = "geometric"
    releasable: ClassVar[bool] = True

    scale: Fraction
    beta: Fraction

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction) -> Self:
        """Scale rounded up so that the sampler's loss is at most epsilon; ValueError where epsilon is too small."""
        DiscreteLaplace(epsilon)  # range check by name
        calibrated = cls(scale=Fraction(sampler_scale(epsilon)), beta=beta)
        DiscreteLaplace(1 / calibrated.scale)  # rounding the scale up may have left the range
        return calibrated

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise, with its real rate."""
        return DiscreteLaplace(1 / self.scale)

    @cached_property
    def margin(self) -> int:
        """k >= 0, the smallest with Pr[G > k] <= beta."""
        return self.law.margin(self.beta)

    @property
    def coin(self) -> Fraction:
        """Probability that the certificate is one higher; none here."""
        return Fraction(0)

    def margin_units(self, n: int) -> Fraction:
        """k."""
        return Fraction(self.margin)

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[N + G - k + B >= t]; certain at theta = 0, impossible with n = 0."""
        threshold = threshold_units(n, theta)
        if n == 0 or threshold == 0:
            return float(n > 0)
        needed = threshold - count + self.margin
        with_coin, without = float(self.law.upper_tail(needed - 1)), float(self.law.upper_tail(needed))
        return without + float(self.coin) * (with_coin - without)
