"""Contribution bounding: each unit counts for at most C of the statements that it supports (spec 1.6).

It applies to units, after their records were aggregated. A unit that is replaced then takes at most C statements away
and brings at most C others: the counts move by at most D = min(2C, m) in L1. Truncating records before taking "any
record" would leave a unit with r records up to min(m, rC) statements.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Verdicts = NDArray[np.bool_]
_BLOCK = 2**22  # verdicts at a time: the running sums take four bytes each


def truncate(
    verdicts: Verdicts,
    contributions: int,
    priorities: NDArray[np.integer] | NDArray[np.floating] | None = None,
) -> Verdicts:
    """Of the statements that a unit supports, the C with the lowest priority values; a row depends on itself only.

    verdicts: (n, m), unit supports statement. contributions: C >= 1. priorities: (m,) public, or (n, m) from a keyed
    hash of unit and statement; ties, and None, go by the public order of the columns. Raises ValueError.
    """
    if contributions < 1:
        raise ValueError("contributions: must be at least 1")
    if priorities is not None and priorities.shape not in (verdicts.shape, verdicts.shape[1:]):
        raise ValueError("priorities: need one for each statement, or one for each unit and statement")
    kept = np.empty(verdicts.shape, dtype=np.bool_)
    rows = max(1, _BLOCK // max(1, verdicts.shape[1]))
    for start in range(0, verdicts.shape[0], rows):
        block = slice(start, start + rows)
        order = priorities[block] if priorities is not None and priorities.ndim == 2 else priorities
        kept[block] = _truncate_block(verdicts[block], contributions, order)
    return kept


def l1_sensitivity(statements: int, contributions: int) -> int:
    """D = min(2C, m), in units, when one unit is replaced."""
    return min(2 * contributions, statements)


def laplace_parameters(
    n: int, statements: int, contributions: int, epsilon: Fraction, beta: Fraction
) -> tuple[Fraction, float]:
    """Scale b = D / (n epsilon) and margin b ln(1 / (2 beta)) of the continuous form, as shares of n >= 1.

    For comparison with published values; a release uses whole units (`Hist`).
    """
    scale = Fraction(l1_sensitivity(statements, contributions)) / (n * epsilon)
    return scale, float(scale) * math.log(1 / (2 * beta))


def laplace_decisions(
    verdicts: Verdicts, contributions: int, theta: Fraction, margin: Fraction, noise: Sequence[Fraction]
) -> tuple[list[Fraction], list[bool]]:
    """Certificates and emissions of the continuous form with this noise, exact; margin and noise are shares of n."""
    n = verdicts.shape[0]
    counts = truncate(verdicts, contributions).sum(axis=0)
    certificates = [Fraction(int(count), n) + added - margin for count, added in zip(counts, noise, strict=True)]
    return certificates, [certificate >= theta for certificate in certificates]


def _truncate_block(
    verdicts: Verdicts, contributions: int, priorities: NDArray[np.integer] | NDArray[np.floating] | None
) -> Verdicts:
    if priorities is None:
        return _first(verdicts, contributions)
    if priorities.ndim == 1:
        order = np.argsort(priorities, kind="stable")
        kept = np.empty_like(verdicts)
        kept[:, order] = _first(verdicts[:, order], contributions)
        return kept
    ranks = np.argsort(priorities, axis=1, kind="stable")
    kept = np.empty_like(verdicts)
    np.put_along_axis(kept, ranks, _first(np.take_along_axis(verdicts, ranks, axis=1), contributions), axis=1)
    return kept


def _first(verdicts: Verdicts, contributions: int) -> Verdicts:
    return verdicts & (np.cumsum(verdicts, axis=1, dtype=np.int32) <= contributions)
