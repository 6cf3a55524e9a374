"""Metrics of simulated runs against a loop in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tasks.privacy.metrics import Ratio, RunMetrics

shares = st.decimals(0, 1, places=3).map(Fraction)
NAMES = ["unsupported_emit", "emit_rate", "false_emission", "mean_support", "supported_recall", "any_unsupported"]


def by_hand(counts: list[int], n: int, theta: Fraction, emitted: list[bool]) -> dict[str, Fraction | None]:
    """One run, as spec 1.5 says it."""
    supports = [Fraction(count, n) for count in counts]
    chosen = [f for f, emit in zip(supports, emitted, strict=True) if emit]
    wrong, right = [f for f in chosen if f < theta], [f for f in chosen if f >= theta]

    def share(part: list[Fraction], whole: list[Fraction]) -> Fraction | None:
        return Fraction(len(part), len(whole)) if whole else None

    return {
        "unsupported_emit": share(wrong, [f for f in supports if f < theta]),
        "emit_rate": share(chosen, supports),
        "false_emission": share(wrong, chosen),
        "mean_support": sum(chosen, Fraction(0)) / len(chosen) if chosen else None,
        "supported_recall": share(right, [f for f in supports if f >= theta]),
        "any_unsupported": Fraction(bool(wrong)),
    }


@given(st.data(), st.integers(1, 50), shares, st.booleans())
def test_every_run_has_the_metrics_of_the_definition(
    data: st.DataObject, n: int, theta: Fraction, one_universe: bool
) -> None:
    runs, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 8))
    emitted = data.draw(arrays.arrays(np.bool_, (runs, m)))
    counts = data.draw(arrays.arrays(np.int64, (m,) if one_universe else (runs, m), elements=st.integers(0, n)))
    made = RunMetrics.of(counts, n, theta, emitted)
    each = np.broadcast_to(counts, emitted.shape)
    for run in range(runs):
        expected = by_hand(each[run].tolist(), n, theta, emitted[run].tolist())
        for name in NAMES:
            ratio = getattr(made, name)
            above, below = int(ratio.numerators[run]), int(ratio.denominators[run])
            assert (Fraction(above, below) if below else None) == expected[name]
            assert ratio.values()[run] == (None if expected[name] is None else above / below)


def test_pooling_adds_numerators_and_denominators() -> None:
    emitted = np.array([[True, True, False], [False, False, False], [True, False, True]])
    made = RunMetrics.of(np.array([1, 6, 9]), 10, Fraction("0.5"), emitted)
    assert made.false_emission.values() == [0.5, None, 0.5]
    assert made.false_emission.pooled() == (2, 4)
    assert made.unsupported_emit.pooled() == (2, 3) and made.any_unsupported.pooled() == (2, 3)
    assert made.mean_support.pooled() == (1 + 6 + 1 + 9, 40) and made.supported_recall.pooled() == (2, 6)


def test_a_tie_with_the_threshold_is_supported() -> None:
    emitted = np.array([[True, True]])
    made = RunMetrics.of(np.array([6, 7]), 100, Fraction("0.07"), emitted)
    assert made.unsupported_emit.pooled() == (1, 1) and math.ceil(100 * 0.07) == 8


def test_sums_of_large_counts_are_exact() -> None:
    counts, emitted = np.full(1000, 10**9 - 1), np.ones((20, 1000), dtype=bool)
    made = RunMetrics.of(counts, 10**9, Fraction(1), emitted)
    assert made.mean_support.pooled() == (20 * 1000 * (10**9 - 1), 20 * 1000 * 10**9)
    huge = Ratio(np.full(4, 2**62), np.full(4, 2**62))
    assert huge.pooled() == (2**64, 2**64)


def test_without_candidates_or_units_nothing_is_defined() -> None:
    made = RunMetrics.of(np.array([], dtype=np.int64), 10, Fraction("0.5"), np.zeros((2, 0), dtype=bool))
    assert made.emit_rate.values() == [None, None] and made.any_unsupported.values() == [0.0, 0.0]
    empty = RunMetrics.of(np.zeros(3, dtype=np.int64), 0, Fraction("0.5"), np.zeros((1, 3), dtype=bool))
    assert empty.emit_rate.values() == [0.0] and empty.mean_support.values() == [None]


@pytest.mark.parametrize(
    ("counts", "emitted", "name"),
    [
        (np.array([1, 2]), np.array([True, False]), "emitted"),
        (np.array([1, 2]), np.array([[1, 0]]), "emitted"),
        (np.array([1, 2, 3]), np.array([[True, False]]), "counts"),
        (np.array([1.0, 2.0]), np.array([[True, False]]), "counts"),
        (np.array([1, 11]), np.array([[True, False]]), "counts"),
        (np.array([-1, 1]), np.array([[True, False]]), "counts"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(counts: np.ndarray, emitted: np.ndarray, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}:"):
        RunMetrics.of(counts, 10, Fraction("0.5"), emitted)
