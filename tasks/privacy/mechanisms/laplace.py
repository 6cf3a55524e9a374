"""Laplace filter of the paper (PrivCert-PF): L = f + Z - tau, emit iff L >= theta. Simulation only."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Laplace:
    """epsilon-DP over the reals; floating-point noise leaks (Mironov 2012), so a release refuses it.

    epsilon: loss of one answer, nats. beta: error of one certificate; the margin is the sharp one-sided one.
    """

    name: ClassVar[str] = "laplace"
    releasable: ClassVar[bool] = False

    epsilon: Fraction
    beta: Fraction

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction) -> Self:
        """No sampler, no rounding."""
        return cls(epsilon=epsilon, beta=beta)

    def margin_units(self, n: int) -> Fraction:
        """n tau = ln(1 / (2 beta)) / epsilon, a nearest double."""
        return Fraction(math.log(1 / (2 * float(self.beta))) / float(self.epsilon))

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[Z >= theta + tau - f] with Z ~ Lap(1 / (n epsilon)); theta = 0 emits."""
        if n == 0 or threshold_units(n, theta) == 0:
            return float(n > 0)
        short = float(n * theta - count + self.margin_units(n)) * float(self.epsilon)
        return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)
