"""privcert verify."""

from pathlib import Path
from typing import Any

import click

from flows.cli.options import json_option
from flows.cli.output import print_json
from schemas.errors import UserError


@click.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--key", help="Public key (hex) that you trust; without it integrity is shown, not authenticity.")
@json_option
def command(files: tuple[Path, ...], key: str | None, as_json: bool) -> None:
    """Check a certificate FILE without any data: margins, decisions, budget, chain and signature are recomputed.

    Of several FILEs each is checked; the exit code is 2 where one of them does not hold.

    \b
    Examples:
      privcert verify certificate.json --key 3b6a…
      privcert verify release/certificates/*.json
    """
    found = [_checked(file, key) for file in files]
    refused = [one for one in found if not one["valid"]]
    if as_json:
        print_json(_without_name(found[0]) if len(found) == 1 else {"valid": not refused, "files": found})
    else:
        for one in found:
            _print(one, is_named=len(found) > 1)
    if len(found) == 1 and refused:
        raise UserError(f"not valid: {refused[0]['reason']}")
    if refused:
        raise UserError(f"not valid: {len(refused)} of {len(found)} files")


def _checked(file: Path, key: str | None) -> dict[str, Any]:
    from tasks.ledger.verifier import InvalidError, read, verify

    try:
        return {"file": str(file), "valid": True, "reason": None, "checks": verify(read(file), key)}
    except InvalidError as error:
        return {"file": str(file), "valid": False, "reason": str(error), "checks": []}
    except OSError as error:
        return {"file": str(file), "valid": False, "reason": f"cannot be read: {error.strerror}", "checks": []}


def _without_name(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name != "file"}


def _print(one: dict[str, Any], *, is_named: bool) -> None:
    from tasks.ledger.verifier import marked

    lines = [marked(line) for line in one["checks"]]
    if is_named:
        lines = [one["file"], *(lines or [f"not valid: {one['reason']}"]), ""]
    if lines:
        click.echo("\n".join(lines))
