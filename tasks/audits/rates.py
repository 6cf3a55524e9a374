"""How fast a support model scores: as this home has seen it, or else as an order of magnitude."""

from dataclasses import dataclass
from decimal import Decimal

from pydantic import ValidationError

from schemas.runs import RunSummary
from tasks.plans.cost import PAIRS_PER_SECOND
from tasks.storage.home import Home

_LAST_RUNS = 20


@dataclass(frozen=True, slots=True)
class Rate:
    """Pairs a second > 0, to two figures where it was measured. source: given, measured or assumed.

    runs: over how many it was measured.
    """

    pairs_per_second: Decimal
    source: str
    runs: int = 0


def expected_rate(home: Home, model: str) -> Rate | None:
    """Of whole runs of this model here, the last ones that scored any; a table's where there is none.

    A function of private durations: for the operator's eyes. None for a model that never ran and is in no table.
    """
    newest = sorted(home.runs.glob("*/summary.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    pairs, seconds, runs = 0, 0.0, 0
    for path in newest:
        try:
            run = RunSummary.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue
        scored = sum(part.pairs_scored for part in run.partitions)
        if run.model == model and scored:
            pairs, seconds, runs = pairs + scored, seconds + run.seconds, runs + 1
        if runs == _LAST_RUNS:
            break
    if seconds:
        return Rate(max(Decimal(f"{pairs / seconds:.2g}"), Decimal("0.001")), "measured", runs)
    return Rate(Decimal(PAIRS_PER_SECOND[model]), "assumed") if model in PAIRS_PER_SECOND else None
