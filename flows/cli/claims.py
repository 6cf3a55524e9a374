"""privcert claims."""

from typing import Any

import click

from flows.cli.options import json_option
from flows.cli.output import print_json, print_table
from flows.cli.summary import print_rejects
from schemas.claims import count_reasons


@click.command()
@click.argument("file")
@json_option
def command(file: str, as_json: bool) -> None:
    """Show the claims of a released text, and what of it is no claim.

    FILE is plain text or Markdown in UTF-8, a path or an fsspec URL. No corpus and no home is touched. `privcert audit
    --report FILE` certifies these claims.

    Example: privcert claims summary.md
    """
    from tasks.statements.claims import extractor
    from tasks.statements.released_text import read_released_text

    found = read_released_text(file)
    claims = [claim.statement.text for claim in found.extraction.claims]
    rejects = [reject.fields() for reject in found.extraction.rejects]
    if as_json:
        print_json({"sha256": found.sha256, "extractor": extractor(), "claims": claims, "rejects": rejects})
    else:
        _print(claims, rejects)


def _print(claims: list[str], rejects: list[dict[str, str | int]]) -> None:
    rows: list[tuple[Any, ...]] = list(enumerate(claims, start=1))
    if rows:
        print_table(["#", "claim"], rows)
    if rejects:
        print_rejects(rejects)
    reasons = count_reasons(str(reject["reason"]) for reject in rejects)
    click.echo(f"{len(claims)} claims, {len(rejects)} rejects{f' ({reasons})' if reasons else ''}")
