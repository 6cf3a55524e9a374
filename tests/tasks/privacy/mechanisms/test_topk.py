"""Noisy top k, then certificates: privacy of whole outputs, the exact budget, all of few statements."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from brute_selection import neighbours
from scipy import stats

from schemas.audit import Scope
from tasks.privacy.design import Design
from tasks.privacy.mechanisms.topk import Topk

N = 200


def design(statements: int, selected: int, epsilon: str = "2", scope: Scope = Scope.CANDIDATE) -> Design:
    optional = {"selected": selected, "selection_share": Fraction("0.25")}
    return Design(N, statements, Fraction(epsilon), Fraction("0.05"), scope, **optional)  # type: ignore[arg-type]


@pytest.mark.parametrize("selected", [1, 2])
@pytest.mark.parametrize("counts", [(20, 20, 20), (90, -60, 100)])
def test_one_unit_moves_the_log_probability_of_every_whole_output_by_at_most_epsilon(
    counts: tuple[int, ...], selected: int
) -> None:
    mechanism, worst = Topk.designed(design(3, selected)), 0.0
    others = neighbours(counts)
    for winners in combinations(range(3), selected):
        for certificates in product((-80, 14, 15, 120), repeat=selected):
            values = iter(certificates)
            output = [next(values) if j in winners else None for j in range(3)]
            here = mechanism.log_probability(output, counts)
            worst = max(worst, *(abs(here - mechanism.log_probability(output, other)) for other in others))
    assert 1.7 <= worst <= 2 * (1 + 1e-9)


def test_the_parts_of_the_budget_add_up_to_epsilon_exactly_and_no_sampler_exceeds_its_own() -> None:
    for statements, selected, epsilon in [(200, 20, "10"), (200, 7, "0.3"), (3, 7, "1")]:
        asked = design(statements, selected, epsilon)
        made, k = Topk.designed(asked), min(selected, statements)
        assert made.epsilon_selection + k * made.epsilon_certificate == Fraction(epsilon) == Topk.loss(asked).epsilon
        assert made.selected == k
        assert 2 * k / made.scale <= made.epsilon_selection
        assert 1 / made.certifier.scale <= made.epsilon_certificate


def test_all_of_few_statements_are_certified() -> None:
    made = Topk.designed(design(3, 5))
    assert made.selection_probabilities([0, 100, 200]).tolist() == [1, 1, 1]
    assert made.log_selection_probability([True] * 3, [0, 100, 200]) == 0
    assert made.emit_probabilities([0, 100, 200], N, Fraction("0.4"))[2] > 0.999


def test_an_output_of_another_size_is_impossible() -> None:
    assert Topk.designed(design(4, 2)).log_probability([5, None, None, None], [9, 9, 9, 9]) == -math.inf


@pytest.mark.statistical  # fixed seed; right probabilities fail with probability 1e-6 a statement, over seeds
def test_emission_follows_a_plain_simulation() -> None:
    made, counts, runs = Topk.designed(design(6, 3, "8")), np.array([12, 28, 35, 19, 40, 33]), 200_000
    rng = np.random.default_rng(20261203)
    noisy = counts + rng.exponential(float(made.scale), (runs, 6))
    taken = noisy >= np.sort(noisy, axis=1)[:, -3:][:, :1]
    success = -math.expm1(-float(1 / made.certifier.scale))
    noise = rng.geometric(success, (runs, 6)) - rng.geometric(success, (runs, 6))
    certificates = counts + noise - made.certifier.margin + (rng.random((runs, 6)) < float(made.certifier.coin))
    emitted = (taken & (certificates >= 20)).sum(axis=0)
    for seen, chance in zip(emitted, made.emit_probabilities(counts.tolist(), N, Fraction("0.1")), strict=True):
        assert stats.binomtest(int(seen), runs, float(chance)).pvalue > 1e-6
