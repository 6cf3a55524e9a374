"""privcert warehouse."""

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, print_json, short


@click.group(name="warehouse")
def command() -> None:
    """Rebuild the databases and reports from the release log, of which they are projections.

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
