"""privcert study."""

from typing import Any

import click

from flows.cli.options import json_option, settings_options
from flows.cli.output import home_for, print_json, print_table
from flows.cli.progress import progress_bar
from schemas.building import build
from schemas.studies import StudySettings


@click.command()
@click.argument("study", metavar="FILE|PRESET")
@settings_options(StudySettings)
@click.option(
    "--workers",
    type=click.IntRange(0, 1024),
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
        _print(results)


def run_flow(settings: StudySettings, workers: int | None, *, quiet: bool) -> dict[str, Any]:
    """Run the Prefect flow on these settings, with a progress bar unless `quiet`; its results."""
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.studies.study import plan_study, write_request

    home = home_for("synthetic")
    plan_study(home, settings)  # what is wrong with the request is said before a server starts
    use_private_prefect(home)
    request = write_request(home, settings)
    with progress_bar(quiet=quiet):
        from flows.run_study import run_study

        stem = run_study(str(home.root), str(request), workers)
    from tasks.studies.results import study_results

    return study_results(home, stem, settings)


def _print(results: dict[str, Any]) -> None:
    print_table(
        ["mechanism", "epsilon", "cells", "EmitRate", "recall", "UnsupportedEmit"],
        [
            [
                *(line[name] for name in ("mechanism", "epsilon", "cells")),
                *(_share(line[f"mean_{name}_share"]) for name in ("emit_rate", "supported_recall", "unsupported_emit")),
            ]
            for line in results["by_epsilon"]
        ],
        f"{results['study']}: means over the cells",
    )
    print_table(
        ["mechanism", "epsilon", "EmitRate", "recall", "at"],
        [
            [
                *(line[name] for name in ("mechanism", "epsilon")),
                *(_share(line["best"].get(f"{name}_share")) for name in ("emit_rate", "supported_recall")),
                _own(line["best"]),
            ]
            for line in results["by_epsilon"]
        ],
        "the cell that emits most",
    )
    if results["whole_reports"]:
        _print_whole_reports(results["whole_reports"])
    for name, said in (("max", "largest"), ("mean", "mean")):
        published = results[f"published_{name}_unsupported_emit"]
        beside = "" if published is None else f" (published: {published})"
        click.echo(f"UnsupportedEmit of a cell, {said}: {_share(results[f'{name}_unsupported_emit'])}{beside}")
    click.echo(
        f"exact EmitRates inside the interval of Theorem 4: "
        f"{results['exact_rates'] - results['exact_rates_outside_theorem4']} of {results['exact_rates']}"
    )
    click.echo("\n".join(f"file        {path}" for path in results["files"]))
    click.echo(f"database    {results['database']}: study_cells, study_runs, study_by_…")


def _print_whole_reports(lines: list[dict[str, Any]]) -> None:
    asked = ["mechanism", "scope", "epsilon", "statements", "reports", "promised"]
    rows = [
        [line[name] for name in asked]
        + [_share(line[f"any_unsupported{end}_share"]) for end in ("", "_lower", "_upper")]
        for line in lines
    ]
    print_table(
        [*asked, "any unsupported", "at least", "at most"],
        rows,
        f"Reports with an unsupported statement (confidence {lines[0]['confidence']})",
    )


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _own(best: dict[str, Any]) -> str:
    short = {"statements": "m", "theta": "theta", "selected": "k", "selection_share": "share", "contributions": "C"}
    return ", ".join(f"{said} {best[name]}" for name, said in short.items() if name in best)
