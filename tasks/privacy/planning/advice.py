"""Which mechanism and which public parameters certify most, under a declared prior of supports.

The parameters are functions of public settings and of the prior only, so they may be used for a release. A prior that
was fitted to the records to be certified would void that.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.mechanisms.protocol import Probabilities
from tasks.privacy.planning.bounding import bounded_counts, kept_shares
from tasks.privacy.planning.power import Plan, for_mechanism, plan
from tasks.privacy.planning.priors import Prior, prior_counts
from tasks.privacy.thresholds import threshold_units

MAX_STATEMENTS = 10_000
SELECTION_SHARES = (Fraction("0.25"), Fraction("0.5"), Fraction("0.75"))
SELECTED = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80)
_EVERY_CONTRIBUTION = 32
_STEP = 8


@dataclass(frozen=True, slots=True)
class Option:
    """One mechanism with its best public parameters.

    smallest_count_certified: units that support the statement, before contribution bounding; for `hist` the count
    whose expectation after bounding reaches the plan's. expected_emitted, expected_supported: statements of the
    prior that are emitted, and those of them that reach theta.
    """

    plan: Plan
    releasable: bool
    smallest_count_certified: dict[str, int | None]
    expected_emitted: float
    expected_supported: float


@dataclass(frozen=True, slots=True)
class Advice:
    """All options, in the order of MECHANISMS. supported: statements of the prior that reach theta.

    refused: mechanisms that cannot have this design, and why.
    """

    supported: int
    options: tuple[Option, ...]
    refused: dict[str, str]

    def lowest(self, power: str) -> Option | None:
        """The release-capable option that certifies the lowest support; the first of equals."""
        able = [option for option in self.options if option.releasable and self._count(option, power) is not None]
        return min(able, key=lambda option: self._count(option, power) or 0, default=None)

    def most(self) -> Option | None:
        """The release-capable option with the most certified supported statements; the first of equals."""
        able = [option for option in self.options if option.releasable and round(option.expected_supported, 9) > 0]
        return max(able, key=lambda option: round(option.expected_supported, 9), default=None)

    @staticmethod
    def _count(option: Option, power: str) -> int | None:
        return option.smallest_count_certified[power]


def advise(design: Design, theta: Fraction, prior: Prior) -> Advice:
    """Every mechanism at the budget of this design, with its own best parameters in place of the design's.

    delta goes to the mechanisms that take one. Raises DesignError for more than 10,000 statements.
    """
    if design.statements > MAX_STATEMENTS:
        raise DesignError(f"advice: compares mechanisms for at most {MAX_STATEMENTS} statements")
    counts = prior_counts(prior, design.n, design.statements)
    options, refused = [], {}
    for name in MECHANISMS:
        try:
            options.append(_option(name, design, theta, prior, counts))
        except DesignError as error:
            refused[name] = str(error)
    threshold = threshold_units(design.n, theta)
    return Advice(sum(count >= threshold for count in counts), tuple(options), refused)


def best_design(name: str, design: Design, theta: Fraction, counts: Sequence[int]) -> Design:
    """The design whose expected number of certified supported statements is largest; the first of equals.

    counts: of the statements of a prior, in public order. Raises DesignError where no candidate can be had.
    """
    takes, delta = MECHANISMS[name].takes, design.delta if "delta" in MECHANISMS[name].takes else Fraction(0)
    base = replace(design, delta=delta, contributions=None, selected=None, selection_share=None)
    base = for_mechanism(name, base, theta)
    if "contributions" in takes:
        candidates = [replace(base, contributions=bound) for bound in contribution_candidates(design.statements)]
    elif "selected" in takes:
        candidates = list(_selecting(base))
    else:
        return base
    scored, refused = [], None
    for candidate, kept in _kept(candidates, counts):
        try:
            scored.append((_expected(name, candidate, kept, theta, counts)[1], candidate))
        except DesignError as error:
            refused = error
    if not scored and refused is not None:
        raise refused
    return max(scored, key=lambda pair: round(pair[0], 9))[1]


def contribution_candidates(statements: int) -> list[int]:
    """C up to 32 one by one, then in steps of an eighth, and m.

    From m / 2 on the noise is that of C = m, so nothing between them is better than m.
    """
    found, bound = [], 1
    while 2 * bound < statements:
        found.append(bound)
        bound += 1 if bound < _EVERY_CONTRIBUTION else bound // _STEP
    return [*found, statements]


def _selecting(base: Design) -> Iterator[Design]:
    for selected in SELECTED:
        if selected <= base.statements:
            for share in SELECTION_SHARES:
                yield replace(base, selected=selected, selection_share=share)


def _kept(designs: Sequence[Design], counts: Sequence[int]) -> Iterable[tuple[Design, Probabilities | None]]:
    """Each design with the shares that contribution bounding keeps, computed for all at once."""
    bounds = [design.contributions for design in designs if design.contributions is not None]
    if not bounds or not designs[0].n:
        return [(design, None) for design in designs]
    return zip(designs, kept_shares([count / designs[0].n for count in counts], bounds), strict=True)


def _expected(
    name: str, design: Design, kept: Probabilities | None, theta: Fraction, counts: Sequence[int]
) -> tuple[float, float]:
    """Expected number of emitted statements, and of those that reach theta."""
    certified = counts if kept is None else bounded_counts(counts, kept)
    chances = MECHANISMS[name].designed(design).emit_probabilities(certified, design.n, theta)
    threshold = threshold_units(design.n, theta)
    supported = [count >= threshold for count in counts]
    return float(chances.sum()), float(chances[supported].sum())


def _option(name: str, design: Design, theta: Fraction, prior: Prior, counts: Sequence[int]) -> Option:
    best = best_design(name, design, theta, counts)
    made = plan(name, best, theta, prior)
    ((_, kept),) = _kept([best], counts)
    emitted, supported = _expected(name, best, kept, theta, counts)
    found = made.smallest_count_emitted.items()
    return Option(
        plan=made,
        releasable=MECHANISMS[name].releasable,
        smallest_count_certified={power: _before_bounding(count, best, prior) for power, count in found},
        expected_emitted=emitted,
        expected_supported=supported,
    )


def _before_bounding(count: int | None, design: Design, prior: Prior) -> int | None:
    """The smallest count of a statement beside m - 1 others of the prior that bounding leaves at `count`."""
    if count is None or design.contributions is None:
        return count
    others = [other / design.n for other in prior_counts(prior, design.n, design.statements - 1)]
    # what the others leave does not depend on the statement's own support
    ((share, *_),) = kept_shares([0.0, *others], [design.contributions])
    needed = math.ceil(count / share * (1 - 1e-12))
    return needed if needed <= design.n else None
