-- One row per record that was read, without its text and its id. Private.
-- Reads: base.records, base.asked.
create view ingested_records as
select
    records.status,
    records.status = 'ok' as is_readable,
    records.has_text,
    records.has_text_key,
    coalesce(records.record_id, '') != '' as has_record_id,
    records.unit_index >= 0 and records.unit_index < asked.units as is_of_a_unit,
    row_number() over (partition by records.unit_index, records.record_id) = 1 as is_first_of_its_id
from base.records as records
cross join base.asked as asked;
