"""Rows of study tables made by hand; every number in them is invented."""

import hashlib
from collections.abc import Mapping

import pyarrow as pa

from schemas.study_tables import METRICS
from tasks.reporting.studies import STUDY_SCHEMAS

STUDY_KEY, CELL_KEY = (hashlib.sha256(name).hexdigest() for name in (b"study", b"cell"))
_SAME = {"study_key": STUDY_KEY, "study": "small", "cell": 0, "cell_key": CELL_KEY}
_ASKED = {
    "mechanism": "frontier",
    "universe": "synthetic",
    "n": 1000,
    "universe_statements": 100,
    "statements": 10,
    "distinct": True,
    "seeds": 2,
    "runs": 5,
    "epsilon": "1",
    "epsilon_nats": 1.0,
    "theta": "0.1",
    "theta_share": 0.1,
    "threshold_units": 100,
    "beta": "0.05",
    "beta_share": 0.05,
    "scope": "report",
    "charged_epsilon_nats": 1.0,
    "charged_delta": 0.0,
    "beta_per_statement": 0.005,
    "margin_units": 40.0,
    "margin_share": 0.04,
    "confidence": 0.999,
    "slack_hoeffding_999_share": 0.2,
}
_RATES = {
    f"{metric}{end}_share": value for metric in METRICS for end, value in (("", 0.2), ("_lower", 0.1), ("_upper", 0.3))
}
STUDY_DEFAULTS: dict[str, dict[str, object]] = {
    "study_runs": _SAME
    | {"seed": 0, "runs": 5, "candidates": 50, "unsupported_candidates": 30, "supported_candidates": 20}
    | {"emitted": 15, "unsupported_emitted": 1, "supported_emitted": 14, "emitted_support_units": 3000}
    | {"runs_with_unsupported": 1},
    "study_cells": _SAME | _ASKED | _RATES | {"mean_support_share": 0.2},
}


def study_tables_of(**rows: list[Mapping[str, object]]) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """Both tables, with the given rows over the defaults above."""
    return {
        name: (pa.Table.from_pylist([STUDY_DEFAULTS[name] | dict(row) for row in rows.get(name, [])], schema), schema)
        for name, schema in STUDY_SCHEMAS.items()
    }
