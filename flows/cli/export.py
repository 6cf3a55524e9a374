"""privcert export."""

from pathlib import Path

import click

from flows.cli.options import EXACT, json_option
from flows.cli.output import present_home, print_json, short, starting_with, writing_output
from schemas.errors import UserError
from schemas.values import theta_of


@click.group(name="export")
def command() -> None:
    """Write the signed certificate file of a release.

    Example: privcert export release 2afbe6293c59 --theta 0.05 --output certificate.json
    """


@command.command()
@click.argument("release")
@click.option(
    "--theta", type=EXACT, help="Threshold that the decisions are made at; free. Default: the last asked one."
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="FILE; default: in the release zone.")
@click.option("--verifier", is_flag=True, help="Put the stand-alone verifier beside the certificate.")
@json_option
def release(release: str, theta: object, output: Path | None, verifier: bool, as_json: bool) -> None:
    """Write the signed certificate file of a RELEASE (its key, or the first digits of it).

    A release by staircase or svt holds at the theta it was asked for, and at no other.

    Example: privcert export release 2afbe6293c59 --theta 0.05 --output certificate.json --verifier
    """
    from tasks.ledger.log import ReleaseLog
    from tasks.reporting.projection import publishing
    from tasks.storage.outputs import Kind

    home = present_home()
    log = ReleaseLog(home)
    key = starting_with(log.release_keys(), release)
    asked = log.last_threshold(key) if theta is None else theta_of(theta, "theta")
    if asked is None:
        raise UserError("theta: nobody read this release at any threshold yet; give one")
    if output is None:
        with publishing(home):
            path = log.write_certificate(key, asked)
    else:
        path = writing_output(output, log.certificate(key, asked), Kind.JSON)
    files = [path, _put_verifier(path.parent)] if verifier else [path]
    if as_json:
        print_json({"certificate": str(path), "files": [str(file) for file in files]})
    else:
        click.echo("\n".join(short(file) for file in files))


def _put_verifier(folder: Path) -> Path:
    from tasks.ledger import verifier
    from tasks.storage.outputs import Kind

    return writing_output(folder / "verifier.py", Path(verifier.__file__).read_bytes(), Kind.VERIFIER)
