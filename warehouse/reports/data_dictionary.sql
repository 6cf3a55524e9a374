-- One row per column of a table or view of either database: its meaning, its unit, and who may read it.
-- Reads: staging.data_dictionary.
create view data_dictionary as
select
    zone,
    database,
    table_schema,
    table_name,
    kind,
    column_name,
    type,
    unit,
    meaning,
    grain,
    position
from staging.data_dictionary
-- What is there to be read comes first, then what it is made of.
order by zone desc, table_schema != 'main', table_schema desc, table_name, position;
