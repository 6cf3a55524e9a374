"""Which mechanism and which public parameters certify most, under a declared prior of supports.

The parameters are functions of public settings and of the prior only, so they may be used for a release. A prior that
was fitted to the records to be certified would void that.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.planning.power import Plan, plan
from tasks.privacy.planning.priors import Prior
from tasks.privacy.planning.searching import (
    Aim,
    Question,
    before_bounding,
    best_design,
    expected_emitted,
    is_exact,
    selected_candidates,
)

MAX_STATEMENTS = 10_000


@dataclass(frozen=True, slots=True)
class Option:
    """One mechanism with the public parameters that serve one aim best.

    pure: its loss has no delta. exact: probabilities are exact, not estimated. smallest_count_certified: units that
    support the statement, before contribution bounding; for `hist` the count whose expectation after bounding reaches
    the plan's. expected_emitted, expected_supported: statements of the prior that are emitted, and those of them that
    reach theta.
    """

    plan: Plan
    releasable: bool
    pure: bool
    exact: bool
    smallest_count_certified: dict[str, int | None]
    expected_emitted: float
    expected_supported: float


@dataclass(frozen=True, slots=True)
class Advice:
    """All options, in the order of MECHANISMS. supported: statements of the prior that reach theta.

    options: parameters for the most supported statements. lowest_options: for the lowest support that is certified
    with probability 0.8. most_selected: the largest k that was tried. refused: mechanisms that cannot have this
    design, and why.
    """

    supported: int
    options: tuple[Option, ...]
    lowest_options: tuple[Option, ...]
    most_selected: int
    refused: dict[str, str]

    def lowest(self, power: str, *, pure: bool = False) -> Option | None:
        """The release-capable option that certifies the lowest support; the first of equals. pure: without delta."""
        found = [
            (count, option)
            for option in self.lowest_options
            if _is_able(option, pure=pure) and (count := option.smallest_count_certified[power]) is not None
        ]
        return min(found, key=lambda pair: pair[0], default=(0, None))[1]

    def most(self, *, pure: bool = False) -> Option | None:
        """The release-capable option with the most certified supported statements; the first of equals."""
        able = [o for o in self.options if _is_able(o, pure=pure) and round(o.expected_supported, 9) > 0]
        return max(able, key=lambda option: round(option.expected_supported, 9), default=None)


def advise(design: Design, theta: Fraction, prior: Prior) -> Advice:
    """Every mechanism at the budget of this design, with its own best parameters in place of the design's.

    delta goes to the mechanisms that take one. Raises DesignError for more than 10,000 statements.
    """
    if design.statements > MAX_STATEMENTS:
        raise DesignError(f"advice: compares mechanisms for at most {MAX_STATEMENTS} statements")
    design = replace(design, contributions=None, selected=None, selection_share=None)
    question = Question(design, theta, prior)
    found: dict[Aim, list[Option]] = {aim: [] for aim in Aim}
    refused = {}
    for name in MECHANISMS:
        try:
            pair = {aim: _option(name, best_design(name, question, aim), question) for aim in Aim}
        except DesignError as error:
            refused[name] = str(error)
            continue
        for aim, option in pair.items():
            found[aim].append(option)
    return Advice(
        supported=int(question.is_supported.sum()),
        options=tuple(found[Aim.MOST]),
        lowest_options=tuple(found[Aim.LOWEST]),
        most_selected=selected_candidates(question)[-1],
        refused=refused,
    )


def _is_able(option: Option, *, pure: bool) -> bool:
    return option.releasable and (option.pure or not pure)


def _option(name: str, best: Design, question: Question) -> Option:
    exact = is_exact(best)
    made = plan(name, best, question.theta, question.prior, estimated=not exact)
    emitted, supported = expected_emitted(name, best, question, exact=exact)
    counts = made.smallest_count_emitted
    if best.contributions is not None:
        kept = float(question.kept_beside_others([best.contributions])[0])
        counts = {power: before_bounding(count, kept, best.n) for power, count in counts.items()}
    return Option(
        plan=made,
        releasable=MECHANISMS[name].releasable,
        pure=MECHANISMS[name].loss(best).delta == 0,
        exact=exact,
        smallest_count_certified=counts,
        expected_emitted=emitted,
        expected_supported=supported,
    )
