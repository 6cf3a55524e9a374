-- One row per account and ledger line: the totals.
-- Reads: base.budgets.
create view staging.budgets as
select
    account,
    ledger_line,
    composition,
    cap_epsilon,
    cap_delta,
    cap_rho,
    spent_epsilon,
    spent_delta,
    spent_rho,
    left_epsilon,
    left_delta,
    left_rho,
    cap_epsilon_nats,
    spent_epsilon_nats,
    cap_rho_nats,
    spent_rho_nats,
    composition is not null as is_capped,
    -- An accepted gap after a restored backup may do that; the log refuses every charge from then on.
    is_overspent
from base.budgets;
