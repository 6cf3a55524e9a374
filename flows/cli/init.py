"""privcert init."""

import click

from flows.cli.options import json_option
from flows.cli.output import print_json
from tasks.storage.home import default_home, initialise_home


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Make a home for private corpora: keys, permissions, release log. Again: checks it.

    Example: PRIVCERT_HOME=/srv/privcert privcert init
    """
    from tasks.ledger.export import public_key
    from tasks.ledger.log import ReleaseLog

    home = initialise_home(default_home(), on_purpose=True)
    ReleaseLog(home)
    facts = {"home": str(home.root), "ledger_id": home.ledger_id, "public_key": public_key(home)}
    if as_json:
        print_json(facts)
        return
    click.echo(f"home        {facts['home']}\nledger id   {facts['ledger_id']}\npublic key  {facts['public_key']}")
    click.echo("Give the public key to whoever will verify your certificates; back up private/, it cannot be remade.")
