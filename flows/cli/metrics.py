"""privcert metrics."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.cli.options import WholeRange, json_option
from flows.cli.output import present_home, print_json, writing_output
from schemas.errors import UserError

if TYPE_CHECKING:
    from tasks.reporting.metrics import OperatorCollector

_HOST = "127.0.0.1"


@click.command()
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for a textfile collector, replaced as a whole. [private/metrics.prom]",
)
@click.option(
    "--private", "with_private", is_flag=True, help="Also counts of pairs and records, durations, faults, changes."
)
@click.option(
    "--serve", type=WholeRange(0, 65535), metavar="PORT", help="Answer on this port of 127.0.0.1 until stopped."
)
@json_option
def command(output: Path | None, with_private: bool, serve: int | None, as_json: bool) -> None:
    """Figures for the operator's Prometheus: budgets, runs and releases; with --private also what is private.

    Private figures go to private/metrics.prom, or to a port of this machine alone; a server that reads them there
    belongs to the private zone.

    \b
    Examples:
      privcert metrics --output /var/lib/node_exporter/privcert.prom
      privcert metrics --private --serve 9464
    """
    from tasks.audits.publishing import refresh_operator_database
    from tasks.audits.run_figures import run_figures
    from tasks.reporting.metrics import OperatorCollector, metrics_text
    from tasks.storage.atomic import PRIVATE_FILE, write_bytes
    from tasks.storage.outputs import Kind, check_output

    if output is not None and (serve is not None or with_private):
        raise UserError("metrics: --output takes neither --serve nor --private, whose file is private/metrics.prom")
    if output is not None:
        check_output(output, Kind.METRICS)
    home = present_home()
    collector = OperatorCollector(
        home, lambda: refresh_operator_database(home), lambda: run_figures(home), with_private=with_private
    )
    if serve is not None:
        _serve(collector, serve, as_json=as_json)
        return
    path = output or home.private / "metrics.prom"
    if output is None:
        write_bytes(path, metrics_text(collector), PRIVATE_FILE)
    else:
        writing_output(path, metrics_text(collector), Kind.METRICS)
    _say("path", str(path), as_json=as_json)


def _say(name: str, value: str, *, as_json: bool) -> None:
    if as_json:
        print_json({name: value})
    else:
        click.echo(value)


def _serve(collector: "OperatorCollector", port: int, *, as_json: bool) -> None:
    """Answer until SIGINT or SIGTERM."""
    import signal
    import threading

    from prometheus_client import start_http_server

    from tasks.reporting.metrics import registry_of

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        server, thread = start_http_server(port, addr=_HOST, registry=registry_of(collector))
    except OSError as error:
        raise UserError(f"serve: port {port} cannot be opened: {error.strerror}") from None
    _say("url", f"http://{_HOST}:{server.server_port}/metrics", as_json=as_json)
    stopped.wait()
    server.shutdown()
    thread.join()
