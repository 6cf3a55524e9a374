-- One row per charge, with the release that caused it; a gap after a restored backup has none.
-- Reads: staging.charges, staging.releases.
create view charges as
select
    charges.sequence,
    charges.day,
    charges.account,
    charges.ledger_line,
    charges.kind,
    charges.epsilon,
    charges.epsilon_nats,
    charges.delta,
    charges.rho,
    charges.rho_nats,
    charges.release_key,
    releases.corpus,
    releases.partition,
    releases.edition
from staging.charges as charges
left join staging.releases as releases on charges.release_key = releases.release_key
order by charges.sequence, charges.account, charges.ledger_line;
