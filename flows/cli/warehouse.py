"""privcert warehouse."""

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, print_json, release_zone_in_use, short


@click.group(name="warehouse")
def command() -> None:
    """Rebuild, check or find the databases, which are projections of the release log.

    Example: privcert warehouse rebuild
    """


@command.command()
@json_option
def rebuild(as_json: bool) -> None:
    """Rebuild release.duckdb, operator.duckdb, certificates and reports from the release log.

    Example: privcert warehouse rebuild
    """
    from tasks.audits.publishing import rebuild_everything

    files = rebuild_everything(present_home())
    if as_json:
        print_json({"files": [str(path) for path in files]})
    else:
        click.echo("\n".join(short(path) for path in files))


@command.command()
@json_option
def check(as_json: bool) -> None:
    """Compare both databases with the release log and run their suites; nothing is written. Exit code 2 for a fault.

    Example: privcert warehouse check
    """
    from tasks.audits.publishing import check_warehouse

    checked = check_warehouse(present_home())
    if as_json:
        facts = [{"database": str(one.path), "state": one.state, "failed": one.failed} for one in checked]
        print_json({"valid": all(one.is_valid for one in checked), "databases": facts})
    else:
        for one in checked:
            click.echo("\n  ".join([f"{short(one.path)}: {one.state}", *one.failed]))
        if not all(one.is_valid for one in checked):
            click.echo("`privcert warehouse rebuild` builds both anew from the release log")
    if not all(one.is_valid for one in checked):
        raise SystemExit(2)


@command.command()
@click.option("--operator", is_flag=True, help="The operator's database (private) instead of release.duckdb.")
@json_option
def path(operator: bool, as_json: bool) -> None:
    """Print where the database lies, for tools that open DuckDB files; it may not be there yet.

    Example: duckdb -readonly $(privcert warehouse path)
    """
    from tasks.reporting.places import operator_database, release_database

    found = operator_database(present_home()) if operator else release_database(release_zone_in_use())
    if as_json:
        print_json({"path": str(found)})
    else:
        click.echo(str(found))
