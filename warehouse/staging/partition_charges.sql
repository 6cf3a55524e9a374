-- One row per charge, with the corpus and partition whose release it paid for; a gap has neither.
-- Reads: base.partition_charges.
create view staging.partition_charges as
select
    sequence,
    account,
    ledger_line,
    kind,
    corpus,
    partition,
    partition_version,
    release_key,
    epsilon_nats,
    delta,
    delta::double as delta_probability,
    rho_nats,
    day
from base.partition_charges;
