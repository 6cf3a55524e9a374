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
from tasks.privacy.planning.estimating import estimated_probe
from tasks.privacy.planning.priors import DEFAULT_PRIOR, Prior, prior_counts
from tasks.privacy.planning.probing import selection_probability
from tasks.privacy.thresholds import is_vacuous, threshold_units

POWERS = ("0.5", "0.8", "0.95")
MAX_SELECTION = 1_000_000  # beyond, one plan takes minutes


@dataclass(frozen=True, slots=True)
class Plan:
    """The exact power of one release.

    epsilon_per_statement: None where the mechanism does not split epsilon over the statements.
    epsilon_per_certificate: that, or after a selection what each of the at most k certificates costs; None where one
    noise vector serves all. margin_units: taken off each noisy count. smallest_count_emitted: for each probability, the
    smallest count of supporting units that is emitted with at least that probability; None where not even n is. For
    `hist` it is a contribution-bounded count; for `svt` and `topk` the other statements lie at the quantiles of the
    prior.
    """

    mechanism: str
    design: Design
    threshold_units: int
    epsilon_per_statement: Fraction | None
    epsilon_per_certificate: Fraction | None
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


def plan(
    mechanism: str, design: Design, theta: Fraction, prior: Prior = DEFAULT_PRIOR, *, estimated: bool = False
) -> Plan:
    """The plan at this threshold; `design` needs no theta of its own. estimated: selections by `estimating`.

    Raises KeyError for an unknown mechanism, DesignError by name for a design that the mechanism cannot take.
    """
    kind, asked = MECHANISMS[mechanism], for_mechanism(mechanism, design, theta)
    chosen = kind.designed(asked)
    each = asked.epsilon_each if "weights" in kind.takes else None
    return Plan(
        mechanism=mechanism,
        design=asked,
        threshold_units=threshold_units(asked.n, theta),
        epsilon_per_statement=each,
        epsilon_per_certificate=chosen.epsilon_certificate if isinstance(chosen, Selecting) else each,
        beta_per_statement=asked.beta_each,
        margin_units=chosen.margin_units,
        vacuous=is_vacuous(chosen.margin_units, asked.n, theta),
        smallest_count_emitted=power(chosen, asked, theta, prior, estimated=estimated),
    )


def for_mechanism(mechanism: str, design: Design, theta: Fraction) -> Design:
    """The design with the theta, where the mechanism's answer depends on it, and without it elsewhere."""
    return replace(design, theta=theta if "theta" in MECHANISMS[mechanism].takes else None)


def power(
    chosen: Mechanism, design: Design, theta: Fraction, prior: Prior = DEFAULT_PRIOR, *, estimated: bool = False
) -> dict[str, int | None]:
    """Smallest count emitted with each of the probabilities in POWERS; see `plan`."""
    probability = cache(probe(chosen, design, theta, prior, estimated=estimated))
    if not isinstance(chosen, Selecting):
        return {at: smallest(design.n, 0, lambda count, at=float(at): probability(count) >= at) for at in POWERS}  # type: ignore[misc]
    # a certificate must reach theta with at least this probability
    starts = {at: count or 0 for at, count in power(chosen.certifier, design, theta).items()}
    rough = cache(probe(chosen, design, theta, prior, estimated=True))
    found: dict[str, int | None] = {}
    for at, start in starts.items():
        guess = smallest(design.n, start, lambda count, at=float(at): rough(count) >= at)  # type: ignore[misc]
        reached: Callable[[int], bool] = lambda count, at=float(at): probability(count) >= at  # type: ignore[misc] # noqa: E731
        found[at] = guess if estimated else smallest(design.n, start, reached, guess)
    return found


def probe(
    chosen: Mechanism, design: Design, theta: Fraction, prior: Prior, *, estimated: bool = False
) -> Callable[[int], float]:
    """Exact Pr[emit] of one statement as a function of its count.

    Where the other statements matter (svt, topk), there are m - 1 of them at the quantiles of the prior, in spread
    order, and the probe stands in the middle of them. DesignError where they are too many to say it exactly;
    estimated: Pr[selected] by `estimating` instead, for any number.
    """
    if isinstance(chosen, PerCount):
        alone = cast(CountMechanism, chosen)
        return lambda count: alone.emit_probability(count, design.n, theta)
    if design.n == 0 or threshold_units(design.n, theta) == 0:
        return lambda _: float(design.n > 0)
    assert isinstance(chosen, Selecting)
    if not estimated and chosen.selected * design.statements > MAX_SELECTION:
        raise DesignError(f"selected: an exact plan needs selected times statements of at most {MAX_SELECTION}")
    others = prior_counts(prior, design.n, design.statements - 1)
    before, after = others[: len(others) // 2], others[len(others) // 2 :]
    is_selected = (estimated_probe if estimated else selection_probability)(chosen, before, after)
    return lambda count: is_selected(count) * chosen.certifier.emit_probability(count, design.n, theta)


def smallest(n: int, start: int, reached: Callable[[int], bool], guess: int | None = None) -> int | None:
    """The smallest count in [start, n] with `reached`, which is monotone in the count and false below `start`.

    A good guess saves evaluations.
    """
    if n == 0 or not reached(n):
        return None
    low, high, step = start - 1, n, 1
    if guess is not None and low < guess < high:
        upwards = not reached(guess)
        low, high = (guess, high) if upwards else (low, guess)
        while high - low > step:
            place = low + step if upwards else high - step
            low, high, turned = (low, place, upwards) if reached(place) else (place, high, not upwards)
            if turned:
                break
            step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
