-- One row per run: what all its partitions cost together. Private.
-- Reads: staging.runs, partition_runs.
create view run_history as
select
    runs.run_id,
    runs.corpus,
    runs.model,
    runs.started_at,
    runs.seconds,
    count(partition_runs.run_id) as partitions,
    coalesce(sum(partition_runs.units), 0)::bigint as units,
    coalesce(sum(partition_runs.records), 0)::bigint as records,
    coalesce(sum(partition_runs.unreadable_records), 0)::bigint as unreadable_records,
    coalesce(sum(partition_runs.duplicates), 0)::bigint as duplicates,
    coalesce(sum(partition_runs.pairs_scored), 0)::bigint as pairs_scored,
    coalesce(sum(partition_runs.pairs_reused), 0)::bigint as pairs_reused,
    count(*) filter (where partition_runs.is_newly_sealed) as releases_drawn,
    count(*) filter (where partition_runs.was_sealed) as releases_found_sealed
from staging.runs as runs
left join partition_runs on runs.run_id = partition_runs.run_id
group by runs.run_id, runs.corpus, runs.model, runs.started_at, runs.seconds
order by runs.started_at, runs.run_id;
