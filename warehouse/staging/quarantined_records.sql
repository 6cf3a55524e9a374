-- One row per record that was kept aside.
-- Reads: base.quarantined_records.
create view staging.quarantined_records as
select
    corpus,
    partition_version,
    unit_id,
    record_id,
    status
from base.quarantined_records;
