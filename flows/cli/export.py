"""privcert export."""

from pathlib import Path

import click

from flows.cli.options import EXACT, json_option
from flows.cli.output import present_home, print_json, short
from schemas.errors import UserError
from schemas.values import theta_of


@click.command()
@click.argument("release")
@click.option("--theta", required=True, type=EXACT, help="Threshold that the decisions are made at; free.")
@click.option("--verifier", is_flag=True, help="Put the stand-alone verifier beside the certificate.")
@json_option
def command(release: str, theta: object, verifier: bool, as_json: bool) -> None:
    """Write the signed certificate file of a RELEASE (its key, or the first digits of it).

    A release by staircase or svt holds at the theta it was asked for, and at no other.

    Example: privcert export 2afbe6293c59 --theta 0.05 --verifier
    """
    from tasks.ledger.log import ReleaseLog
    from tasks.reporting.projection import publishing

    home = present_home()
    log = ReleaseLog(home)
    found = [key for key in log.release_keys() if key.startswith(release)]
    if len(found) != 1:
        raise UserError(f"release: {'no' if not found else 'more than one'} release starts with {release!r}")
    with publishing(home):
        path = log.write_certificate(found[0], theta_of(theta, "theta"))
        files = [path, _put_verifier(path.parent)] if verifier else [path]
    if as_json:
        print_json({"certificate": str(path), "files": [str(file) for file in files]})
    else:
        click.echo("\n".join(short(file) for file in files))


def _put_verifier(folder: Path) -> Path:
    from tasks.ledger import verifier
    from tasks.storage.atomic import RELEASE_FILE, write_bytes

    target = folder / "verifier.py"
    write_bytes(target, Path(verifier.__file__).read_bytes(), RELEASE_FILE)
    return target
