"""What a release would certify, before any data is touched."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from schemas.audit import Scope
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.scope import beta_per_statement
from tasks.privacy.thresholds import is_vacuous, threshold_units

POWERS = ("0.5", "0.8", "0.95")


@dataclass(frozen=True, slots=True)
class Plan:
    """The exact power of one release.

    margin_units: taken off each noisy count. smallest_count_emitted: for each probability, the smallest count of
    supporting units that is emitted with at least that probability; None where not even n is.
    """

    n: int
    statements: int
    threshold_units: int
    epsilon_per_statement: Fraction
    beta_per_statement: Fraction
    margin_units: Fraction
    vacuous: bool
    smallest_count_emitted: dict[str, int | None]

    @property
    def margin_support(self) -> float:
        """The margin as a share of the units."""
        return float(self.margin_units / self.n) if self.n else float("inf")


def plan(
    mechanism: str, n: int, statements: int, theta: Fraction, epsilon: Fraction, beta: Fraction, scope: Scope
) -> Plan:
    """The plan for `statements` distinct candidates that share epsilon equally (spec 1.3, sequential composition).

    Raises KeyError for an unknown mechanism, ValueError for an epsilon per statement outside the sampler's range.
    """
    beta_each, epsilon_each = beta_per_statement(beta, statements, scope), epsilon / statements
    chosen = MECHANISMS[mechanism].calibrated(epsilon_each, beta_each)
    margin = chosen.margin_units(n)
    return Plan(
        n=n,
        statements=statements,
        threshold_units=threshold_units(n, theta),
        epsilon_per_statement=epsilon_each,
        beta_per_statement=beta_each,
        margin_units=margin,
        vacuous=is_vacuous(margin, n, theta),
        smallest_count_emitted={
            power: _smallest(n, lambda count, at=float(power): chosen.emit_probability(count, n, theta) >= at)  # type: ignore[misc]
            for power in POWERS
        },
    )


def _smallest(n: int, reached: Callable[[int], bool]) -> int | None:
    """The smallest count in [0, n] with `reached`, which is monotone in the count."""
    if n == 0 or not reached(n):
        return None
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
