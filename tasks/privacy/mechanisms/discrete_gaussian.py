"""Discrete Gaussian mechanism: C = N + Z - k on integers, the m counts as one vector (spec 1.3). For releases.

rho is the largest that implies (epsilon, delta) (Canonne, Kamath and Steinke 2020, arXiv:2004.00010, Corollary 13);
discrete Gaussian noise on a vector that moves by sqrt(m) in L2 has rho = m / (2 sigma^2) (their Theorem 14).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss, gaussian_loss
from tasks.privacy.design import Design, DesignError, check_parameters
from tasks.privacy.discrete_gaussian import DiscreteGaussian, sampler_sigma
from tasks.privacy.mechanisms.integer_noise import IntegerNoise
from tasks.privacy.mechanisms.protocol import Certificates, Counts, CountVector, Probabilities
from tasks.privacy.thresholds import threshold_units
from tasks.privacy.zcdp import largest_rho

_REACH = 39  # sigmas; e^(-39^2 / 2) is 0 in doubles
_LARGEST_TABLE = 2**22


@dataclass(frozen=True)
class DiscreteGaussianMechanism(IntegerNoise):
    """rho-zCDP, hence (epsilon, delta)-DP, certificates with Pr[C_j > N_j] = Pr[Z > k] <= beta.

    sigma: of the noise, in units; the double that the sampler gets. beta: error of one certificate, exact.
    """

    name: ClassVar[str] = "discrete_gaussian"
    releasable: ClassVar[bool] = True
    answers_every_threshold: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"delta"})
    meaning: ClassVar[str] = "at least this many units support it, except with probability beta"

    sigma: Fraction
    beta: Fraction

    @classmethod
    def designed(cls, design: Design) -> Self:
        """The smallest sigma with which the sampler itself states at most the rho of the design."""
        check_parameters(cls.name, cls.takes, design)
        rho = _rho(design)
        try:
            sigma = sampler_sigma(rho, design.statements)
        except ValueError as error:
            raise DesignError(f"epsilon: {error}") from None
        return cls(Fraction(sigma), design.beta_each)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """The rho that implies (epsilon, delta), and these two."""
        check_parameters(cls.name, cls.takes, design)
        return gaussian_loss(_rho(design), design.epsilon, design.delta)

    @cached_property
    def law(self) -> DiscreteGaussian:
        """The law of the noise on one count."""
        return DiscreteGaussian(self.sigma)

    def emit_probabilities(self, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """Elementwise `emit_probability`; by one sum in doubles, to about 1e-12 relative, where sigma is below 1e5."""
        threshold, edge = threshold_units(n, theta), math.ceil(_REACH * self.sigma)
        if n == 0 or threshold == 0 or edge > _LARGEST_TABLE:
            return super().emit_probabilities(counts, n, theta)
        masses = np.exp(-(np.arange(edge, 0, -1, dtype=np.float64) ** 2) / (2 * float(self.sigma) ** 2))
        tails = np.append(masses.cumsum()[::-1], 0.0)  # at j - 1: of all z >= j
        needed = threshold - np.asarray(counts, dtype=np.int64) + self.margin
        beyond = tails[np.minimum(np.where(needed >= 1, needed, 1 - needed) - 1, edge)] / (1 + 2 * tails[0])
        found: Probabilities = np.where(needed >= 1, beyond, 1 - beyond)
        return found

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln Pr[Z = C - N + k]."""
        noise = np.asarray(certificates, dtype=np.float64) - counts + self.margin
        standard: Probabilities = noise / float(self.sigma)
        return -(standard**2) / 2 - self.law.log_normaliser


def _rho(design: Design) -> Fraction:
    """What both parts of the release agree on, noise and charge. Raises DesignError by name."""
    try:
        return largest_rho(design.epsilon, design.delta)
    except ValueError as error:
        raise DesignError(f"epsilon: {error}") from None
