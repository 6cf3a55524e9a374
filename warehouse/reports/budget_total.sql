-- One row per account and ledger line: caps, spent and left, each as epsilon, delta and rho. Texts are exact decimals.
-- Reads: staging.budgets, staging.charges.
create view budget_total as
with
charged as (
    -- a charge `*` counts on every line of its account: on the only one, or, an accepted gap, on that of each partition
    select
        budgets.account,
        budgets.ledger_line,
        count(*) as charges,
        count(*) filter (where charges.kind = 'gap') as gaps,
        max(charges.day) as last_charged_day
    from staging.budgets as budgets
    inner join staging.charges as charges
        on
            budgets.account = charges.account
            and charges.ledger_line in ('*', budgets.ledger_line)
    group by budgets.account, budgets.ledger_line
)

select
    budgets.account,
    budgets.ledger_line,
    budgets.composition,
    budgets.cap_epsilon,
    budgets.cap_delta,
    budgets.cap_rho,
    budgets.spent_epsilon,
    budgets.spent_delta,
    budgets.spent_rho,
    budgets.left_epsilon,
    budgets.left_delta,
    budgets.left_rho,
    budgets.cap_epsilon_nats,
    budgets.spent_epsilon_nats,
    budgets.cap_rho_nats,
    budgets.spent_rho_nats,
    budgets.is_capped,
    budgets.is_overspent,
    coalesce(charged.charges, 0) as charges,
    coalesce(charged.gaps, 0) as gaps,
    charged.last_charged_day
from staging.budgets as budgets
left join charged on budgets.account = charged.account and budgets.ledger_line = charged.ledger_line
order by budgets.account, budgets.ledger_line;
