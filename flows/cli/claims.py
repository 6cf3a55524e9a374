"""privcert claims."""

from collections.abc import Mapping
from typing import Any

import click

from flows.cli.options import json_option, settings_options
from flows.cli.output import home_for, print_json, print_table
from flows.cli.summary import print_rejects
from schemas.audit import ReportExtractor
from schemas.building import build
from schemas.claims import count_reasons
from schemas.engines import EngineSettings


@click.command()
@click.argument("file")
@click.option(
    "--extractor",
    type=click.Choice([str(one) for one in ReportExtractor]),
    default=str(ReportExtractor.SENTENCES),
    show_default=True,
    help="The text's own sentences by rules, or what a language model words; as --report-extractor of an audit.",
)
@settings_options(EngineSettings)
@json_option
def command(file: str, extractor: str, as_json: bool, **flags: object) -> None:
    """Show the claims of a released text, and what of it is no claim.

    FILE is plain text or Markdown in UTF-8, a path or an fsspec URL. No corpus is touched, and no home by the default
    extractor. A language model's claims are kept in the home: `privcert audit --report FILE --report-extractor llm`
    certifies these. The flags about the engine are for it alone.

    Examples:
      privcert claims summary.md
      privcert claims summary.md --extractor llm
    """
    found = _by_model(file, flags) if extractor == ReportExtractor.LLM else _by_rules(file)
    if as_json:
        print_json(found)
    else:
        _print(found["claims"], found["rejects"])


def _by_rules(file: str) -> dict[str, Any]:
    from tasks.statements.claims import extractor
    from tasks.statements.released_text import read_released_text

    found = read_released_text(file)
    return {
        "sha256": found.sha256,
        "extractor": extractor(),
        "claims": [claim.statement.text for claim in found.extraction.claims],
        "rejects": [reject.fields() for reject in found.extraction.rejects],
    }


def _by_model(file: str, flags: Mapping[str, object]) -> dict[str, Any]:
    from tasks.audits.proposing import claims_once
    from tasks.statements.model_lines import extractor

    kept, sha256 = claims_once(file, build(EngineSettings, flags), home_for("synthetic"))
    return {
        "sha256": sha256,
        "extractor": extractor(kept.facts),
        "claims": [claim.statement.text for claim in kept.draft.statements],
        "rejects": [reject.fields() for reject in kept.draft.rejects],
    }


def _print(claims: list[str], rejects: list[dict[str, str | int]]) -> None:
    rows: list[tuple[Any, ...]] = list(enumerate(claims, start=1))
    if rows:
        print_table(["#", "claim"], rows)
    if rejects:
        print_rejects(rejects)
    reasons = count_reasons(str(reject["reason"]) for reject in rejects)
    click.echo(f"{len(claims)} claims, {len(rejects)} rejects{f' ({reasons})' if reasons else ''}")
