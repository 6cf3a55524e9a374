-- One row per release and statement.
-- Reads: base.certificates.
create view staging.certificates as
select
    release_key,
    position,
    statement_id,
    statement,
    certificate_units
from base.certificates;
