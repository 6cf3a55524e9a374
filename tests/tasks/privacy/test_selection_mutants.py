"""Ways to break selection and contribution bounding, each seen by the enumerations; the right ones pass the same.

Each function returns (what it does, what it may do): a loss in nats, an error, or units moved.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from brute_selection import SparseVector, loss, mass, tail

from tasks.privacy.contributions import l1_sensitivity, truncate
from tasks.privacy.sparse_vector import optimal_split

Measured = tuple[float, float]
T, EPSILON = 20, 1.0
HIGH, LOW = T + 60, T - 60  # far above and below t, where every shift costs its full rate


def right(selected: int) -> SparseVector:
    """Sparse vector as it should be, at eps_sel = EPSILON."""
    first, second = optimal_split(Fraction(EPSILON), selected)
    return SparseVector(T, float(first), float(second / (2 * selected)), selected)


def svt_without_stopping() -> Measured:
    """Answers go on after k selected."""
    return loss(replace(right(1), stops=False), (HIGH, HIGH, HIGH, LOW, LOW), (-1, 1)), EPSILON


def svt_with_monotone_scale() -> Measured:
    """Query noise of scale k / eps_2, although counts move both ways."""
    return loss(right(1).monotone(), (HIGH, HIGH, HIGH, LOW)), EPSILON


def svt_with_threshold_noise_redrawn() -> Measured:
    """A new rho, at the same scale 1 / eps_1, after each selected statement."""
    return loss(replace(right(2), redraws=True), (HIGH, HIGH, HIGH, LOW) * 2, (-1, 1)), EPSILON


def svt_with_noise_reused_in_the_certificate() -> Measured:
    """The certificate shows N + nu, the noisy count that was compared, and is charged eps_cert = eps_sel beside it.

    One statement far below t is selected and shown just above what it needs; all before it are not. What is shown
    bounds rho from above, so that nothing makes up for their moves.
    """
    law, refused = right(1), 10

    def log_probability(before: int, shown: int, count: int) -> float:
        rho = np.arange(-500, shown - T + 1)  # it was selected, so T + rho <= shown
        passed = tail(1 - (T + rho - before), law.query_rate) ** refused
        return math.log(mass(rho, law.threshold_rate) @ passed) + math.log(
            mass(np.array(shown - count), law.query_rate)
        )

    here, there = log_probability(HIGH, LOW, LOW), log_probability(HIGH + 1, LOW, LOW - 1)
    return abs(here - there), 2 * EPSILON


def topk_with_noise_reused_in_the_certificate() -> Measured:
    """The certificate is the winning noisy count less its own margin: the winner of many has large noise.

    k = 1, equal counts; the margin leaves beta to one exponential variable. Returns Pr[C > N] and beta.
    """
    statements, beta = 50, 0.05
    return 1 - (1 - beta) ** statements, beta


def truncation_per_record() -> Measured:
    """Each record of a unit keeps C statements, then the unit supports what any of its records does."""
    contributions, statements, records = 1, 4, 2
    rows = [np.array(row, dtype=np.bool_) for row in product((False, True), repeat=statements)]
    units = [truncate(np.array(unit), contributions).any(axis=0) for unit in product(rows, repeat=records)]
    return _largest_move(units), l1_sensitivity(statements, contributions)


def truncation_of_units() -> Measured:
    """The right order: any record first."""
    contributions, statements, records = 1, 4, 2
    rows = [np.array(row, dtype=np.bool_) for row in product((False, True), repeat=statements)]
    units = [truncate(np.array(unit).any(axis=0)[None], contributions)[0] for unit in product(rows, repeat=records)]
    return _largest_move(units), l1_sensitivity(statements, contributions)


MUTANTS: list[Callable[[], Measured]] = [
    svt_without_stopping,
    svt_with_monotone_scale,
    svt_with_threshold_noise_redrawn,
    svt_with_noise_reused_in_the_certificate,
    topk_with_noise_reused_in_the_certificate,
    truncation_per_record,
]
RIGHT: list[Callable[[], Measured]] = [
    lambda: (loss(right(1), (HIGH, HIGH, HIGH, LOW, LOW), (-1, 1)), EPSILON),
    lambda: (loss(right(1), (HIGH, HIGH, HIGH, LOW)), EPSILON),
    lambda: (loss(right(2), (HIGH, HIGH, HIGH, LOW) * 2, (-1, 1)), EPSILON),
    truncation_of_units,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_variant_does_more_than_it_may(mutant: Callable[[], Measured]) -> None:
    does, may = mutant()
    assert does > 1.05 * may


@pytest.mark.parametrize("variant", RIGHT)
def test_the_right_variant_does_not_by_the_same_enumeration(variant: Callable[[], Measured]) -> None:
    does, may = variant()
    assert 0.9 * may <= does <= may * (1 + 1e-9)


def _largest_move(units: list[np.ndarray]) -> float:
    distinct = np.unique(np.array(units), axis=0).astype(int)
    return float(max(np.abs(here - there).sum() for here in distinct for there in distinct))
