"""Backfills for tests: reviews with dates, an audit definition by quarter, the stages without an orchestrator."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.errors import StageError, UserError
from tasks.audits.backfill_record import begin_backfill, write_options
from tasks.audits.backfill_results import backfill_results
from tasks.audits.backfilling import guarded_audit, is_stopped, plan_stage, publish_stage
from tasks.audits.run import Run, open_run, write_request
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home
from tests.audits import DISLIKES, LIKES, settings_for

QUARTERS = {"2025-Q3": 20, "2025-Q4": 30, "2026-Q1": 20, "2026-Q2": 10}
TWO = {"2025-Q3": 20, "2025-Q4": 30}
_FIRST_MONTH = {"Q1": "01", "Q2": "04", "Q3": "07", "Q4": "10"}


def write_dated(path: Path, authors: Mapping[str, int] = QUARTERS, *, late: Mapping[str, int] | None = None) -> Path:
    """So many authors with one review each in each quarter, the same ones in all; late: authors with a second one."""
    rows = []
    for quarter, number in authors.items():
        month = f"{quarter[:4]}-{_FIRST_MONTH[quarter[-2:]]}"
        for author in range(number + (late or {}).get(quarter, 0)):
            again = author >= number
            name = author - number if again else author
            text = LIKES if name < number // 2 else DISLIKES
            rows.append(
                {
                    "id": f"{quarter}-{author}",
                    "author": f"author {name}",
                    "date": f"{month}-{1 + author % 28:02}",
                    "text": f"{text} {quarter}{' again' if again else ''}.",
                }
            )
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def by_quarter(source: Path, first: str = "2025-Q3", last: str = "2026-Q3", **changes: object) -> AuditSettings:
    """An audit of `source` by quarter: 12 statements, epsilon 2 for each."""
    grid = {"partition_column": "date", "time_grid": "quarter", "first_period": first, "last_period": last}
    return settings_for(source, **grid | changes)


def new_backfill(home: Home, definition: AuditSettings, **options: object) -> Run:
    """A backfill of this definition, not yet planned."""
    audit_file, options_file = write_request(home, definition), write_options(home, BackfillSettings(**options))
    return open_run(str(home.root), begin_backfill(str(home.root), str(audit_file), str(options_file)))


def audit_due(run: Run, due: list[str]) -> None:
    """The audits of a plan, as the flow begins them."""
    for number in due:
        if not is_stopped(str(run.home.root), run.run_id):
            with suppress(UserError, StageError):
                guarded_audit(str(run.home.root), run.run_id, number)


def backfill(home: Home, definition: AuditSettings, *, published: bool = False, **options: object) -> dict:
    """Plan and audits, and where it is wanted what is published of them, which takes longest: its results."""
    run = new_backfill(home, definition, **options)
    audit_due(run, plan_stage(run))
    if published:
        publish_stage(run)
    return backfill_results(run)


def standings(results: Mapping) -> dict[str, str]:
    """What came of each partition."""
    return {row["partition"]: row["standing"] for row in results["partitions"]}


def spent(home: Home) -> str | None:
    """Of the first budget line, in nats."""
    return ReleaseLog(home).budget_lines()[0].epsilon.spent


def released(home: Home) -> list[str]:
    """Partitions in the order in which they were sealed."""
    return list(ReleaseLog(home).project().releases["partition"].to_pylist())
