"""Studies that take a fraction of a second."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from schemas.building import build
from schemas.studies import StudySettings
from tasks.storage.home import Home
from tasks.studies.study import Study, plan_study, read_request, simulate, summarise

SMALL: dict[str, object] = {
    "name": "small",
    "mechanisms": ("frontier", "laplace", "svt", "topk", "hist"),
    "epsilon": (1, 4),
    "theta": "0.1",
    "statements": (5, 20),
    "selected": 3,
    "selection_share": "0.5",
    "contributions": 2,
    "seeds": 3,
    "runs": 4,
    "n": 200,
    "universe_statements": 40,
}


def small_settings(**changes: object) -> StudySettings:
    """20 cells, three seeds; `changes` replace settings, None takes one away. Numbers may be written as text."""

    def exact(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(exact, value))
        try:
            return Decimal(value) if isinstance(value, str) else value
        except ArithmeticError:
            return value

    return build(StudySettings, {name: exact(value) for name, value in (SMALL | changes).items()})


def preset(name: str, **changes: object) -> StudySettings:
    """A shipped study with some settings replaced."""
    return build(StudySettings, read_request(name), changes)


def run_small(home: Home, workers: int | None = 0, **changes: object) -> pa.Table:
    """What the small study counted."""
    return simulate(plan_study(home, small_settings(**changes)), workers)


def tables_of(study: Study, workers: int | None = 0) -> tuple[pa.Table, pa.Table]:
    """STUDY_RUNS and STUDY_CELLS."""
    return summarise(study, simulate(study, workers))


def parts_of(home: Home) -> dict[str, int]:
    """Parts by name, with the time of their last change in nanoseconds."""
    folder: Path = home.private / "studies" / "parts"
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}
