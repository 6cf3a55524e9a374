"""privcert audit."""

from pathlib import Path

import click

from flows.cli.options import json_option, settings_options
from flows.cli.output import home_for, print_json
from flows.cli.progress import progress_bar
from flows.cli.server import server_named
from schemas.audit import AuditSettings
from schemas.building import build, read_settings_file


@click.command()
@click.argument("source")
@settings_options(AuditSettings, without=("source",))
@json_option
def command(source: str, as_json: bool, **flags: object) -> None:
    """Turn a corpus into certified statements, exactly once: ingest, propose, score, certify, publish.

    SOURCE is the corpus (file, folder or URL) or a YAML file with the same names as the flags; flags win.

    \b
    Examples:
      privcert audit reviews.parquet --corpus reviews --text text --id id --unit author \\
          --domain restaurant-reviews --epsilon 2 --theta 0.05
      privcert audit audit.yaml --theta 0.10
      privcert audit letters.parquet --corpus letters --unit writer --epsilon 2 --theta 0.05 \\
          --task "Letters that residents wrote to a city library" --statements 60 --model nli-mini
      privcert audit reviews.parquet --corpus reviews --unit author --epsilon 2 --theta 0.05 \\
          --report summary.md --report-origin "summary of May, published on our site" --declare-released
    """
    is_file = Path(source).suffix.lower() in (".yaml", ".yml")
    layers = [read_settings_file(Path(source))] if is_file else [{"source": source}]
    settings = build(AuditSettings, *layers, flags)
    results = run_flow(settings, quiet=as_json)
    if as_json:
        print_json(results)
    else:
        from flows.cli.summary import print_results

        print_results(results)


def run_flow(settings: AuditSettings, *, quiet: bool) -> dict[str, object]:
    """Run the Prefect flow on these settings, with a progress bar unless `quiet`; its results."""
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.audits.preflight import preflight
    from tasks.audits.run import open_run, write_request

    home = home_for(settings.visibility)
    preflight(settings, home)  # what is wrong with the request is said before a server starts
    use_private_prefect(home)
    request = write_request(home, settings)
    with progress_bar(quiet=quiet), server_named():
        from flows.audit_support import audit_support

        run = audit_support(str(home.root), str(request))
    from tasks.audits.results import run_results

    return run_results(open_run(str(home.root), run))
