"""Which cells of a study answer the same question, and which one a mechanism is judged by."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
QUESTION = ("universe", "statements", "epsilon", "theta", "beta", "scope")
"""What is asked of every mechanism alike."""
OWN = ("selected", "selection_share", "contributions")
"""Parameters that a mechanism may choose for itself: it is compared at its best ones."""


def at_best_own(cells: Sequence[Row]) -> list[Row]:
    """For each question, mechanism and delta the cell with the highest EmitRate, of equal ones the first.

    As view study_by_question does, in the order of the cells. Every metric of a mechanism is read there.
    """
    best: dict[tuple[object, ...], Row] = {}
    for cell in cells:
        same = tuple(cell[name] for name in (*QUESTION, "mechanism", "delta"))
        if same not in best or cell["emit_rate_share"] > best[same]["emit_rate_share"]:
            best[same] = cell
    return list(best.values())
