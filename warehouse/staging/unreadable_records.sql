-- One row per run, partition and reason why records could not be read.
-- Reads: base.unreadable_records.
create view staging.unreadable_records as
select
    run_id,
    partition,
    status,
    records
from base.unreadable_records;
