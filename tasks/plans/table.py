"""Plans as rows of table `plans` and as files."""

import io
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from schemas.plans import PLANS, PlanSettings
from schemas.values import decimal_text
from tasks.plans.files import writing
from tasks.plans.sweep import Cell
from tasks.privacy.planning import POWERS
from tasks.storage.atomic import RELEASE_FILE, write_bytes, write_table


def plan_row(asked: PlanSettings, cell: Cell) -> dict[str, object]:
    """One row of PLANS."""
    made = cell.plan
    row: dict[str, object] = {
        "mechanism": asked.mechanism,
        "scope": str(asked.scope),
        "n": asked.n,
        "statements": cell.statements,
        "epsilon": decimal_text(cell.epsilon),
        "epsilon_nats": float(cell.epsilon),
        "delta": None if asked.delta is None else decimal_text(asked.delta),
        "theta": decimal_text(cell.theta),
        "theta_share": float(cell.theta),
        "beta": decimal_text(asked.beta),
        "contributions": asked.contributions,
        "selected": asked.selected,
        "selection_share": None if asked.selection_share is None else decimal_text(asked.selection_share),
        "threshold_units": made.threshold_units,
        "margin_units": float(made.margin_units),
        "margin_support": made.margin_support,
        "vacuous": made.vacuous,
    }
    counts, supports = made.smallest_count_emitted, made.smallest_support_emitted
    row |= {f"smallest_count_emitted_{percent(power)}": counts[power] for power in POWERS}
    return row | {f"smallest_support_emitted_{percent(power)}": supports[power] for power in POWERS}


def percent(power: str) -> str:
    """'0.5' -> '50'."""
    return f"{100 * float(power):g}"


def write_plans(path: str, rows: Iterable[dict[str, object]]) -> None:
    """The rows as Parquet or CSV, by the file's ending, all or nothing. Raises UserError where it cannot be written."""
    table = pa.Table.from_pylist(list(rows), schema=PLANS)
    if Path(path).suffix == ".parquet":
        with writing("output", path):
            write_table(Path(path), table, RELEASE_FILE)
        return
    import pyarrow.csv

    content = io.BytesIO()
    pyarrow.csv.write_csv(table, content)
    with writing("output", path):
        write_bytes(Path(path), content.getvalue(), RELEASE_FILE)
