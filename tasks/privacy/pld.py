"""Privacy-loss totals of plans that are fixed in advance, by dp_accounting: information, never what a cap counts.

Numerical composition holds for parameters chosen before the first answer. Where a later release's parameters depend on
earlier answers it is no filter, so accounts add exact decimals (tasks/privacy/accounting). Neighbours replace the
content of one unit: a count moves by 1, and a vector of m counts by 1 in each coordinate, sqrt(m) in L2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

_WIDEST_GRID = 1e-4  # nats between the losses that are told apart
_FINEST_GRID = 1e-6


@dataclass(frozen=True, slots=True)
class LaplacePart:
    """`times` counts, each with discrete Laplace noise of this rate (its epsilon in nats): frontier, geometric."""

    rate: Fraction
    times: int

    @property
    def loss_each(self) -> float:
        """The largest loss of one count, nats."""
        return float(self.rate)

    def distribution(self, grid: float) -> Any:
        """Loss distribution of all the counts."""
        from dp_accounting.pld import privacy_loss_distribution as pld  # late: a slow import

        one = pld.from_discrete_laplace_mechanism(
            float(self.rate), sensitivity=1, value_discretization_interval=grid, use_connect_dots=True
        )
        return one.self_compose(self.times)


@dataclass(frozen=True, slots=True)
class GaussianPart:
    """One vector of `times` counts with discrete Gaussian noise of this sigma in each."""

    sigma: Fraction
    times: int

    @property
    def loss_each(self) -> float:
        """The usual size of one count's loss, nats."""
        return 1 / float(self.sigma)

    def distribution(self, grid: float) -> Any:
        """Loss distribution of the vector: its coordinates are independent, and each moves by at most 1."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        one = pld.from_discrete_gaussian_mechanism(
            float(self.sigma), sensitivity=1, value_discretization_interval=grid, use_connect_dots=True
        )
        return one.self_compose(self.times)


def pld_epsilon(parts: Sequence[LaplacePart | GaussianPart], delta: Fraction) -> float:
    """An upper estimate of the epsilon that all parts together have at delta, in floating point; 0 without parts.

    Raises ValueError unless 0 < delta < 1.
    """
    if not 0 < delta < 1:
        raise ValueError("delta: must be greater than 0 and less than 1")
    if not parts:
        return 0.0
    grid = min(_WIDEST_GRID, max(_FINEST_GRID, min(part.loss_each for part in parts) / 10))
    distributions = [part.distribution(grid) for part in parts]
    return float(reduce(lambda a, b: a.compose(b), distributions).get_epsilon_for_delta(float(delta)))
