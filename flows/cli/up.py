"""privcert up."""

import os
import signal
import threading
from types import FrameType

import click

from flows.cli.options import WholeRange, json_option
from flows.cli.output import present_home, print_json
from schemas.errors import UserError


@click.command()
@click.option("--port", type=WholeRange(1, 65535), default=4200, show_default=True, help="Of the Prefect server.")
@click.option(
    "--pool", "pools", multiple=True, default=["cpu"], show_default=True, help="Work pool to take runs of; repeatable."
)
@click.option(
    "--dask-workers", type=WholeRange(0, 1024), default=os.cpu_count, help="Of one thread each; 0: no Dask. [cores]"
)
@click.option("--schedule", "schedules", multiple=True, metavar="NAME[=CRON]", help="As with `privcert deploy`.")
@click.option("--notify", "blocks", multiple=True, metavar="TYPE/NAME", help="As with `privcert deploy`; repeatable.")
@json_option
def command(
    port: int,
    pools: tuple[str, ...],
    dask_workers: int,
    schedules: tuple[str, ...],
    blocks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run everything that schedules need on this machine: Prefect server, deployments, workers, Dask; until Ctrl-C.

    All of it listens on this machine only, and ends with this command.

    Example: privcert up --schedule backfill_support
    """
    from flows.cli.deploy import put_on_server
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.cluster.deployments import checkout, prepared
    from tasks.cluster.local import Local, start_dask, start_server, start_workers
    from tasks.cluster.services import services
    from tasks.support.placement import dask_scratch

    home, folder = present_home(), checkout()
    if os.environ.get("PREFECT_API_URL"):
        raise UserError("PREFECT_API_URL: it names a server already; unset it, or use `privcert deploy` with that one")
    use_private_prefect(home)
    file = prepared(folder, schedules, home.root)
    ending = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        ending.set()
        raise KeyboardInterrupt  # also in the middle of a start

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with services(home.private / "logs" / "up") as started:
        try:
            api = start_server(started, port, home.private / "prefect-up")
            local = Local(api, start_dask(started, dask_workers, dask_scratch(home)))
            os.environ |= local.environment
            from tasks.deploy import end_left_runs  # late: Prefect reads its settings now

            facts = put_on_server(home.root, folder, file, blocks)
            end_left_runs(pools)
            start_workers(started, pools, local.environment | {"PRIVCERT_HOME": str(home.root)})
            _show({"api": local.api, "dask": local.dask, "workers": list(pools), **facts}, as_json=as_json)
            while not ending.wait(1):
                started.check()
        except KeyboardInterrupt:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)  # the end is not interrupted
    click.echo("ended", err=True)


def _show(facts: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    click.echo(f"Prefect     {str(facts['api']).removesuffix('/api')}")
    click.echo(f"Dask        {facts['dask'] or 'none: each run starts its own processes'}")
    click.echo(f"workers     {', '.join(facts['workers'])}; Ctrl-C ends everything")  # type: ignore[arg-type]
