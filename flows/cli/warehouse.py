"""privcert warehouse."""

from pathlib import Path

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, print_json, release_zone_in_use, short


@click.group(name="warehouse")
def command() -> None:
    """Rebuild, check, find, push or pull the databases, which are projections of the release log.

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


@command.command()
@click.argument("url")
@json_option
def push(url: str, as_json: bool) -> None:
    """Put release.duckdb at URL (s3, gs, az or abfs), for readers who pull it. Nothing private is read.

    Example: privcert warehouse push s3://published/reviews/release.duckdb
    """
    from tasks.reporting.copies import push_database

    origin = push_database(release_zone_in_use(), url)
    if as_json:
        print_json({"url": url, "chain_head": origin["chain_head"]})
    else:
        click.echo(url)


@command.command()
@click.argument("url")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to; by default where `privcert sql` looks, in the release zone of PRIVCERT_HOME.",
)
@json_option
def pull(url: str, output: Path | None, as_json: bool) -> None:
    """Fetch a release database that was pushed to URL, check it, and put it in the place of the old one.

    Example: privcert warehouse pull s3://published/reviews/release.duckdb
    """
    from tasks.reporting.copies import place_for_pulled, pull_database
    from tasks.storage.home import default_home

    target = place_for_pulled(default_home()) if output is None else output.absolute()
    origin = pull_database(url, target)
    if as_json:
        print_json({"path": str(target), "chain_head": origin["chain_head"], "built_by": origin["product_version"]})
    else:
        click.echo(short(target))
