"""What a reader could infer without a certificate, and what no certifier can beat: public parameters only."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tasks.privacy.design import Design
from tasks.privacy.limits import fine_grained_bound, half_emission_distance, privcert_width, tv_bound
from tasks.privacy.planning.power import Plan
from tasks.privacy.scope import beta_per_statement

_HIGHEST_BETA = Fraction(1, 8)  # of Theorem 5


@dataclass(frozen=True, slots=True)
class Separation:
    """How far one output can tell datasets apart that differ in the content of `distance` units (Theorem 1).

    tv_release: total variation at most this for any mechanism with the budget of the whole release.
    tv_statement: the same with one statement's equal share of epsilon and delta.
    Close to 0: the output says next to nothing about it. Close to 1: no bound worth having, and no certificate either.
    """

    distance: int
    tv_release: float
    tv_statement: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What no certifier can beat at this budget (Theorems 2 and 5).

    half_emission_distance_units: k* of one statement with its equal share; below it no honest certifier emits with
    probability 1/2. width_bound_units: n w of Theorem 5, the width above theta that separating all statements at once
    needs; None for beta >= 1/8. width_privcert_units: n w_PF, what equal shares need.
    """

    half_emission_distance_units: int
    width_bound_units: float | None
    width_privcert_units: float


def separations(design: Design, distances: Iterable[int]) -> list[Separation]:
    """One line for each distance, ascending, each once."""
    share = design.delta / design.statements
    return [
        Separation(
            distance=distance,
            tv_release=tv_bound(distance, design.epsilon, design.delta),
            tv_statement=tv_bound(distance, design.epsilon / design.statements, share),
        )
        for distance in sorted(set(distances))
    ]


def certified_distances(made: Plan) -> list[int]:
    """1 (the nearest unsupported dataset), and d = N - t + 1 of each smallest count that is emitted."""
    counts = [count for count in made.smallest_count_emitted.values() if count is not None]
    return [1, *(max(count - made.threshold_units + 1, 1) for count in counts)]


def limits(design: Design) -> Limits:
    """The limits at equal shares for all m statements, whichever mechanism is planned."""
    m, epsilon = design.statements, design.epsilon
    beta = beta_per_statement(design.beta, m, design.scope)
    return Limits(
        half_emission_distance_units=half_emission_distance(epsilon / m, beta),
        width_bound_units=fine_grained_bound(m, epsilon, beta) if beta < _HIGHEST_BETA else None,
        width_privcert_units=privcert_width(m, design.n, epsilon, beta) * design.n,
    )
