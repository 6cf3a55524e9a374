"""One-shot noisy top k: exact probabilities against rational arithmetic, and the real sampler."""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import opendp.prelude as dp
import pytest
from brute_selection import neighbours, top_sets
from scipy import stats

from tasks.privacy.noisy_top import log_set_probability, selection_probabilities

LN2 = Fraction(1 / math.log(2))  # the scale at which all probabilities are rational
COUNTS, SCALE = [12, 15, 9, 14, 3], 6.0  # of the real draws
VECTORS = [(3, 3, 3, 3), (5, 2, 2, 0, 1), (9, 0, 0, 0, 0, 1), (40, 20, 0), (110, 0, 1), (7, 6, 5, 4, 3, 2, 1)]


@pytest.mark.parametrize("selected", [1, 2, 3])
@pytest.mark.parametrize("counts", VECTORS)
def test_probabilities_are_the_exact_rational_ones(counts: tuple[int, ...], selected: int) -> None:
    sets = top_sets(counts, selected) if selected < len(counts) else {(True,) * len(counts): Fraction(1)}
    assert sum(sets.values()) == 1
    found = selection_probabilities(counts, selected, LN2)
    expected = [float(sum(p for chosen, p in sets.items() if chosen[j])) for j in range(len(counts))]
    assert found == pytest.approx(expected, rel=1e-12, abs=0)
    for chosen, probability in sets.items():
        assert math.exp(log_set_probability(chosen, counts, selected, LN2)) == pytest.approx(probability, rel=1e-11)


@pytest.mark.parametrize("scale", ["0.001", "0.7", "30", "1e7"])
@pytest.mark.parametrize("selected", [1, 12, 40, 59])
def test_the_probabilities_of_many_statements_add_up_to_k(selected: int, scale: str) -> None:
    counts = (np.arange(60) * 7 % 60 + 5000 * (np.arange(60) % 5 == 0)).tolist()
    found = selection_probabilities(counts, selected, Fraction(scale))
    assert found.sum() == pytest.approx(selected, abs=1e-11)
    assert found.max() <= 1 + 1e-13 and found.min() >= 0
    ranked = found[np.argsort(counts)]
    assert np.all(np.diff(ranked) >= -1e-13)


def test_a_thousand_equal_counts_have_equal_chances() -> None:
    assert selection_probabilities([5] * 1000, 40, Fraction(300)) == pytest.approx(np.full(1000, 0.04), abs=1e-12)


def test_a_large_universe_agrees_with_the_small_set_rule_where_few_matter() -> None:
    counts, few = [0] * 500 + [5000, 5003, 4990, 5001], [5000, 5003, 4990, 5001]
    sets = [[j in pair for j in range(4)] for pair in combinations(range(4), 2)]
    chances = {tuple(s): math.exp(log_set_probability(s, few, 2, Fraction(10))) for s in sets}
    expected = [sum(p for s, p in chances.items() if s[j]) for j in range(4)]
    assert selection_probabilities(counts, 2, Fraction(10))[500:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("selected", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_one_unit_changes_the_probability_of_every_set_by_at_most_e_to_the_epsilon(selected: int, epsilon: str) -> None:
    scale, worst = 2 * selected / Fraction(epsilon), 0.0
    sets = [[j in chosen for j in range(4)] for chosen in combinations(range(4), selected)]
    for counts in [(10, 10, 10, 10), (0, 60, 55, 63), (30, 0, 80, 120)]:
        here = [log_set_probability(chosen, counts, selected, scale) for chosen in sets]
        for other in neighbours(counts):
            there = [log_set_probability(chosen, other, selected, scale) for chosen in sets]
            worst = max(worst, *(abs(a - b) for a, b in zip(here, there, strict=True)))
    assert worst <= float(epsilon) + 1e-9
    assert worst >= 0.9 * float(epsilon)  # the bound is tight, so half the scale would be seen


@pytest.mark.statistical  # fresh noise; the right law fails with probability 1e-6 a case
@pytest.mark.parametrize("selected", [1, 2, 3])
def test_whole_noise_of_the_exact_sampler_with_fair_ties_has_this_law(selected: int) -> None:
    runs, dice = 6_000, random.SystemRandom()
    noise = iter(_geometric_draws(SCALE, runs * len(COUNTS)))
    drawn = Counter(
        frozenset(sorted(range(len(COUNTS)), key=lambda j: (-COUNTS[j] - next(noise), dice.random()))[:selected])
        for _ in range(runs)
    )
    _assert_law(drawn, selected, runs)


@pytest.mark.statistical  # fresh noise; the right law fails with probability 1e-6
def test_one_of_many_is_picked_as_by_opendp() -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    draw = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=1, scale=SCALE)
    _assert_law(Counter(frozenset(draw(COUNTS)) for _ in range(6_000)), 1, 6_000)


def _geometric_draws(scale: float, size: int) -> list[int]:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    found = dp.m.make_laplace(*space, scale=scale)([0] * 3 * size)
    return [value for value in found if value >= 0][:size]


def _assert_law(drawn: Counter[frozenset[int]], selected: int, runs: int) -> None:
    sets = [frozenset(chosen) for chosen in combinations(range(len(COUNTS)), selected)]
    chosen = [[j in s for j in range(len(COUNTS))] for s in sets]
    expected = [runs * math.exp(log_set_probability(c, COUNTS, selected, Fraction(SCALE))) for c in chosen]
    assert stats.chisquare([drawn[s] for s in sets], expected).pvalue > 1e-6


def test_a_set_of_another_size_is_impossible_and_all_of_few_are_certain() -> None:
    assert log_set_probability([True, True, False], [1, 2, 3], 1, LN2) == -math.inf
    assert log_set_probability([True, True], [1, 2], 5, LN2) == 0
    assert selection_probabilities([1, 2], 5, LN2).tolist() == [1, 1]
