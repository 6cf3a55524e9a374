"""What a reader could infer without a certificate, and what no certifier can beat: public parameters only."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tasks.privacy.contributions import l1_sensitivity
from tasks.privacy.limits import fine_grained_bound, half_emission_distance, privcert_width, tv_bound
from tasks.privacy.planning.power import Plan

_HIGHEST_BETA = Fraction(1, 8)  # of Theorem 5


@dataclass(frozen=True, slots=True)
class Separation:
    """How far one output can tell datasets apart that differ in the content of `distance` units (Theorem 1).

    tv_release: total variation of the whole output at most this, for any mechanism with the budget of the release.
    tv_statement: the same of one statement's part of the output, with `statement_epsilon`; None where there is none.
    Close to 0: the output says next to nothing about it. Close to 1: no bound worth having, and no certificate either.
    """

    distance: int
    tv_release: float
    tv_statement: float | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What no certifier can beat at this budget (Theorems 2 and 5). Both theorems speak of pure DP.

    half_emission_distance_units: k* of one statement with `statement_epsilon`; below it no honest certifier emits with
    probability 1/2. width_bound_units: n w of Theorem 5, the width above theta that separating all statements at once
    needs, <= 0 where it says nothing; None for beta >= 1/8 too. width_privcert_units: n w_PF, what equal shares need.
    All None where the plan gives one statement another loss than the theorem's; the widths for `hist` too.
    """

    half_emission_distance_units: int | None
    width_bound_units: float | None
    width_privcert_units: float | None


def statement_epsilon(made: Plan) -> Fraction | None:
    """The pure loss of what the output says about one statement: its share of epsilon, epsilon / D for `hist`.

    None where that part has no pure loss of its own: after a selection, which looks at every statement with all of
    epsilon, and for Gaussian noise.
    """
    design = made.design
    if design.contributions is not None:  # a unit moves one bounded count by at most 1, at rate epsilon / D
        return design.epsilon / l1_sensitivity(design.statements, design.contributions)
    return made.epsilon_per_statement


def separations(made: Plan, distances: Iterable[int]) -> list[Separation]:
    """One line for each distance, ascending, each once."""
    design, each = made.design, statement_epsilon(made)
    return [
        Separation(
            distance=distance,
            tv_release=tv_bound(distance, design.epsilon, design.delta),
            tv_statement=None if each is None else tv_bound(distance, each),
        )
        for distance in sorted(set(distances))
    ]


def certified_distances(made: Plan) -> list[int]:
    """1 (the nearest unsupported dataset), and d = N - t + 1 of each smallest count that is emitted."""
    counts = [count for count in made.smallest_count_emitted.values() if count is not None]
    return [1, *(max(count - made.threshold_units + 1, 1) for count in counts)]


def limits(made: Plan) -> Limits:
    """Of the planned mechanism's own split of epsilon."""
    design, each, beta = made.design, statement_epsilon(made), made.beta_per_statement
    m, is_split = design.statements, made.epsilon_per_statement is not None
    return Limits(
        half_emission_distance_units=None if each is None else half_emission_distance(each, beta),
        width_bound_units=fine_grained_bound(m, design.epsilon, beta) if is_split and beta < _HIGHEST_BETA else None,
        width_privcert_units=privcert_width(m, design.n, design.epsilon, beta) * design.n if is_split else None,
    )
