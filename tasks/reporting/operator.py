"""Base tables of operator.duckdb: what runs cost and which records were kept aside. Private, every row of it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from schemas.errors import UserError
from schemas.releases import BUDGETS, CHARGES, Projection
from schemas.runs import RunSummary
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath
from tasks.storage.parquet import read_parquet


def _required(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


RUNS = _required(
    run_id=pa.string(),
    corpus=pa.string(),
    model=pa.string(),
    model_fingerprint=pa.string(),
    started_at=pa.timestamp("us"),  # UTC
    seconds=pa.float64(),
)
PARTITION_RUNS = _required(
    run_id=pa.string(),
    partition=pa.string(),
    partition_version=pa.string(),
    units=pa.int64(),
    records=pa.int64(),
    duplicates=pa.int64(),
    pairs_scored=pa.int64(),
    pairs_reused=pa.int64(),
    was_sealed=pa.bool_(),
).append(pa.field("release_key", pa.string()))
UNREADABLE_RECORDS = _required(run_id=pa.string(), partition=pa.string(), status=pa.string(), records=pa.int64())
QUARANTINED_RECORDS = _required(
    corpus=pa.string(),
    partition_version=pa.string(),
    unit_id=pa.string(),
    record_id=pa.string(),
    status=pa.string(),
)
# One row per charge; corpus, partition and version of the release that it paid for, null for an accepted gap.
PARTITION_CHARGES = pa.schema(
    [
        *CHARGES,
        *(pa.field(name, pa.string(), nullable=True) for name in ("corpus", "partition", "partition_version")),
    ]
)
OPERATOR_SCHEMAS = {
    "partition_charges": PARTITION_CHARGES,
    "budgets": BUDGETS,
    "runs": RUNS,
    "partition_runs": PARTITION_RUNS,
    "unreadable_records": UNREADABLE_RECORDS,
    "quarantined_records": QUARANTINED_RECORDS,
}


def operator_sources(home: Home) -> list[AnyPath]:
    """The files that operator.duckdb is made of: run summaries, then quarantined records."""
    return [*sorted(home.runs.glob("*/summary.json")), *_quarantine_files(home)]


def budget_tables(projection: Projection) -> dict[str, pa.Table]:
    """What was charged, partition by partition, and the totals."""
    places = {row["release_key"]: row for row in projection.releases.to_pylist()}
    named = ("corpus", "partition", "partition_version")
    charged = [
        row | {name: places[row["release_key"]][name] if row["release_key"] in places else None for name in named}
        for row in projection.charges.to_pylist()
    ]
    return {
        "partition_charges": pa.Table.from_pylist(charged, PARTITION_CHARGES),
        "budgets": projection.budgets.cast(BUDGETS),
    }


def operator_tables(projection: Projection, home: Home) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """Every base table with its schema.

    Raises UserError when a run's summary cannot be read, naming its folder.
    """
    summaries = [_summary(path) for path in sorted(home.runs.glob("*/summary.json"))]
    rows = {
        "runs": [_run(summary) for summary in summaries],
        "partition_runs": [row for summary in summaries for row in _partitions(summary)],
        "unreadable_records": [row for summary in summaries for row in _unreadable(summary)],
    }
    tables = {name: pa.Table.from_pylist(content, OPERATOR_SCHEMAS[name]) for name, content in rows.items()}
    tables |= budget_tables(projection)
    tables["quarantined_records"] = _quarantined(_quarantine_files(home))
    return {name: (table, OPERATOR_SCHEMAS[name]) for name, table in tables.items()}


def _summary(path: Path) -> RunSummary:
    try:
        return RunSummary.model_validate_json(path.read_bytes())
    except ValidationError:
        reason = f"the summary of run {path.parent.name} cannot be read: remove its folder from private/runs"
        raise UserError(reason) from None  # pydantic's text holds the values


def _run(summary: RunSummary) -> dict[str, object]:
    started = datetime.fromisoformat(summary.started_at)
    row = {name: getattr(summary, name) for name in RUNS.names}
    return row | {"started_at": started.astimezone(UTC).replace(tzinfo=None) if started.tzinfo else started}


def _partitions(summary: RunSummary) -> list[dict[str, object]]:
    names = [name for name in PARTITION_RUNS.names if name != "run_id"]
    return [
        {"run_id": summary.run_id} | {name: getattr(partition, name) for name in names}
        for partition in summary.partitions
    ]


def _unreadable(summary: RunSummary) -> list[dict[str, object]]:
    return [
        {"run_id": summary.run_id, "partition": partition.partition, "status": status, "records": records}
        for partition in summary.partitions
        for status, records in partition.unreadable.items()
    ]


def _quarantine_files(home: Home) -> list[AnyPath]:
    """corpora/CORPUS/VERSION/quarantine.parquet."""
    if isinstance(home.corpora, Path):
        return [*sorted(home.corpora.glob("*/*/quarantine.parquet"))]
    return [path for path in home.corpora.objects() if path.name == "quarantine.parquet"]


def _quarantined(paths: Iterable[AnyPath]) -> pa.Table:
    """Their rows, under their corpus and version."""
    tables = [QUARANTINED_RECORDS.empty_table()]
    for path in paths:
        rows = read_parquet(path, columns=["unit_id", "record_id", "status"])
        corpus = pa.array([path.parent.parent.name] * len(rows), pa.string())
        version = pa.array([path.parent.name] * len(rows), pa.string())
        columns = [corpus, version, *(rows[name].cast(pa.string()) for name in rows.column_names)]
        tables.append(pa.table(columns, schema=QUARANTINED_RECORDS))
    return pa.concat_tables(tables)
