-- One row per release, statement and dimension that its domain declares for the statement.
-- Reads: base.statement_dimensions.
create view staging.statement_dimensions as
select
    release_key,
    statement_id,
    dimension,
    dimension_value
from base.statement_dimensions;
