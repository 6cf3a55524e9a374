-- One row per run and partition.
-- Reads: base.partition_runs.
create view staging.partition_runs as
select
    run_id,
    partition,
    partition_version,
    units,
    records,
    duplicates,
    pairs_scored,
    pairs_reused,
    release_key,
    was_sealed
from base.partition_runs;
