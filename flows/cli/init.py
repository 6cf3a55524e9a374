"""privcert init."""

import click

from flows.cli.options import json_option
from flows.cli.output import print_json
from tasks.storage.home import default_home, initialise_home


@click.command()
@click.option(
    "--store",
    metavar="URL",
    help="Keep registered records and verdicts under this prefix of a private bucket (s3, gs, az or abfs), for ever.",
)
@json_option
def command(store: str | None, as_json: bool) -> None:
    """Make a home for private corpora: keys, permissions, release log. Again: checks it.

    \b
    Examples:
      PRIVCERT_HOME=/srv/privcert privcert init
      PRIVCERT_HOME=/srv/privcert privcert init --store s3://bucket/reviews
    """
    from tasks.ledger.export import public_key
    from tasks.ledger.log import ReleaseLog

    home = initialise_home(default_home(), on_purpose=True, store=store)
    home.check_store()
    ReleaseLog(home).check_not_behind()
    facts = {
        "home": str(home.root),
        "ledger_id": home.ledger_id,
        "public_key": public_key(home),
        "store": home.store,
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"home        {facts['home']}\nledger id   {facts['ledger_id']}\npublic key  {facts['public_key']}")
    if home.store is not None:
        click.echo(f"store       {home.store}")
    click.echo("Give the public key to whoever will verify your certificates; back up private/, it cannot be remade.")
