"""What a finished study tells: one JSON-able object, from its tables."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from statistics import fmean

import pyarrow.parquet as pq

from schemas.studies import StudySettings
from schemas.values import decimal_text
from tasks.storage.home import Home
from tasks.studies.questions import OWN, QUESTION, Row, at_best_own
from tasks.studies.study import CELLS_FILE

_METRICS = ("emit_rate_share", "supported_recall_share", "unsupported_emit_share", "false_emission_share")
_SLACK = 1e-12  # of doubles
# value, lowest, highest
_THEOREM_4 = ("exact_emit_rate_share", "theorem4_lower_share", "theorem4_upper_share")
_OF_SAMPLE = ("exact_emit_rate_of_sample_share", "emit_rate_lower_share", "emit_rate_upper_share")


def study_results(home: Home, stem: str, settings: StudySettings) -> dict[str, object]:
    """Worst and mean cell beside published values, mechanisms at their best own parameters, whole reports, files."""
    folder = home.release / "studies" / stem
    cells: list[Row] = pq.ParquetFile(folder / CELLS_FILE).read().to_pylist()
    wrong = _known(cells, "unsupported_emit_share")
    return {
        "study": settings.name,
        "key": cells[0]["study_key"],
        "cells": len(cells),
        "seeds": settings.seeds,
        "runs": settings.runs,
        "max_unsupported_emit": max(wrong, default=None),
        "mean_unsupported_emit": _mean(cells, "unsupported_emit_share"),
        "published_max_unsupported_emit": _text(settings.published_max_unsupported_emit),
        "published_mean_unsupported_emit": _text(settings.published_mean_unsupported_emit),
        "exact_rates": len(_known(cells, "exact_emit_rate_share")),
        "exact_rates_outside_theorem4": sum(_is_outside(cell, *_THEOREM_4) for cell in cells),
        "exact_rates_of_samples_outside_interval": sum(_is_outside(cell, *_OF_SAMPLE) for cell in cells),
        "by_epsilon": _by_epsilon(cells),
        "whole_reports": [_whole_report(cell) for cell in cells if cell["scope"] != "candidate"],
        "files": [str(path) for path in sorted(folder.iterdir())],
        "database": str(home.release / "release.duckdb"),
    }


def _by_epsilon(cells: Sequence[Row]) -> list[dict[str, object]]:
    """One line a mechanism and epsilon: each question's cell at the best own parameters, and means over these."""
    sizes = Counter((cell["mechanism"], cell["epsilon"]) for cell in cells)
    groups: dict[tuple[str, str], list[Row]] = {}
    for cell in at_best_own(cells):
        groups.setdefault((cell["mechanism"], cell["epsilon"]), []).append(cell)
    return [
        {"mechanism": mechanism, "epsilon": epsilon, "questions": len(best)}
        | {"cells": sizes[mechanism, epsilon]}
        | {f"mean_{metric}": _mean(best, metric) for metric in _METRICS}
        | {"best": [_picked(cell, (*QUESTION, "delta", *OWN, *_METRICS)) for cell in best]}
        for (mechanism, epsilon), best in groups.items()
    ]


def _whole_report(cell: Row) -> dict[str, object]:
    asked = ("mechanism", *QUESTION, "delta", *OWN, "confidence")
    found = [f"any_unsupported{end}_share" for end in ("", "_lower", "_upper")]
    return {"promised": cell["beta"], "reports": cell["seeds"] * cell["runs"]} | _picked(cell, (*asked, *found))


def _picked(cell: Row, names: Sequence[str]) -> dict[str, object]:
    return {name: cell[name] for name in names if cell[name] is not None}


def _is_outside(cell: Row, value: str, low: str, high: str) -> bool:
    return cell[value] is not None and not cell[low] - _SLACK <= cell[value] <= cell[high] + _SLACK


def _mean(cells: Sequence[Row], metric: str) -> float | None:
    values = _known(cells, metric)
    return fmean(values) if values else None


def _known(cells: Sequence[Row], metric: str) -> list[float]:
    return [cell[metric] for cell in cells if cell[metric] is not None]


def _text(number: Decimal | None) -> str | None:
    return None if number is None else decimal_text(number)
