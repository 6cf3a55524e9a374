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
    "--notify",
    "blocks",
    multiple=True,
    metavar="TYPE/NAME",
    help="Notification block for failed and late runs, e.g. custom-webhook/ops; repeatable. None: no messages.",
)
@json_option
def command(schedules: tuple[str, ...], blocks: tuple[str, ...], as_json: bool) -> None:
    """Put the flows on the Prefect server of PREFECT_API_URL: work pools, deployments, schedules.

    The same command again leaves the server as it is. Runs find their settings in private/audits of the home:
    a schedule whose file is missing or wrong is refused.

    \b
    Examples:
      privcert deploy
      privcert deploy --schedule "backfill_support=0 3 * * *" --notify custom-webhook/ops
    """
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.cluster.deployments import checkout, prepared

    home, folder = present_home(), checkout()
    if not os.environ.get("PREFECT_API_URL"):
        raise UserError("PREFECT_API_URL: set it to the API of a Prefect server, or start one with `privcert up`")
    use_private_prefect(home)
    facts = put_on_server(home.root, folder, prepared(folder, schedules, home.root), blocks)
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


def put_on_server(home: Path, folder: Path, file: Path, blocks: tuple[str, ...]) -> dict[str, Any]:
    """Deploy everything; what is on the server then. file: of deployments, prepared. Raises UserError for an unknown
    block."""
    from tasks import deploy
    from tasks.cluster.deployments import written

    deploy.check_server()
    names, pools = written(file)
    found, before = deploy.find_blocks(blocks), _running(deploy.deployed(names))
    deploy.make_pools(pools)
    places = {"PRIVCERT_CHECKOUT": os.environ.get("PRIVCERT_CHECKOUT") or str(folder), "PRIVCERT_HOME": str(home)}
    deploy.deploy_file(file, folder, places)
    automations = deploy.make_automations(folder / "deployments" / deploy.AUTOMATIONS_FILE, found)
    after = deploy.deployed(names)
    for name in sorted(before - _running(after)):
        click.echo(f"switched off: the schedule of {name}; --schedule {name} keeps it on", err=True)
    return {"pools": pools, "deployments": after, "automations": automations}


def _running(deployments: list[dict[str, Any]]) -> set[str]:
    """Those with a schedule that is on."""
    return {one["deployment"] for one in deployments if any(at["active"] for at in one["schedules"])}
