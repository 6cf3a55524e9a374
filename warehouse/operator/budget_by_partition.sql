-- One row per account and partition that was charged: what its releases cost, and what is left of its line. Private.
-- Reads: staging.partition_charges, staging.budgets.
create view budget_by_partition as
with
charged as (
    select
        account,
        corpus,
        partition,
        count(distinct partition_version) as versions,
        count(*) as releases,
        sum(epsilon_nats) as epsilon_nats,
        sum(delta_probability) as delta_probability,
        sum(rho_nats) as rho_nats,
        min(day) as first_charged_day,
        max(day) as last_charged_day
    from staging.partition_charges
    where kind = 'release'
    group by account, corpus, partition
),

-- An accepted gap counts on every line of its account.
gaps as (
    select
        account,
        count(*) as gaps
    from staging.partition_charges
    where kind = 'gap'
    group by account
)

select
    charged.account,
    charged.corpus,
    charged.partition,
    budgets.ledger_line,  -- `*`: all partitions of the account add up
    budgets.composition,
    charged.versions,
    charged.releases,
    coalesce(gaps.gaps, 0) as gaps,
    charged.epsilon_nats,
    charged.delta_probability,
    charged.rho_nats,
    budgets.cap_epsilon,
    budgets.cap_delta,
    budgets.cap_rho,
    budgets.left_epsilon,
    budgets.left_delta,
    budgets.left_rho,
    case
        when budgets.composition = 'zcdp' then budgets.spent_rho_nats / nullif(budgets.cap_rho_nats, 0)
        when budgets.is_capped then budgets.spent_epsilon_nats / nullif(budgets.cap_epsilon_nats, 0)
    end as spent_share,
    budgets.is_overspent,
    charged.first_charged_day,
    charged.last_charged_day
from charged
left join staging.budgets as budgets
    on charged.account = budgets.account and budgets.ledger_line in ('*', charged.partition)
left join gaps on charged.account = gaps.account
order by charged.account, charged.corpus, charged.partition;
