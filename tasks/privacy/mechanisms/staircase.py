"""Staircase mechanism: emit with probability pi_d at distance d, the frontier itself (spec 1.3, Theorem 2)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss
from tasks.privacy.design import Design, check_parameters
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.protocol import Certificates, Counts, PerCount, Probabilities


@dataclass(frozen=True)
class Staircase(PerCount):
    """epsilon-DP decision at one declared threshold: the certificate is t when it is emitted, else 0.

    A frontier certificate of max(N, t - 1) reaches t with probability exactly pi_d, and raising counts below t - 1
    moves no count by more than one unit; so the exact sampler of `frontier` serves, and its proof.

    frontier: draws. threshold: t, in units.
    """

    name: ClassVar[str] = "staircase"
    releasable: ClassVar[bool] = True
    answers_every_threshold: ClassVar[bool] = False
    takes: ClassVar[frozenset[str]] = frozenset({"theta", "weights"})
    meaning: ClassVar[str] = "at least the share theta of the units supports it, except with probability beta"

    frontier: Frontier
    threshold: int

    @classmethod
    def designed(cls, design: Design) -> Self:
        """A frontier with these shares, and the threshold of the design."""
        check_parameters(cls.name, cls.takes, design)
        return cls(Frontier.calibrated(design.epsilon_each, design.beta_each), design.threshold)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """As `frontier`."""
        return Frontier.loss(design)

    @property
    def margin_units(self) -> Fraction:
        """k of the frontier."""
        return self.frontier.margin_units

    def raised(self, count: int) -> int:
        """max(N, t - 1): what the frontier certifies."""
        return max(count, self.threshold - 1)

    def lowered(self, certificate: int) -> int:
        """t when the frontier's certificate reaches it, else 0."""
        return self.threshold if certificate >= self.threshold else 0

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """pi_d where t stands for the declared threshold; a threshold above t is never reached, one below as t is."""
        asked = -(-(theta * n) // 1)
        if n == 0 or asked == 0:
            return float(n > 0)
        if asked > self.threshold:
            return 0.0
        return self._reached(count) if self.threshold else 1.0

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln pi_d where emitted, ln(1 - pi_d) where not."""
        reached = np.vectorize(self._reached, otypes=[np.float64])(counts)
        with np.errstate(divide="ignore"):
            found: Probabilities = np.where(np.asarray(certificates) > 0, np.log(reached), np.log1p(-reached))
        return found

    def _reached(self, count: int) -> float:
        n = max(self.threshold, self.raised(count), 1)
        return self.frontier.emit_probability(self.raised(count), n, Fraction(self.threshold, n))
