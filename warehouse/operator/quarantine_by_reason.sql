-- One row per partition version and reason: how many records are kept aside, of how many units. Private.
-- Reads: partition_runs, staging.quarantined_records.
create view quarantine_by_reason as
with
kept as (
    select
        corpus,
        partition_version,
        status,
        count(*) as records,
        count(distinct unit_id) as units
    from staging.quarantined_records
    group by corpus, partition_version, status
),

latest as (
    select *
    from partition_runs
    qualify row_number() over (partition by corpus, partition_version order by started_at desc, run_id desc) = 1
)

select
    kept.corpus,
    latest.partition,  -- null until a run has finished
    kept.partition_version,
    kept.status,
    kept.records,
    kept.units,
    kept.records / nullif(latest.records, 0) as share_of_records
from kept
left join latest on kept.corpus = latest.corpus and kept.partition_version = latest.partition_version
order by kept.corpus, latest.partition, kept.partition_version, kept.status;
