"""privcert ingest."""

import click

from flows.cli.options import json_option, settings_options
from flows.cli.output import home_for, print_json, print_table
from schemas.building import build
from schemas.corpora import CorpusSettings


@click.command()
@click.argument("source")
@settings_options(CorpusSettings, without=("source",))
@json_option
def command(source: str, as_json: bool, **flags: object) -> None:
    """Read and register a corpus without asking anything about it; nothing is charged.

    Example: privcert ingest reviews.parquet --corpus reviews --unit author
    """
    from tasks.audits.registering import register_source

    settings = build(CorpusSettings, {"source": source}, flags)
    partitions = register_source(home_for(settings.visibility), settings)
    rows = [{"partition": part.partition, "version": part.number, "n": part.n} for part in partitions]
    if as_json:
        print_json({"corpus": settings.corpus, "partitions": rows})
    else:
        print_table(["partition", "version", "n"], [list(row.values()) for row in rows], settings.corpus)
