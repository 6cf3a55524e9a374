-- One row per partition version and reason: records that could not be read, as the latest run on it saw them. Private.
-- Reads: partition_runs, staging.unreadable_records.
create view unreadable as
with
latest as (
    select *
    from partition_runs
    qualify row_number() over (partition by corpus, partition_version order by started_at desc, run_id desc) = 1
)

select
    latest.corpus,
    latest.partition,
    latest.partition_version,
    unreadable.status,
    unreadable.records as unreadable_records,
    unreadable.records / nullif(latest.records, 0) as share_of_records,
    latest.run_id
from latest
inner join staging.unreadable_records as unreadable
    on latest.run_id = unreadable.run_id and latest.partition = unreadable.partition
where unreadable.records > 0
order by latest.corpus, latest.partition, latest.partition_version, unreadable.status;
