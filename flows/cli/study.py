"""privcert study."""

from typing import Any

import click

from flows.cli.options import WholeRange, json_option, settings_options
from flows.cli.output import home_for, print_json
from flows.cli.progress import progress_bar
from flows.cli.server import server_named
from schemas.building import build
from schemas.studies import StudySettings


@click.command()
@click.argument("study", metavar="FILE|PRESET")
@settings_options(StudySettings)
@click.option(
    "--workers",
    type=WholeRange(0, 1024),
    help="Processes on this machine; 0: this one alone. [one a core, where there is more than a few seconds' work]",
)
@json_option
def command(study: str, workers: int | None, as_json: bool, **flags: object) -> None:
    """Simulate releases over a grid and many seeds, on public or synthetic data.

    FILE is a YAML file with the same names as the flags; flags win. PRESET is a shipped study: synthetic-sweep,
    comparison or whole-report. Numbers of workers and clusters never change a result.

    \b
    Examples:
      privcert study synthetic-sweep
      privcert study synthetic-sweep --name sweep-frontier --mechanisms frontier
      privcert study study.yaml --workers 4
    """
    from tasks.studies.study import read_request

    results = run_flow(build(StudySettings, read_request(study), flags), workers, quiet=as_json)
    if as_json:
        print_json(results)
    else:
        from flows.cli.study_text import print_study

        print_study(results)


def run_flow(settings: StudySettings, workers: int | None, *, quiet: bool) -> dict[str, Any]:
    """Run the Prefect flow on these settings, with a progress bar unless `quiet`; its results."""
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.studies.study import plan_study, write_request

    home = home_for("synthetic")
    plan_study(home, settings)  # what is wrong with the request is said before a server starts
    use_private_prefect(home)
    request = write_request(home, settings)
    with progress_bar(quiet=quiet), server_named():
        from flows.run_study import run_study

        stem = run_study(str(home.root), str(request), workers)
    from tasks.studies.results import study_results

    return study_results(home, stem, settings)
