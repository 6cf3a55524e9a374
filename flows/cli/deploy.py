"""privcert deploy."""

import os
from pathlib import Path
from typing import Any

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, print_json, print_table
from schemas.errors import UserError


@click.command()
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    metavar="NAME[=CRON]",
    help="Switch a deployment's schedule on, in UTC; with CRON another than the file's. All others are off.",
)
@click.option(
    "--notify", metavar="TYPE/NAME", help="Notification block for failed and late runs, e.g. custom-webhook/ops."
)
@json_option
def command(schedules: tuple[str, ...], notify: str | None, as_json: bool) -> None:
    """Put the flows on the Prefect server of PREFECT_API_URL: work pools, deployments, schedules.

    The same command again leaves the server as it is. Runs find their settings in private/audits of the home.

    \b
    Examples:
      privcert deploy
      privcert deploy --schedule "backfill_support=0 3 * * *" --notify custom-webhook/ops
    """
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.cluster.deployments import checkout

    home = present_home()
    if not os.environ.get("PREFECT_API_URL"):
        raise UserError("PREFECT_API_URL: set it to the API of a Prefect server, or start one with `privcert up`")
    use_private_prefect(home)
    facts = put_on_server(home.root, checkout(), schedules, notify)
    if as_json:
        print_json(facts)
        return
    rows = [
        [
            one["deployment"],
            one["pool"],
            ", ".join(f"{at['cron']} {'on' if at['active'] else 'off'}" for at in one["schedules"]),
        ]
        for one in facts["deployments"]
    ]
    print_table(["deployment", "pool", "schedule (UTC)"], rows)
    for name in facts["automations"]:
        click.echo(f"automation  {name}")


def put_on_server(home: Path, folder: Path, schedules: tuple[str, ...], notify: str | None) -> dict[str, Any]:
    """Deploy everything; what is on the server then. Raises UserError for an unknown deployment or block."""
    from tasks import deploy
    from tasks.cluster.deployments import scheduled, written

    deploy.check_server()
    file = scheduled(folder, schedules, home / "private" / "prefect")
    names, pools = written(file)
    block = None if notify is None else deploy.find_block(notify)
    deploy.make_pools(pools)
    places = {"PRIVCERT_CHECKOUT": os.environ.get("PRIVCERT_CHECKOUT") or str(folder), "PRIVCERT_HOME": str(home)}
    deploy.deploy_file(file, folder, places)
    triggers = folder / "deployments" / deploy.AUTOMATIONS_FILE
    automations = [] if block is None else deploy.make_automations(triggers, block)
    return {"pools": pools, "deployments": deploy.deployed(names), "automations": automations}
