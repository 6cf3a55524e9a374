"""Tables of a study: what the seeds counted, and one row a cell with rates, intervals and what theory says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.study_tables import METRICS, STUDY_CELLS, STUDY_RUNS
from schemas.values import decimal_text
from tasks.privacy.accounting import Loss
from tasks.privacy.coverage import MISS, hoeffding_slack, theorem4_intervals_of_counts
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.mechanisms.protocol import depends_on_its_count_alone
from tasks.privacy.thresholds import threshold_units
from tasks.statistics.intervals import clopper_pearson
from tasks.studies.cells import OPTIONAL, Cell
from tasks.studies.chunks import Samples, sampled

Columns = Mapping[str, NDArray[np.int64]]
# metric -> numerator, denominator
RATIOS = {
    "unsupported_emit": ("unsupported_emitted", "unsupported_candidates"),
    "emit_rate": ("emitted", "candidates"),
    "false_emission": ("unsupported_emitted", "emitted"),
    "supported_recall": ("supported_emitted", "supported_candidates"),
    "any_unsupported": ("runs_with_unsupported", "runs"),
}
assert tuple(RATIOS) == METRICS
assert MISS == 0.001  # the slack's column says so


@dataclass(frozen=True, slots=True)
class Identity:
    """Of a study, on each of its rows, and its seed. confidence: of each interval."""

    key: str
    name: str
    seed: int
    seeds: int
    confidence: Fraction


def study_runs(identity: Identity, counted: pa.Table, cells: int) -> pa.Table:
    """Table STUDY_RUNS from SEED_COUNTS in plan order."""
    rows = counted.num_rows
    return pa.table(
        {
            "study_key": pa.array([identity.key] * rows, pa.string()),
            "study": pa.array([identity.name] * rows, pa.string()),
            "cell": np.repeat(np.arange(cells), identity.seeds),
            **{name: counted[name] for name in counted.column_names},
        }
    ).cast(STUDY_RUNS)


def study_cells(identity: Identity, counted: pa.Table, cells: Sequence[Cell]) -> pa.Table:
    """Table STUDY_CELLS: numerators and denominators pooled over seeds and runs, exact rates, Theorem 4.

    An interval of Clopper and Pearson speaks of independent trials: reports for any_unsupported; for the others the
    candidates of all reports, which is exact given the sampled statements where certificates are independent and
    conservative where the chances differ, and only indicative after a selection. It says nothing of statements that
    were not sampled.
    """
    pooled: Columns = {
        name: column.to_numpy().reshape(len(cells), identity.seeds).sum(axis=1)
        for name, column in zip(counted.column_names, counted.columns, strict=True)
        if name not in ("cell_key", "seed")
    }
    losses: dict[tuple[object, ...], Loss] = {}
    samples: Samples = {}
    rows = [
        {"study_key": identity.key, "study": identity.name, "cell": at, "seeds": identity.seeds}
        | {"confidence": float(identity.confidence)}
        | _asked(cell)
        | _theory(cell, _loss(cell, losses))
        | _exact(cell, identity, samples)
        for at, cell in enumerate(cells)
    ]
    for metric, found in _rates(pooled, identity.confidence).items():
        for row, value in zip(rows, found, strict=True):
            row[metric] = value
    units = np.array([cell.universe.n for cell in cells])
    for row, value in zip(rows, _shares(pooled["emitted_support_units"], units * pooled["emitted"]), strict=True):
        row["mean_support_share"] = value
    return pa.Table.from_pylist(rows, STUDY_CELLS)


def _rates(pooled: Columns, confidence: Fraction) -> dict[str, list[float | None]]:
    """Every metric with its interval; None without trials."""
    found: dict[str, list[float | None]] = {}
    for metric, (above, below) in RATIOS.items():
        numerators, denominators = pooled[above], pooled[below]
        low, high = clopper_pearson(numerators, denominators, confidence)
        counted = denominators > 0
        found[f"{metric}_share"] = _shares(numerators, denominators)
        found[f"{metric}_lower_share"] = [float(v) if is_ else None for v, is_ in zip(low, counted, strict=True)]
        found[f"{metric}_upper_share"] = [float(v) if is_ else None for v, is_ in zip(high, counted, strict=True)]
    return found


def _shares(numerators: NDArray[np.int64], denominators: NDArray[np.int64]) -> list[float | None]:
    pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
    return [above / below if below else None for above, below in pairs]


def _asked(cell: Cell) -> dict[str, object]:
    share = cell.selection_share
    return {
        "cell_key": cell.key,
        "mechanism": cell.mechanism,
        "universe": cell.universe_name,
        "n": cell.universe.n,
        "universe_statements": cell.universe.statements,
        "statements": cell.statements,
        "distinct": cell.distinct,
        "runs": cell.runs,
        "epsilon": decimal_text(cell.epsilon),
        "epsilon_nats": float(cell.epsilon),
        "delta": None if cell.delta is None else decimal_text(cell.delta),
        "theta": decimal_text(cell.theta),
        "theta_share": float(cell.theta),
        "threshold_units": threshold_units(cell.universe.n, Fraction(cell.theta)),
        "beta": decimal_text(cell.beta),
        "beta_share": float(cell.beta),
        "scope": str(cell.scope),
        "selected": cell.selected,
        "selection_share": None if share is None else float(share),
        "contributions": cell.contributions,
    }


def _theory(cell: Cell, loss: Loss) -> dict[str, object]:
    margin, n = cell.designed.margin_units, cell.universe.n
    return {
        "charged_epsilon_nats": float(loss.epsilon),
        "charged_delta": float(loss.delta),
        "beta_per_statement": float(cell.design.beta_each),
        "margin_units": float(margin),
        "margin_share": float(margin / n),
        "slack_hoeffding_999_share": hoeffding_slack(cell.statements),
    }


def _exact(cell: Cell, identity: Identity, samples: Samples) -> dict[str, object]:
    """Expected EmitRate over the universe and over the sampled statements, and Theorem 4's interval of the first.

    Empty where a certificate depends on more than its count.
    """
    mechanism, n, theta = cell.designed, cell.universe.n, Fraction(cell.theta)
    if not depends_on_its_count_alone(mechanism):
        return {}
    counts = cell.universe.counts()
    chances = mechanism.emit_probabilities(counts, n, theta)
    interval = theorem4_intervals_of_counts(
        counts, n, theta, Fraction(mechanism.margin_units) / n, cell.design.beta_each
    )
    return {
        "exact_emit_rate_share": float(chances.mean()),
        "exact_emit_rate_of_sample_share": float(np.average(chances, weights=_times(cell, identity, samples))),
        "theorem4_lower_share": float(interval.lower),
        "theorem4_upper_share": float(interval.upper),
    }


def _times(cell: Cell, identity: Identity, known: Samples) -> NDArray[np.int64]:
    """How often the seeds sampled each statement of the universe, shape (M,); the same for many cells."""
    what = (cell.universe.identity, cell.statements, cell.distinct)
    if what not in known:
        known[what] = np.zeros(cell.universe.statements, np.int64)
        for seed in range(identity.seeds):
            np.add.at(known[what], sampled(cell, identity.seed, seed), 1)
    return known[what]


def _loss(cell: Cell, known: dict[tuple[object, ...], Loss]) -> Loss:
    """Of one report; it does not depend on theta, beta or scope."""
    what = (cell.mechanism, cell.statements, cell.epsilon, *(getattr(cell, name) for name in OPTIONAL))
    if what not in known:
        known[what] = MECHANISMS[cell.mechanism].loss(cell.design)
    return known[what]
