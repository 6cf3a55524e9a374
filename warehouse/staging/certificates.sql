-- One row per release and statement.
-- Reads: base.certificates.
create view staging.certificates as
select
    release_key,
    position,
    statement_id,
    statement,
    weight,
    certificate_units,
    reason,
    margin_units,
    epsilon_per_statement_nats,
    beta_per_statement
from base.certificates;
