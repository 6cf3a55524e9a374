"""Estimated selection against the exact probabilities."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.planning import DEFAULT_PRIOR, prior_counts
from tasks.privacy.planning.estimating import estimated_probe, estimated_selection
from tasks.privacy.planning.probing import selection_probability
from tests.designs import design_of

CASES = [(1800, 200, 80, "10"), (1000, 20, 5, "1"), (2000, 120, 12, "0.5"), (100, 60, 30, "200"), (50, 8, 8, "2")]


def chosen_of(name: str, n: int, m: int, selected: int, epsilon: str) -> Selecting:
    """At theta = 0.1, half of epsilon for the selection."""
    design = design_of(name, n, m, epsilon, selected=selected)
    design = replace(design, selection_share=Fraction(1, 2), theta=Fraction("0.1") if name == "svt" else None)
    chosen = MECHANISMS[name].designed(design)
    assert isinstance(chosen, Selecting)
    return chosen


@pytest.mark.parametrize("name", ["svt", "topk"])
@pytest.mark.parametrize("case", CASES)
def test_an_estimate_is_near_the_exact_probability(name: str, case: tuple[int, int, int, str]) -> None:
    n, m, selected, epsilon = case
    chosen, counts = chosen_of(name, n, m, selected, epsilon), prior_counts(DEFAULT_PRIOR, n, m)
    exact, estimated = chosen.selection_probabilities(counts), estimated_selection(chosen, counts)
    assert np.abs(exact - estimated).max() < 0.06
    assert estimated.sum() == pytest.approx(exact.sum(), rel=0.02)


@pytest.mark.parametrize("name", ["svt", "topk"])
@pytest.mark.parametrize("case", CASES)
def test_of_one_statement_beside_others_too_and_it_never_falls(name: str, case: tuple[int, int, int, str]) -> None:
    n, m, selected, epsilon = case
    chosen, others = chosen_of(name, n, m, selected, epsilon), prior_counts(DEFAULT_PRIOR, n, m - 1)
    before, after = others[: m // 2], others[m // 2 :]
    exact, estimated = selection_probability(chosen, before, after), estimated_probe(chosen, before, after)
    found = [estimated(count) for count in range(0, n + 1, max(1, n // 40))]
    assert all(low <= high + 0.01 for low, high in pairwise(found))
    for count, chance in zip(range(0, n + 1, max(1, n // 40)), found, strict=True):
        assert chance == pytest.approx(exact(count), abs=0.06)
