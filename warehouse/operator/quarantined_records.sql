-- One row per record that is kept aside: stays in n, supports nothing. Private.
-- Reads: staging.quarantined_records.
create view quarantined_records as
select
    corpus,
    partition_version,
    unit_id,
    record_id,
    status
from staging.quarantined_records
order by corpus, partition_version, unit_id, record_id;
