-- One row per account and ledger line: the totals. `budget_left`, because `left` cannot be selected unquoted.
-- Reads: base.budgets.
create view staging.budgets as
select
    account,
    ledger_line,
    cap,
    spent,
    budgets.left as budget_left,
    cap_nats,
    spent_nats,
    cap is not null as is_capped,
    coalesce(spent_nats > cap_nats, false) as is_overspent  -- only an accepted gap after a restored backup may do that
from base.budgets as budgets;
