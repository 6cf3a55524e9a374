"""privcert verify."""

from pathlib import Path

import click

from flows.cli.options import json_option
from flows.cli.output import print_json
from schemas.errors import UserError


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", help="Public key (hex) that you trust; without it integrity is shown, not authenticity.")
@json_option
def command(file: Path, key: str | None, as_json: bool) -> None:
    """Check a certificate FILE without any data: margins, decisions, budget, chain and signature are recomputed.

    Example: privcert verify certificate.json --key 3b6a…
    """
    from tasks.ledger.verifier import InvalidError, marked, verify

    try:
        lines = verify(file.read_bytes(), key)
    except InvalidError as error:
        if as_json:
            print_json({"valid": False, "reason": str(error), "checks": []})
        raise UserError(f"not valid: {error}") from None
    if as_json:
        print_json({"valid": True, "reason": None, "checks": lines})
    else:
        click.echo("\n".join(marked(line) for line in lines))
