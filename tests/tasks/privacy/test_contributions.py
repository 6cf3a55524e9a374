"""Contribution bounding: which statements a unit keeps, and how far one unit can move the counts."""

from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tasks.privacy.contributions import l1_sensitivity, laplace_decisions, laplace_parameters, truncate

ROWS = [np.array(row, dtype=np.bool_) for row in product([False, True], repeat=5)]
verdicts = arrays.arrays(np.bool_, st.tuples(st.integers(0, 6), st.integers(1, 7)))


@pytest.mark.parametrize("contributions", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("priorities", [None, np.array([3, 1, 4, 1, 5])])
def test_replacing_any_unit_by_any_other_moves_the_counts_by_at_most_the_sensitivity(
    contributions: int, priorities: np.ndarray | None
) -> None:
    rest = np.array([ROWS[7], ROWS[21], ROWS[30]])
    counts = [truncate(np.vstack([rest, row]), contributions, priorities).sum(axis=0) for row in ROWS]
    moved = max(np.abs(here - there).sum() for here in counts for there in counts)
    assert moved == l1_sensitivity(5, contributions)
    assert max(np.abs(here - there).max() for here in counts for there in counts) == 1


@given(verdicts, st.integers(1, 8), st.data())
def test_a_unit_keeps_its_statements_of_lowest_priority_value(
    given_verdicts: np.ndarray, contributions: int, data: st.DataObject
) -> None:
    n, m = given_verdicts.shape
    own = data.draw(arrays.arrays(np.int64, (n, m), elements=st.integers(0, 3)))
    for priorities in (None, own, own[0] if n else np.zeros(m)):
        kept = truncate(given_verdicts, contributions, priorities)
        order = np.broadcast_to(np.zeros(m) if priorities is None else priorities, (n, m))
        for i in range(n):
            supported = sorted(np.flatnonzero(given_verdicts[i]), key=lambda j, i=i: (order[i, j], j))
            assert set(np.flatnonzero(kept[i])) == set(supported[:contributions])


@given(verdicts, st.integers(1, 4), st.integers(0, 5), st.data())
def test_a_row_depends_on_no_other_row(
    given_verdicts: np.ndarray, contributions: int, row: int, data: st.DataObject
) -> None:
    if row < len(given_verdicts):
        priorities = data.draw(arrays.arrays(np.int64, given_verdicts.shape, elements=st.integers(0, 9)))
        alone = truncate(given_verdicts[row : row + 1], contributions, priorities[row : row + 1])
        assert np.array_equal(truncate(given_verdicts, contributions, priorities)[row], alone[0])


def test_many_units_are_truncated_block_by_block_to_the_same_result() -> None:
    rng = np.random.default_rng(5)
    many, priorities = rng.random((101, 7)) < 0.6, rng.integers(0, 5, (101, 7))
    whole = [truncate(many, 2, order) for order in (None, priorities, priorities[0])]
    with patch("tasks.privacy.contributions._BLOCK", 30):
        for order, expected in zip((None, priorities, priorities[0]), whole, strict=True):
            assert np.array_equal(truncate(many, 2, order), expected)


@pytest.mark.parametrize(
    ("contributions", "shape", "named"),
    [(0, None, "contributions"), (1, (4,), "priorities"), (1, (5, 2), "priorities")],
)
def test_wrong_parameters_are_refused_by_name(contributions: int, shape: tuple[int, ...] | None, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}: "):
        truncate(np.ones((2, 5), dtype=np.bool_), contributions, None if shape is None else np.zeros(shape))


def test_the_continuous_form_decides_exactly_at_the_threshold() -> None:
    scale, margin = laplace_parameters(1800, 200, 5, Fraction(10), Fraction("0.05"))
    assert scale == Fraction(1, 1800) and margin == pytest.approx(np.log(10) / 1800, rel=1e-15)
    units = np.array([[True, False], [True, True], [True, True]])
    certificates, emitted = laplace_decisions(units, 1, Fraction("0.7"), Fraction("0.3"), [Fraction(0), Fraction(1)])
    assert certificates == [Fraction("0.7"), Fraction("0.7")] and emitted == [True, True]
    assert laplace_decisions(units, 1, Fraction("0.71"), Fraction("0.3"), [Fraction(0), Fraction(1)])[1] == [False] * 2
