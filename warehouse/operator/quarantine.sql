-- One row per partition version and reason: how many records are kept aside, of how many units. Private.
-- Reads: staging.quarantined_records.
create view quarantine as
select
    corpus,
    partition_version,
    status,
    count(*) as records,
    count(distinct unit_id) as units
from staging.quarantined_records
group by corpus, partition_version, status
order by corpus, partition_version, status;
