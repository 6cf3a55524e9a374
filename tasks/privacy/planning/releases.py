"""What several releases like the planned one lose together: exact sums, and a PLD total for information."""

from dataclasses import dataclass
from fractions import Fraction

from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.gaussian import Gaussian
from tasks.privacy.mechanisms.hist import Hist
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.pld import GaussianPart, LaplacePart, pld_epsilon

HIGHEST_EPSILON = 1000


@dataclass(frozen=True, slots=True)
class Totals:
    """Losses of `releases` releases on the same units.

    epsilon, delta, rho: basic sums, exact; what an account counts. rho is None where a release states none.
    pld_epsilon: an upper estimate of epsilon at pld_delta by numerical composition, for plans fixed in advance:
    information, not a filter. None without a delta, above a sum of 1000 nats, and for `gaussian`.
    """

    releases: int
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    pld_delta: Fraction | None
    pld_epsilon: float | None


def together(mechanism: str, design: Design, releases: int, pld_delta: Fraction | None) -> Totals:
    """`releases` >= 1 times this design. Raises DesignError by name."""
    loss = MECHANISMS[mechanism].loss(design)
    epsilon = releases * loss.epsilon
    numerical = MECHANISMS[mechanism] is not Gaussian and epsilon <= HIGHEST_EPSILON
    return Totals(
        releases=releases,
        epsilon=epsilon,
        delta=releases * loss.delta,
        rho=None if loss.rho is None else releases * loss.rho,
        pld_delta=pld_delta,
        pld_epsilon=pld_epsilon(_parts(mechanism, design, releases), pld_delta) if numerical and pld_delta else None,
    )


def _parts(mechanism: str, design: Design, releases: int) -> list[LaplacePart | GaussianPart]:
    """Independent noises of all releases.

    One count with two-sided geometric noise of rate epsilon has the losses of randomised response, which dominate those
    of any epsilon-DP mechanism: that part stands for continuous noises and for selections too.
    """
    chosen = MECHANISMS[mechanism].designed(design)
    if isinstance(chosen, DiscreteGaussianMechanism):
        return [GaussianPart(chosen.sigma, design.statements * releases)]
    if isinstance(chosen, Hist):  # at most D counts move, each by 1
        return [LaplacePart(design.epsilon / chosen.sensitivity, chosen.sensitivity * releases)]
    if isinstance(chosen, Selecting):
        selection, certificate = chosen.budget(design)
        return [LaplacePart(selection, releases), LaplacePart(certificate, chosen.selected * releases)]
    return [LaplacePart(design.epsilon_each, design.statements * releases)]
