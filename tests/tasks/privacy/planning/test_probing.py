"""Selection of one statement beside fixed others, against the probabilities of whole vectors."""

from fractions import Fraction

import pytest

from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.noisy_top import selection_probabilities
from tasks.privacy.planning import DEFAULT_PRIOR, prior_counts
from tasks.privacy.planning.probing import selection_probability, win_probability
from tests.designs import design_of

CASES = [
    (1800, 50, 5, "2"),
    (1800, 50, 20, "16"),
    (100, 10, 3, "0.7"),
    (1000, 30, 29, "5"),
    (1000, 30, 1, "500"),
    (1000, 5, 5, "3"),
    (10, 40, 7, "0.05"),
    (50, 1, 1, "1"),
]


@pytest.mark.parametrize(("n", "m", "selected", "scale"), CASES)
def test_one_statement_wins_as_often_as_in_the_whole_vector(n: int, m: int, selected: int, scale: str) -> None:
    others = prior_counts(DEFAULT_PRIOR, n, m - 1)
    wins = win_probability(others, selected, Fraction(scale))
    for count in {*range(0, n + 1, max(1, n // 12)), *others[:5], n}:
        whole = selection_probabilities([*others, count], selected, Fraction(scale))[-1]
        assert wins(count) == pytest.approx(whole, abs=1e-11)


@pytest.mark.parametrize("others", [[5] * 30, [0] * 30, [0] * 25 + [1000] * 5, [1000] * 30])
@pytest.mark.parametrize("selected", [1, 5, 6, 30])
def test_one_statement_wins_as_often_where_many_counts_are_equal(others: list[int], selected: int) -> None:
    wins = win_probability(others, selected, Fraction(7))
    for count in (0, 1, 4, 5, 6, 30, 999, 1000):
        whole = selection_probabilities([*others, count], selected, Fraction(7))[-1]
        assert wins(count) == pytest.approx(whole, abs=1e-11)


@pytest.mark.parametrize("name", ["svt", "topk"])
def test_the_place_of_the_probe_is_between_the_others(name: str) -> None:
    chosen = MECHANISMS[name].designed(design_of(name, 100, 9, epsilon="5"))
    assert isinstance(chosen, Selecting)
    before, after = [40, 3, 12], [9, 30, 14, 2, 50]
    is_selected = selection_probability(chosen, before, after)
    for count in (0, 9, 15, 60):
        whole = chosen.selection_probabilities([*before, count, *after])
        assert is_selected(count) == pytest.approx(whole[3], abs=1e-11)
