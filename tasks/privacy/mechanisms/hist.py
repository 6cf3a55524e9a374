"""Histogram mechanism: contribution-bounded counts, released jointly without a split over m (spec 1.6)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from tasks.privacy.accounting import Loss, pure_loss
from tasks.privacy.contributions import l1_sensitivity
from tasks.privacy.design import Design, check_parameters
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.sampler_scales import laplace_scale


@dataclass(frozen=True)
class Hist(Frontier):
    """epsilon-DP certificates C = N + G - k + B of truncated counts N, thus of the true counts, which are no smaller.

    Replacing one unit moves the truncated counts by at most D in L1, and each G has rate epsilon / D: the joint
    density changes by at most e^epsilon. The coin B of `frontier` spends what the margin k leaves of beta; it is
    independent of the counts, so it costs no privacy, and no certificate is lower for it.

    Counts are truncated ones everywhere here. scale: of each coordinate's noise, in units. beta: error of each
    coordinate. sensitivity: D >= 1, in units: the sampler's loss is that at L1 distance D.
    """

    name: ClassVar[str] = "hist"
    takes: ClassVar[frozenset[str]] = frozenset({"contributions"})
    meaning: ClassVar[str] = (
        "at least this many units support it, except with probability beta; a unit counts for at most C statements"
    )

    sensitivity: int = 1

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction, sensitivity: int = 1) -> Self:
        """Scale rounded up so that the sampler's loss at distance D is at most epsilon; DesignError out of range."""
        return cls(laplace_scale(epsilon, sensitivity), beta, sensitivity)

    @classmethod
    def designed(cls, design: Design) -> Self:
        """All of epsilon for the whole vector."""
        check_parameters(cls.name, cls.takes, design)
        assert design.contributions is not None
        sensitivity = l1_sensitivity(design.statements, design.contributions)
        return cls.calibrated(design.epsilon, design.beta_each, sensitivity)

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """One epsilon-DP release."""
        check_parameters(cls.name, cls.takes, design)
        return pure_loss([design.epsilon])
