"""One line a run, for the operator only: private/runs/RUN/summary.json, loaded into operator.duckdb."""

from pydantic import BaseModel, ConfigDict


class PartitionSummary(BaseModel):
    """What one partition of a run cost; every number here is private."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    partition: str
    partition_version: str
    units: int
    records: int
    unreadable: dict[str, int]  # RecordStatus -> records
    duplicates: int
    pairs_scored: int
    pairs_reused: int
    release_key: str | None
    was_sealed: bool  # the answer was in the log already: no draw, no charge


class RunSummary(BaseModel):
    """One run of `privcert audit`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    corpus: str
    model: str
    model_fingerprint: str
    started_at: str  # ISO 8601, UTC
    seconds: float
    partitions: tuple[PartitionSummary, ...]
