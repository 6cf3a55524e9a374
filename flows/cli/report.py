"""privcert report."""

from decimal import Decimal
from pathlib import Path

import click

from flows.cli.options import EXACT, json_option
from flows.cli.output import present_home, print_json, release_zone_in_use, short, starting_with, writing_output
from schemas.values import theta_of

THETA = click.option("--theta", type=EXACT, help="Threshold of the report. Default: the last one that was asked.")


@click.group(name="report")
def command() -> None:
    """Open, build and export the HTML reports of releases.

    Example: privcert report open
    """


@command.command(name="open")
@click.argument("release", required=False)
@THETA
@json_option
def open_(release: str | None, theta: object, as_json: bool) -> None:
    """Open the report of a RELEASE (its key, or the first digits of it) in the browser; without one, the index.

    Example: privcert report open 2afbe6293c59 --theta 0.05
    """
    import webbrowser

    from schemas.errors import UserError
    from tasks.reporting.report import INDEX, find_report, missing_report, report_path

    home = release_zone_in_use()
    if release is None:
        path = home.release / "reports" / INDEX
    else:
        path = report_path(home, *find_report(home, release, _theta(theta)))
    if not path.is_file():
        raise UserError(missing_report(home, "there is none yet; `privcert report build` writes those of all releases"))
    is_open = webbrowser.open(path.as_uri())
    if as_json:
        print_json({"report": str(path), "opened": is_open})
    else:
        click.echo(short(path) if is_open else f"{short(path)}: no browser was found here; open the file in one")


@command.command()
@click.argument("release", required=False)
@THETA
@json_option
def build(release: str | None, theta: object, as_json: bool) -> None:
    """Write the report of a RELEASE at a threshold, its certificate file and the index; without one, those of all.

    A threshold that nobody asked before is free where the mechanism answers every one, and refused elsewhere.

    Example: privcert report build 2afbe6293c59 --theta 0.075
    """
    from tasks.audits.publishing import publish
    from tasks.ledger.log import ReleaseLog

    home = present_home()
    log = ReleaseLog(home)
    wanted = [(row["release_key"], Decimal(row["theta"])) for row in log.project().thresholds.to_pylist()]
    if release is not None:
        key, asked = starting_with(log.release_keys(), release), _theta(theta)
        if asked is not None:
            log.ask_threshold(key, asked)
        wanted = [(key, asked)] if asked is not None else [pair for pair in wanted if pair[0] == key][-1:]
    files = publish(home, wanted)
    if as_json:
        print_json({"files": [str(path) for path in files]})
    else:
        click.echo("\n".join(short(path) for path in files))


@command.command()
@click.argument("release")
@click.option("--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="FILE to write.")
@THETA
@json_option
def export(release: str, output: Path, theta: object, as_json: bool) -> None:
    """Write the report of a RELEASE as one HTML file that can be sent: it needs and links to no other file.

    Example: privcert report export 2afbe6293c59 --output report.html
    """
    from tasks.reporting.report import find_report, report_page
    from tasks.storage.outputs import Kind

    home = release_zone_in_use()
    writing_output(output, report_page(home, *find_report(home, release, _theta(theta))).encode(), Kind.HTML)
    if as_json:
        print_json({"report": str(output)})
    else:
        click.echo(short(output))


def _theta(value: object) -> Decimal | None:
    return None if value is None else theta_of(value, "theta")
