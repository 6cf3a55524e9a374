-- One row per charge: a release, or a gap that the operator accepted.
-- Reads: base.charges.
create view staging.charges as
select
    sequence,
    account,
    ledger_line,
    kind,
    release_key,
    epsilon,
    epsilon_nats,
    delta,
    rho,
    rho_nats,
    day
from base.charges;
