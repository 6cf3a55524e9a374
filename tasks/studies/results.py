"""What a finished study tells: one JSON-able object, from its tables."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from statistics import fmean

import pyarrow.parquet as pq

from schemas.studies import StudySettings
from schemas.values import decimal_text
from tasks.storage.home import Home
from tasks.studies.study import CELLS_FILE

Row = Mapping[str, object]
_METRICS = ("emit_rate_share", "supported_recall_share", "unsupported_emit_share", "false_emission_share")


def study_results(home: Home, stem: str, settings: StudySettings) -> dict[str, object]:
    """Worst and mean cell beside published values, one line a mechanism and epsilon, whole reports, files."""
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
        "mean_unsupported_emit": fmean(wrong) if wrong else None,
        "published_max_unsupported_emit": _text(settings.published_max_unsupported_emit),
        "published_mean_unsupported_emit": _text(settings.published_mean_unsupported_emit),
        "exact_rates": len(_known(cells, "exact_emit_rate_share")),
        "exact_rates_outside_theorem4": sum(_is_outside(cell) for cell in cells),
        "by_epsilon": _by_epsilon(cells),
        "whole_reports": [_whole_report(cell) for cell in cells if cell["scope"] != "candidate"],
        "files": [str(path) for path in sorted(folder.iterdir())],
        "database": str(home.release / "release.duckdb"),
    }


def _by_epsilon(cells: Sequence[Row]) -> list[dict[str, object]]:
    """One line a mechanism and epsilon: means over its cells, and its cell with the highest EmitRate."""
    groups: dict[tuple[object, object], list[Row]] = {}
    for cell in cells:
        groups.setdefault((cell["mechanism"], cell["epsilon"]), []).append(cell)
    lines = []
    for (mechanism, epsilon), group in groups.items():
        best = max(group, key=lambda cell: float(str(cell["emit_rate_share"])))
        line: dict[str, object] = {"mechanism": mechanism, "epsilon": epsilon, "cells": len(group)}
        for metric in _METRICS:
            values = _known(group, metric)
            line[f"mean_{metric}"] = fmean(values) if values else None
        names = ("statements", "theta", "beta", "scope", "selected", "selection_share", "contributions", *_METRICS)
        line["best"] = {name: best[name] for name in names if best[name] is not None}
        lines.append(line)
    return lines


def _whole_report(cell: Row) -> dict[str, object]:
    names = ("mechanism", "universe", "statements", "epsilon", "theta", "scope", "confidence", "any_unsupported_share",
             "any_unsupported_lower_share", "any_unsupported_upper_share")  # fmt: skip
    reports = int(str(cell["seeds"])) * int(str(cell["runs"]))
    return {"promised": cell["beta"], "reports": reports} | {name: cell[name] for name in names}


def _is_outside(cell: Row) -> bool:
    if cell["exact_emit_rate_share"] is None:
        return False
    low, exact, high = (
        float(str(cell[name])) for name in ("theorem4_lower_share", "exact_emit_rate_share", "theorem4_upper_share")
    )
    return not low - 1e-12 <= exact <= high + 1e-12


def _known(cells: Sequence[Row], metric: str) -> list[float]:
    return [float(str(cell[metric])) for cell in cells if cell[metric] is not None]


def _text(number: Decimal | None) -> str | None:
    return None if number is None else decimal_text(number)
