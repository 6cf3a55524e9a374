"""What a release loses, and how losses add up under a cap: exact sums (basic composition), which are a valid filter.

pure: epsilons add. approximate: epsilons and deltas add, each under its own cap. zcdp: rho adds (Bun and Steinke 2016,
arXiv:1605.02065, Lemma 1.7); a release of epsilon-DP parts enters with sum of epsilon_i^2 / 2 (their Proposition 1.4).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction

RHO_DIGITS = 30


class Composition(StrEnum):
    """How an account adds up what is charged to it."""

    PURE = "pure"
    APPROXIMATE = "approximate"
    ZCDP = "zcdp"


class CompositionError(ValueError):
    """The account's composition cannot take such a release; the message says which other one can."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Privacy loss of one release, or a cap: (epsilon, delta)-DP and, where known, rho-zCDP.

    epsilon: nats. delta: probability. rho: zCDP; None where the release has no such guarantee of its own.
    Raises ValueError for a negative part or delta >= 1.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1 or (self.rho is not None and self.rho < 0):
            raise ValueError("a loss needs epsilon >= 0, 0 <= delta < 1 and rho >= 0")


NOTHING = Loss(Fraction(0), Fraction(0), Fraction(0))


def pure_loss(epsilons: Iterable[Fraction]) -> Loss:
    """A release of pure epsilon_i-DP parts on the same units: epsilons add; rho = sum of epsilon_i^2 / 2.

    rho is rounded up to a decimal of 30 significant digits, so that it can be written down and summed exactly.
    """
    parts = list(epsilons)
    rho = sum((part**2 for part in parts), Fraction(0)) / 2
    return Loss(sum(parts, Fraction(0)), Fraction(0), decimal_up(rho, RHO_DIGITS))


def gaussian_loss(rho: Fraction, epsilon: Fraction, delta: Fraction) -> Loss:
    """A release calibrated in zCDP whose rho implies (epsilon, delta); ValueError for rho = 0 or delta = 0."""
    if rho <= 0 or delta <= 0:
        raise ValueError("a Gaussian release loses rho > 0 at delta > 0")
    return Loss(epsilon, delta, rho)


def total(losses: Iterable[Loss], composition: Composition) -> dict[str, Fraction]:
    """The exact sum of every part that such an account counts, by name. Raises CompositionError."""
    sums = amounts(NOTHING, composition)
    for loss in losses:
        for name, amount in amounts(loss, composition).items():
            sums[name] += amount
    return sums


def fits(cap: Loss, spent: Iterable[Loss], loss: Loss, composition: Composition) -> bool:
    """Would everything spent and this loss stay within the cap? Raises CompositionError."""
    limits, sums = amounts(cap, composition), total([*spent, loss], composition)
    return all(sums[name] <= limits[name] for name in sums)


def amounts(loss: Loss, composition: Composition) -> dict[str, Fraction]:
    """The parts of a loss that such an account counts. Raises CompositionError where they leave something out."""
    if composition is Composition.APPROXIMATE:
        return {"epsilon": loss.epsilon, "delta": loss.delta}
    if composition is Composition.PURE:
        if loss.delta > 0:
            raise CompositionError("delta: a pure account takes no release with delta > 0; use approximate or zcdp")
        return {"epsilon": loss.epsilon}
    if loss.rho is None:
        raise CompositionError("rho: a zcdp account takes no release that states no rho; use approximate")
    return {"rho": loss.rho}


def decimal_up(value: Fraction, digits: int) -> Fraction:
    """The smallest decimal of `digits` significant digits that is >= value."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
