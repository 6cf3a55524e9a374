-- One row per account and ledger line: the totals. `budget_left`, because `left` cannot be selected unquoted.
-- Reads: base.budgets.
create view staging.budgets as
select
    budgets.account,
    budgets.ledger_line,
    budgets.cap,
    budgets.spent,
    budgets.left as budget_left,
    budgets.cap_nats,
    budgets.spent_nats,
    budgets.cap is not null as is_capped,
    -- An accepted gap after a restored backup may do that; the log refuses every charge from then on.
    coalesce(budgets.spent_nats > budgets.cap_nats, false) as is_overspent
from base.budgets as budgets;
