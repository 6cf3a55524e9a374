"""privcert sql."""

import sys

import click

from flows.cli.options import json_option
from flows.cli.output import present_home


@click.command()
@click.argument("query")
@click.option("--operator", is_flag=True, help="Query operator.duckdb (private) instead of release.duckdb.")
@click.option("--output", type=click.Choice(["table", "csv", "json", "parquet"]), default="table", show_default=True)
@json_option
def command(query: str, operator: bool, output: str, as_json: bool) -> None:
    """Run one read-only query; nothing outside the database can be reached from it.

    Example: privcert sql "select statement, certificate from statements where decision = 'emit'"
    """
    from tasks.reporting.sql import run_sql

    answer = run_sql(present_home(), query, operator=operator, output="json" if as_json else output)
    sys.stdout.buffer.write(answer if isinstance(answer, bytes) else answer.encode())
    sys.stdout.buffer.flush()
