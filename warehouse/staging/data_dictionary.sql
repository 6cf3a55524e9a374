-- One row per column of a table or view of either database.
-- Reads: base.data_dictionary.
create view staging.data_dictionary as
select
    zone,
    database,
    table_schema,
    table_name,
    kind,
    grain,
    position,
    column_name,
    type,
    unit,
    meaning
from base.data_dictionary;
