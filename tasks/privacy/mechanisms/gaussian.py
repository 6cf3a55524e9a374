"""Gaussian filter of the paper: L = f + Z - sigma z, the m counts released as one vector (spec 1.3).

Simulation only: floating-point noise leaks (Mironov 2012); `discrete_gaussian` is the release version.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss
from tasks.privacy.analytic_gaussian import gaussian_sigma
from tasks.privacy.design import Design, check_parameters
from tasks.privacy.mechanisms.protocol import Certificates, Counts, PerCount, Probabilities
from tasks.privacy.normal_tail import upper_tail, z_upper
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Gaussian(PerCount):
    """(epsilon, delta)-DP over the reals, emit iff L >= theta.

    sigma: of the noise on a count, in units; a share of n has sigma / n. beta: error of one certificate.
    """

    name: ClassVar[str] = "gaussian"
    releasable: ClassVar[bool] = False
    answers_every_threshold: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"delta"})
    meaning: ClassVar[str] = "the support is at least this share, except with probability beta"

    sigma: Fraction
    beta: Fraction

    @classmethod
    def designed(cls, design: Design) -> Self:
        """sigma of the analytic Gaussian mechanism: replacing a unit moves the vector by at most sqrt(m) in L2."""
        check_parameters(cls.name, cls.takes, design)
        sigma = gaussian_sigma(design.epsilon, design.delta, Fraction(design.statements))
        return cls(Fraction(sigma), design.beta_each)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """(epsilon, delta) of the whole vector; it is not calibrated in zCDP."""
        check_parameters(cls.name, cls.takes, design)
        return Loss(design.epsilon, design.delta)

    @property
    def margin_units(self) -> Fraction:
        """sigma z_(1 - beta), a nearest double."""
        return Fraction(float(self.sigma) * z_upper(self.beta))

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[N + Z >= n theta + margin]."""
        if n == 0 or threshold_units(n, theta) == 0:
            return float(n > 0)
        return upper_tail(float((n * theta - count) / self.sigma) + z_upper(self.beta))

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln density of n L, per unit."""
        noise = np.asarray(certificates, dtype=np.float64) - counts + float(self.margin_units)
        standard: Probabilities = noise / float(self.sigma)
        return -(standard**2) / 2 - math.log(float(self.sigma) * math.sqrt(2 * math.pi))
