-- One row per account, ledger line and month in which it was charged, with the sums up to its end. Private.
-- Reads: staging.partition_charges, staging.budgets.
create view budget_by_month as
with
monthly as (
    -- a charge `*` counts on every line of its account: on the only one, or, an accepted gap, on that of each partition
    select
        budgets.account,
        budgets.ledger_line,
        date_trunc('month', charges.day)::date as month,
        count(*) as charges,
        count(*) filter (where charges.kind = 'gap') as gaps,
        count(*) filter (where charges.epsilon_nats is null) as charges_without_epsilon,
        coalesce(sum(charges.epsilon_nats), 0) as epsilon_nats,
        coalesce(sum(charges.delta_probability), 0) as delta_probability,
        coalesce(sum(charges.rho_nats), 0) as rho_nats
    from staging.budgets as budgets
    inner join staging.partition_charges as charges
        on
            budgets.account = charges.account
            and charges.ledger_line in ('*', budgets.ledger_line)
    group by all
)

select
    account,
    ledger_line,
    month,
    charges,
    gaps,
    charges_without_epsilon,
    epsilon_nats,
    delta_probability,
    rho_nats,
    sum(epsilon_nats) over until_then as epsilon_until_then_nats,
    sum(rho_nats) over until_then as rho_until_then_nats
from monthly
window until_then as (partition by account, ledger_line order by month)
order by account, ledger_line, month;
