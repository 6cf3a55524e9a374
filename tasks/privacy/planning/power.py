"""Exact power of one release: the smallest count of supporting units that is emitted often enough."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import cast

from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS, Mechanism
from tasks.privacy.mechanisms.protocol import CountMechanism, PerCount
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.planning.priors import DEFAULT_PRIOR, Prior, prior_counts
from tasks.privacy.planning.probing import selection_probability
from tasks.privacy.thresholds import is_vacuous, threshold_units

POWERS = ("0.5", "0.8", "0.95")
MAX_SELECTION = 1_000_000  # beyond, one plan takes minutes


@dataclass(frozen=True, slots=True)
class Plan:
    """The exact power of one release.

    epsilon_per_statement: None where the mechanism does not split epsilon over the statements.
    margin_units: taken off each noisy count. smallest_count_emitted: for each probability, the smallest count of
    supporting units that is emitted with at least that probability; None where not even n is. For `hist` it is a
    contribution-bounded count; for `svt` and `topk` the other statements lie at the quantiles of the prior.
    """

    mechanism: str
    design: Design
    threshold_units: int
    epsilon_per_statement: Fraction | None
    beta_per_statement: Fraction
    margin_units: Fraction
    vacuous: bool
    smallest_count_emitted: dict[str, int | None]

    @property
    def margin_support(self) -> float:
        """The margin as a share of the units."""
        return self._share(self.margin_units)

    @property
    def smallest_support_emitted(self) -> dict[str, float | None]:
        """`smallest_count_emitted` as shares of the units."""
        found = self.smallest_count_emitted.items()
        return {power: None if count is None else self._share(count) for power, count in found}

    def _share(self, units: Fraction | int) -> float:
        return float(units / Fraction(self.design.n)) if self.design.n else float("inf")


def plan(mechanism: str, design: Design, theta: Fraction, prior: Prior = DEFAULT_PRIOR) -> Plan:
    """The plan at this threshold; `design` needs no theta of its own.

    Raises KeyError for an unknown mechanism, DesignError by name for a design that the mechanism cannot take.
    """
    kind, asked = MECHANISMS[mechanism], for_mechanism(mechanism, design, theta)
    chosen = kind.designed(asked)
    return Plan(
        mechanism=mechanism,
        design=asked,
        threshold_units=threshold_units(asked.n, theta),
        epsilon_per_statement=asked.epsilon_each if "weights" in kind.takes else None,
        beta_per_statement=asked.beta_each,
        margin_units=chosen.margin_units,
        vacuous=is_vacuous(chosen.margin_units, asked.n, theta),
        smallest_count_emitted=power(chosen, asked, theta, prior),
    )


def for_mechanism(mechanism: str, design: Design, theta: Fraction) -> Design:
    """The design with the theta, where the mechanism's answer depends on it, and without it elsewhere."""
    return replace(design, theta=theta if "theta" in MECHANISMS[mechanism].takes else None)


def power(chosen: Mechanism, design: Design, theta: Fraction, prior: Prior = DEFAULT_PRIOR) -> dict[str, int | None]:
    """Smallest count emitted with each of the probabilities in POWERS; see `Plan`."""
    probability, found = cache(probe(chosen, design, theta, prior)), dict.fromkeys(POWERS, 0)
    if isinstance(chosen, Selecting):  # a certificate must reach theta with at least this probability
        found |= {at: count or 0 for at, count in power(chosen.certifier, design, theta).items()}
    return {
        at: _smallest(design.n, start, lambda count, at=float(at): probability(count) >= at)  # type: ignore[misc]
        for at, start in found.items()
    }


def probe(chosen: Mechanism, design: Design, theta: Fraction, prior: Prior) -> Callable[[int], float]:
    """Exact Pr[emit] of one statement as a function of its count.

    Where the other statements matter (svt, topk), there are m - 1 of them at the quantiles of the prior, in spread
    order, and the probe stands in the middle of them. DesignError where they are too many to say it exactly.
    """
    if isinstance(chosen, PerCount):
        alone = cast(CountMechanism, chosen)
        return lambda count: alone.emit_probability(count, design.n, theta)
    if design.n == 0 or threshold_units(design.n, theta) == 0:
        return lambda _: float(design.n > 0)
    assert isinstance(chosen, Selecting)
    if chosen.selected * design.statements > MAX_SELECTION:
        raise DesignError(f"selected: an exact plan needs selected times statements of at most {MAX_SELECTION}")
    others = prior_counts(prior, design.n, design.statements - 1)
    before, after = others[: len(others) // 2], others[len(others) // 2 :]

    is_selected = selection_probability(chosen, before, after)
    return lambda count: is_selected(count) * chosen.certifier.emit_probability(count, design.n, theta)


def _smallest(n: int, start: int, reached: Callable[[int], bool]) -> int | None:
    """The smallest count in [start, n] with `reached`, which is monotone in the count and false below `start`."""
    if n == 0 or not reached(n):
        return None
    low, high, step = start - 1, n, 1 if start else n + 1
    while low + step < high:  # near the start first
        if reached(low + step):
            high = low + step
        else:
            low, step = low + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
