"""Geometric mechanism: C = N + G - k, two-sided geometric G, deterministic margin k (spec 1.3)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss, pure_loss
from tasks.privacy.design import Design, DesignError, check_parameters
from tasks.privacy.discrete_laplace import DiscreteLaplace
from tasks.privacy.mechanisms.integer_noise import IntegerNoise
from tasks.privacy.mechanisms.protocol import Certificates, Counts, CountVector, Probabilities
from tasks.privacy.sampler_scales import laplace_scale
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Geometric(IntegerNoise):
    """epsilon-DP certificate with Pr[C > N] = Pr[G > k] <= beta.

    scale: of the noise, in units; the double that the sampler gets (or, in studies, its nearest fraction).
    beta: error of this one certificate, exact.
    """

    name: ClassVar[str] = "geometric"
    releasable: ClassVar[bool] = True
    answers_every_threshold: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"weights"})
    meaning: ClassVar[str] = "at least this many units support it, except with probability beta"

    scale: Fraction
    beta: Fraction

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction) -> Self:
        """Scale rounded up so that the sampler's loss is at most epsilon; DesignError where epsilon is too small."""
        try:
            DiscreteLaplace(epsilon)  # range check by name
        except ValueError as error:
            raise DesignError(f"epsilon: {error}") from None
        return cls(scale=laplace_scale(epsilon, 1), beta=beta)

    @classmethod
    def designed(cls, design: Design) -> Self:
        """Equal or weighted shares of epsilon and beta."""
        check_parameters(cls.name, cls.takes, design)
        return cls.calibrated(design.epsilon_each, design.beta_each)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """Sequential composition of the m statements (one statement, where the design is one share)."""
        times = design.statements if design.share is None else 1
        return pure_loss([design.epsilon_each] * times)

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise, with its real rate."""
        return DiscreteLaplace(1 / self.scale)

    def emit_probabilities(self, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """All at once in doubles, about 1e-12 of each `emit_probability`."""
        threshold = threshold_units(n, theta)
        if n == 0 or threshold == 0:
            return np.full(len(counts), float(n > 0))
        needed, q = threshold + self.margin - np.asarray(counts, dtype=np.float64), float(self.coin)
        found: Probabilities = (1 - q) * self._upper_tails(needed) + q * self._upper_tails(needed - 1)
        return found

    def _upper_tails(self, j: Probabilities) -> Probabilities:
        rate = float(1 / self.scale)
        far: Probabilities = np.exp(-rate * np.where(j >= 1, j, 1 - j)) / (1 + math.exp(-rate))
        return np.where(j >= 1, far, 1 - far)

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln((1 - q) Pr[G = C - N + k] + q Pr[G = C - N + k - 1])."""
        noise, rate, q = np.asarray(certificates) - counts + self.margin, float(1 / self.scale), float(self.coin)
        plain, with_coin = np.abs(noise) * -rate, np.abs(noise - 1) * -rate
        with np.errstate(divide="ignore"):  # ln 0 of a coin that never (or always) falls heads
            mixed = np.logaddexp(np.log1p(-q) + plain, np.log(q) + with_coin)
        found: Probabilities = np.log(np.tanh(rate / 2)) + mixed
        return found
