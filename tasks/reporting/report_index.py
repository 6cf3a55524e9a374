"""The index over all releases, newest first, as the release database has them."""

import duckdb

from schemas.releases import file_stem
from tasks.reporting.page import render
from tasks.reporting.report_facts import Row, select
from tasks.reporting.wording import Units

_RELEASES = "select * from releases order by sequence desc"
_READINGS = """
    select
        release_key,
        theta,
        count(*) filter (where decision = 'emit') as emitted,
        bool_and(is_vacuous) as is_vacuous
    from statements_at_thresholds
    group by release_key, theta, theta_share
    order by release_key, theta_share, theta
"""
_BUDGET = "select * from budget_total order by account, ledger_line"
_ORIGIN = "select ledger_id, chain_head from base.origin"


def render_index(connection: duckdb.DuckDBPyConnection) -> str:
    """Every release with a link to each of its reports, and the accounts as they are now."""
    readings: dict[str, list[Row]] = {}
    for row in select(connection, _READINGS):
        readings.setdefault(row["release_key"], []).append(row)
    releases = [
        {
            **row,
            "units": Units(row["unit"], row["unit_support"]),
            "readings": [
                {**one, "file": f"{file_stem(row['corpus'], row['partition'], row['release_key'], one['theta'])}.html"}
                for one in readings.get(row["release_key"], [])
            ],
        }
        for row in select(connection, _RELEASES)
    ]
    [origin] = select(connection, _ORIGIN)
    return render("index.html", releases=releases, budget=select(connection, _BUDGET), origin=origin)
