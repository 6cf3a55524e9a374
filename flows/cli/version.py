"""privcert version."""

from importlib.metadata import version

import click

from flows.cli.options import json_option
from flows.cli.output import print_json


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Print the version.

    Example: privcert version --json
    """
    if as_json:
        print_json({"privcert": version("privcert")})
    else:
        click.echo(f"privcert {version('privcert')}")
