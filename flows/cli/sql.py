"""privcert sql."""

import shutil
import sys

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, release_zone_in_use


@click.command()
@click.argument("query")
@click.option("--operator", is_flag=True, help="Query operator.duckdb (private) instead of release.duckdb.")
@click.option("--output", type=click.Choice(["table", "csv", "json", "parquet"]), default="table", show_default=True)
@json_option
def command(query: str, operator: bool, output: str, as_json: bool) -> None:
    """Run one read-only query on the release database; nothing outside it can be reached.

    Example: privcert sql "select statement, certificate from statements where decision = 'emit'"
    """
    from tasks.reporting.sql import run_sql

    home = present_home() if operator else release_zone_in_use()
    if operator:
        from tasks.audits.publishing import refresh_operator_database

        refresh_operator_database(home)  # does nothing when nothing came since
    width = shutil.get_terminal_size().columns
    answer = run_sql(home, query, operator=operator, output="json" if as_json else output, width=width)
    if as_json:
        answer = f'{{"rows": {answer if isinstance(answer, str) else answer.decode()}}}\n'
    sys.stdout.buffer.write(answer if isinstance(answer, bytes) else answer.encode())
    sys.stdout.buffer.flush()
    if not operator:
        from tasks.audits.freshness import is_behind

        if is_behind(home):
            click.echo(
                "privcert: release.duckdb is older than the release log: whoever publishes brings it up to date by "
                "`privcert warehouse rebuild`",
                err=True,
            )
