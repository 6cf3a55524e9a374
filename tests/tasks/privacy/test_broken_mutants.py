"""Broken mutants: each differs from the product in one point. The check holds for the product and fails for the mutant.

Nothing here is drawn: laws are enumerated or summed exactly.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from brute_selection import Pattern, SparseVector, loss, mass
from brute_selection import tail as float_tail
from exact_geometric import certificate_law, epsilons, exp_bounds, tail

from schemas.audit import Scope
from tasks.privacy import noise
from tasks.privacy.accounting import Loss
from tasks.privacy.analytic_gaussian import gaussian_delta, joint_sigma, split_sigma
from tasks.privacy.contributions import l1_sensitivity, truncate
from tasks.privacy.design import Design
from tasks.privacy.discrete_gaussian import sampler_sigma
from tasks.privacy.discrete_laplace import DiscreteLaplace
from tasks.privacy.mechanisms import Frontier, Geometric, Svt, Topk
from tasks.privacy.scope import beta_of_share
from tasks.privacy.thresholds import threshold_units

BETA = Fraction("0.05")
TINY = Fraction(1, 10**90)  # what exact_geometric does not know


@dataclass(frozen=True)
class Case:
    """One point where the product could be broken."""

    holds: Callable[[Any], bool]
    product: Any
    mutant: Any


def one_unit_moves_no_probability_by_more_than_e_to_the_epsilon(calibrate: Callable[..., Frontier]) -> bool:
    """All certificates of all neighbouring counts of 24 units, in exact arithmetic."""
    for epsilon in (Fraction("0.3"), Fraction(1), Fraction("2.7")):
        mechanism, factor = calibrate(epsilon, BETA), 1 / exp_bounds(epsilon)[0]
        laws = [certificate_law(N, 24, mechanism.margin, mechanism.coin, 1 / mechanism.scale) for N in range(25)]
        for here, there in pairwise(laws):
            if any(p > factor * q + TINY or q > factor * p + TINY for p, q in zip(here, there, strict=True)):
                return False
    return True


def half_the_scale(epsilon: Fraction, beta: Fraction) -> Frontier:
    return Frontier(Frontier.calibrated(epsilon, beta).scale / 2, beta)


def the_scale_loses_at_most_epsilon(scale: Callable[[Fraction], Fraction]) -> bool:
    return all(1 / scale(epsilon) <= epsilon for epsilon in epsilons(500))


def real_scale(epsilon: Fraction) -> Fraction:
    return Frontier.calibrated(epsilon, BETA).scale


def nearest_double(epsilon: Fraction) -> Fraction:
    return Fraction(float(1 / epsilon))


def the_margin_is_the_smallest_with_this_one_sided_tail(margin: Callable[[Fraction, Fraction], int]) -> bool:
    rates, betas = [Fraction("0.05"), Fraction("0.7"), Fraction(2)], [Fraction("0.2"), BETA, Fraction("1e-6")]
    found = [(margin(rate, beta), rate, beta) for rate, beta in product(rates, betas)]
    return all(tail(k + 1, rate) <= beta < tail(k, rate) for k, rate, beta in found)


def sharp_margin(rate: Fraction, beta: Fraction) -> int:
    return DiscreteLaplace(rate).margin(beta)


def two_sided_margin(rate: Fraction, beta: Fraction) -> int:
    """The smallest k with Pr[|G| > k] <= beta."""
    return DiscreteLaplace(rate).margin(beta / 2)


def a_report_just_below_the_threshold_errs_with_probability_beta(beta_each: Callable[[Design], Fraction]) -> bool:
    """All 50 supports one unit below; union bound: the sum is beta; independent noises: the report's error is."""
    union = Design(1000, 50, Fraction(10), BETA, Scope.REPORT)
    independent = Design(1000, 50, Fraction(10), BETA, Scope.REPORT_INDEPENDENT)
    one, other = (
        Frontier.calibrated(design.epsilon_each, beta_each(design)).emit_probability(99, 1000, Fraction("0.1"))
        for design in (union, independent)
    )
    return math.isclose(50 * one, 0.05, rel_tol=1e-9) and math.isclose(1 - (1 - other) ** 50, 0.05, rel_tol=1e-9)


def beta_over_m_twice(design: Design) -> Fraction:
    return beta_of_share(design.beta_each, Fraction(1, design.statements), design.scope)


def thresholds_are_exact(units: Callable[[int, Fraction], int]) -> bool:
    asked = [(100, "0.07", 7), (1000, "0.057", 57), (100, "0.29", 29), (3, "0.34", 2), (10, "0.3", 3), (7, "0", 0)]
    return all(units(n, Fraction(theta)) == t for n, theta, t in asked)


def ceil_of_floats(n: int, theta: Fraction) -> int:
    return math.ceil(n * float(theta))


def one_vector_of_counts_spends_exactly_delta(sigma: Callable[[Fraction, Fraction, int], float]) -> bool:
    """The exact delta of m = 16 and 100 counts as one vector, which moves by sqrt(m), at most delta and 99 % of it."""
    for epsilon, delta in [(Fraction(1), Fraction("0.001")), (Fraction(10), Fraction("1e-5"))]:
        for m, root in ((16, 4), (100, 10)):
            exact = gaussian_delta(Fraction(sigma(epsilon, delta, m)), epsilon, Fraction(root))
            if not 0.99 * float(delta) <= exact <= float(delta) * (1 + 1e-12):
                return False
    return True


def joint(epsilon: Fraction, delta: Fraction, m: int) -> float:
    return joint_sigma(epsilon, delta, 1, m)


def sensitivity_1(epsilon: Fraction, delta: Fraction, m: int) -> float:
    return joint_sigma(epsilon, delta, 1, 1)


def sensitivity_m(epsilon: Fraction, delta: Fraction, m: int) -> float:
    return joint_sigma(epsilon, delta, 1, m * m)


def split(epsilon: Fraction, delta: Fraction, m: int) -> float:
    return split_sigma(epsilon, delta, 1, m)


def the_release_spends_exactly_rho(sigma: Callable[[Fraction, int], float]) -> bool:
    """m counts as one vector lose m / (2 sigma^2) in zCDP."""
    asked = product([Fraction("0.02"), Fraction(1, 3), Fraction(2)], [2, 9, 200])
    return all(1 - 1e-9 <= float(m / (2 * Fraction(sigma(rho, m)) ** 2 * rho)) <= 1 for rho, m in asked)


def release_sensitivity_1(rho: Fraction, m: int) -> float:
    return sampler_sigma(rho, 1)


def release_sensitivity_m(rho: Fraction, m: int) -> float:
    return sampler_sigma(rho, m * m)


def one_unit_moves_the_counts_by_at_most_its_sensitivity(
    contribution: Callable[[np.ndarray[Any, Any], int], np.ndarray[Any, Any]],
) -> bool:
    """Every content of a unit with two records and four statements, against every other."""
    contents = np.array(list(product([False, True], repeat=8))).reshape(-1, 2, 4)
    for contributions in (1, 2):
        rows = np.unique([contribution(records, contributions) for records in contents], axis=0).astype(int)
        moved = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
        if moved.max() > l1_sensitivity(4, contributions):
            return False
    return True


def units_then_truncation(records: np.ndarray[Any, Any], contributions: int) -> np.ndarray[Any, Any]:
    return truncate(records.any(axis=0, keepdims=True), contributions)[0]


def truncation_per_record(records: np.ndarray[Any, Any], contributions: int) -> np.ndarray[Any, Any]:
    return truncate(records, contributions).any(axis=0)


def every_threshold_is_reached_with_its_exact_probability(
    certificates: Callable[[Geometric, int, Sequence[int], int], list[int]],
) -> bool:
    """Every noise that matters is injected and weighted by its exact mass, for every count of 12 units."""
    mechanism, n, injected = Geometric.calibrated(Fraction("0.7"), BETA), 12, range(-80, 81)
    rate = 1 / mechanism.scale
    weights = [tail(g, rate) - tail(g + 1, rate) for g in injected]
    for count in range(n + 1):
        made = certificates(mechanism, count, injected, n)
        for t in range(1, n + 1):
            reached = sum((p for c, p in zip(made, weights, strict=True) if c >= t), Fraction(0))
            if abs(float(reached - tail(t - count + mechanism.margin, rate))) > 1e-20:
                return False
    return True


def released(mechanism: Geometric, count: int, injected: Sequence[int], n: int) -> list[int]:
    """What a release makes of these noises."""
    noisy = [count + g for g in injected]
    with patch.object(noise, "_discrete_laplace", lambda *_: noisy):
        return noise.draw(mechanism, Loss(Fraction(1)), [count] * len(injected), n).certificates


def clamped_before_the_margin(mechanism: Geometric, count: int, injected: Sequence[int], n: int) -> list[int]:
    return [max(min(max(count + g, 0), n) - mechanism.margin, 0) for g in injected]


HIGH, LOW, T = 80, -40, 20  # far above and below t, where every shift costs its full rate


def svt(selected: int, statements: int) -> Svt:
    """eps_sel = eps_cert = 1, t = 20."""
    parameters = {"theta": Fraction(1, 2), "selected": selected, "selection_share": Fraction(1, 2)}
    return Svt.designed(Design(40, statements, Fraction(2), BETA, **parameters))  # type: ignore[arg-type]


@dataclass(frozen=True)
class RealSelection:
    """The law of which statements svt selects, as the product states it."""

    selected: int

    def patterns(self, counts: tuple[int, ...]) -> dict[Pattern, float]:
        mechanism = svt(self.selected, len(counts))
        every = (pattern for pattern in product((False, True), repeat=len(counts)) if sum(pattern) <= self.selected)
        return {pattern: math.exp(mechanism.log_selection_probability(pattern, counts)) for pattern in every}


def enumerated(selected: int) -> SparseVector:
    """The same law by plain enumeration: what the mutants start from."""
    mechanism = svt(selected, 6)
    return SparseVector(T, float(1 / mechanism.threshold_scale), float(1 / mechanism.query_scale), selected)


def selection_loses_at_most_its_epsilon(law: Callable[[int], Any]) -> bool:
    """Every pattern, on every neighbour of counts whose likely pattern is not the one that loses most."""
    return (
        loss(law(1), (HIGH, HIGH, HIGH, LOW)) <= 1 + 1e-9
        and loss(law(1), (HIGH, HIGH, HIGH, LOW, LOW), (-1, 1)) <= 1 + 1e-9
        and loss(law(2), (HIGH, HIGH, LOW, HIGH, HIGH, LOW), (-1, 1)) <= 1 + 1e-9
    )


def without_stopping(selected: int) -> SparseVector:
    return replace(enumerated(selected), stops=False)


def monotone_scale(selected: int) -> SparseVector:
    return enumerated(selected).monotone()


def threshold_noise_redrawn(selected: int) -> SparseVector:
    """After each selected statement, at the same scale."""
    return replace(enumerated(selected), redraws=True)


def a_selected_certificate_loses_at_most_the_budget(log_probability: Callable[[int, int, int], float]) -> bool:
    """Ten statements are refused, the last is selected and certified; ln Pr of its certificate, on both neighbours.

    Arguments: certificate before the margin, count of the ten, count of the last.
    """
    moved = [log_probability(shown, HIGH, LOW) - log_probability(shown, HIGH + 1, LOW - 1) for shown in range(-15, 40)]
    return max(map(abs, moved)) <= 2 * (1 + 1e-9)


def fresh_noise(shown: int, before: int, last: int) -> float:
    mechanism = svt(1, 11)
    return mechanism.log_probability([None] * 10 + [shown - mechanism.certifier.margin], [before] * 10 + [last])


def reused_noise(shown: int, before: int, last: int) -> float:
    """Shown is N + nu, the noisy count that was compared: it bounds rho from above."""
    law = enumerated(1)
    rho = np.arange(-400, shown - T + 1)
    refused = float_tail(1 - (T + rho - before), law.query_rate) ** 10
    chance = mass(rho, law.threshold_rate) @ refused * mass(np.array(shown - last), law.query_rate)
    return math.log(chance)


def the_winner_of_many_errs_with_probability_beta(error: Callable[[int], float]) -> bool:
    """k = 1 of so many statements with equal counts, just below the threshold."""
    return all(error(statements) <= 0.05 * (1 + 1e-9) for statements in (1, 2, 50))


def fresh_winner(statements: int) -> float:
    design = Design(1000, statements, Fraction(2), BETA, selected=1, selection_share=Fraction(1, 2))
    return float(Topk.designed(design).emit_probabilities([99] * statements, 1000, Fraction("0.1")).sum())


def reused_winner(statements: int) -> float:
    """The winning noisy count less the margin of one exponential noise: the largest of all noises exceeds it."""
    return 1 - 0.95**statements


CASES = {
    "scale halved": Case(
        one_unit_moves_no_probability_by_more_than_e_to_the_epsilon, Frontier.calibrated, half_the_scale
    ),
    "float(1/eps) as scale": Case(the_scale_loses_at_most_epsilon, real_scale, nearest_double),
    "two-sided margin called sharp": Case(
        the_margin_is_the_smallest_with_this_one_sided_tail, sharp_margin, two_sided_margin
    ),
    "m counted twice in the margin": Case(
        a_report_just_below_the_threshold_errs_with_probability_beta, lambda design: design.beta_each, beta_over_m_twice
    ),
    "clamp before the margin": Case(
        every_threshold_is_reached_with_its_exact_probability, released, clamped_before_the_margin
    ),
    "SVT without stopping": Case(selection_loses_at_most_its_epsilon, RealSelection, without_stopping),
    "SVT with monotone scale": Case(selection_loses_at_most_its_epsilon, RealSelection, monotone_scale),
    "threshold noise redrawn": Case(selection_loses_at_most_its_epsilon, RealSelection, threshold_noise_redrawn),
    "noise reused in the certificate": Case(a_selected_certificate_loses_at_most_the_budget, fresh_noise, reused_noise),
    "noise reused in the certificate of the winner": Case(
        the_winner_of_many_errs_with_probability_beta, fresh_winner, reused_winner
    ),
    "ceil in floating point": Case(thresholds_are_exact, threshold_units, ceil_of_floats),
    "no square root, sensitivity 1": Case(one_vector_of_counts_spends_exactly_delta, joint, sensitivity_1),
    "no square root, sensitivity m": Case(one_vector_of_counts_spends_exactly_delta, joint, sensitivity_m),
    "split Gaussian called joint": Case(one_vector_of_counts_spends_exactly_delta, joint, split),
    "no square root in a release, sensitivity 1": Case(
        the_release_spends_exactly_rho, sampler_sigma, release_sensitivity_1
    ),
    "no square root in a release, sensitivity m": Case(
        the_release_spends_exactly_rho, sampler_sigma, release_sensitivity_m
    ),
    "truncation per record before any-record": Case(
        one_unit_moves_the_counts_by_at_most_its_sensitivity, units_then_truncation, truncation_per_record
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_check_holds_for_the_product_and_fails_for_the_mutant(name: str) -> None:
    case = CASES[name]
    assert case.holds(case.product)
    assert not case.holds(case.mutant)
