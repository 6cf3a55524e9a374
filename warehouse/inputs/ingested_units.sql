-- One row per unit of the partition version, without its id. Private.
-- Reads: base.units, base.records.
create view ingested_units as
with
found as (
    select
        unit_index,
        count(*) as records
    from base.records
    group by unit_index
)

select
    units.unit_index,
    coalesce(units.unit_id, '') != '' as has_unit_id,
    units.has_unit_key,
    row_number() over (partition by units.unit_id) = 1 as is_first_of_its_id,
    units.records,
    coalesce(found.records, 0) as records_found
from base.units as units
left join found on units.unit_index = found.unit_index;
