"""Laplace filter of the paper (PrivCert-PF), L = f + Z - tau, and its certificate rounded up to whole units.

Simulation only: floating-point Laplace noise leaks (Mironov 2012), so a release refuses both.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss, pure_loss
from tasks.privacy.design import Design, check_parameters
from tasks.privacy.mechanisms.protocol import Certificates, Counts, CountVector, PerCount, Probabilities
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Laplace(PerCount):
    """epsilon-DP over the reals, emit iff L >= theta.

    epsilon: loss of one answer, nats. beta: error of one certificate; the margin is the sharp one-sided one.
    """

    name: ClassVar[str] = "laplace"
    releasable: ClassVar[bool] = False
    answers_every_threshold: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"weights"})
    meaning: ClassVar[str] = "the support is at least this share, except with probability beta"

    epsilon: Fraction
    beta: Fraction

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction) -> Self:
        """No sampler, no rounding."""
        return cls(epsilon=epsilon, beta=beta)

    @classmethod
    def designed(cls, design: Design) -> Self:
        """Equal or weighted shares of epsilon and beta."""
        check_parameters(cls.name, cls.takes, design)
        return cls(design.epsilon_each, design.beta_each)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """Sequential composition."""
        times = design.statements if design.share is None else 1
        return pure_loss([design.epsilon_each] * times)

    @property
    def margin_units(self) -> Fraction:
        """n tau = ln(1 / (2 beta)) / epsilon, a nearest double."""
        return Fraction(math.log(1 / (2 * self.beta)) / float(self.epsilon))

    def needed_units(self, n: int, theta: Fraction) -> Fraction:
        """What the noisy count less the margin must reach: n theta."""
        return n * theta

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[N + Z >= needed + margin], Z of scale 1 / epsilon units."""
        if n == 0 or threshold_units(n, theta) == 0:
            return float(n > 0)
        short = float(self.needed_units(n, theta) - count + self.margin_units) * float(self.epsilon)
        return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)

    def emit_probabilities(self, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """All at once in doubles, about 1e-12 of each `emit_probability`."""
        if n == 0 or threshold_units(n, theta) == 0:
            return np.full(len(counts), float(n > 0))
        needed = float(self.needed_units(n, theta) + self.margin_units)
        short = (needed - np.asarray(counts, dtype=np.float64)) * float(self.epsilon)
        tail: Probabilities = 0.5 * np.exp(-np.abs(short))
        return np.where(short >= 0, tail, 1 - tail)

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln density of n L, per unit."""
        rate = float(self.epsilon)
        noise = np.asarray(certificates, dtype=np.float64) - counts + float(self.margin_units)
        return math.log(rate / 2) - rate * np.abs(noise)
