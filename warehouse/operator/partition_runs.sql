-- One row per run and partition: what was read, scored and sealed. Private.
-- Reads: staging.partition_runs, staging.runs, staging.unreadable_records.
create view partition_runs as
with
unreadable as (
    select
        run_id,
        partition,
        sum(records)::bigint as unreadable_records
    from staging.unreadable_records
    group by run_id, partition
)

select
    partition_runs.run_id,
    runs.corpus,
    partition_runs.partition,
    partition_runs.partition_version,
    runs.started_at,
    partition_runs.units,
    partition_runs.records,
    coalesce(unreadable.unreadable_records, 0) as unreadable_records,
    partition_runs.duplicates,
    partition_runs.pairs_scored,
    partition_runs.pairs_reused,
    partition_runs.release_key,
    partition_runs.was_sealed,
    partition_runs.release_key is not null and not partition_runs.was_sealed as is_newly_sealed
from staging.partition_runs as partition_runs
inner join staging.runs as runs on partition_runs.run_id = runs.run_id
left join unreadable
    on partition_runs.run_id = unreadable.run_id and partition_runs.partition = unreadable.partition
order by runs.started_at, partition_runs.run_id, partition_runs.partition;
