"""The table at the end of an audit."""

from typing import Any

import click

from flows.cli.output import print_table

SHOWN = 20


def print_results(results: dict[str, Any]) -> None:
    """Statements emitted, abstentions, budget; pairs for the operator's eyes; where the files lie."""
    for partition in results["partitions"]:
        _print_partition(results, partition)
    for line in results["budget"]:
        left = "no cap" if line["cap"] is None else f"{line['left']} left of {line['cap']}"
        click.echo(f"budget      {line['account']} ({line['partition']}): {line['spent']} nats spent, {left}")
    operator = results["operator"]
    click.echo(
        f"operator    {operator['pairs_scored']} pairs scored, {operator['pairs_reused']} reused, "
        f"{operator['answers_reused']} of {len(results['partitions'])} answers were sealed before"
    )
    for partition in results["partitions"]:
        click.echo(f"report      {partition['report']}\ncertificate {partition['certificate']}")
    click.echo(f"database    {results['database']}")


def _print_partition(results: dict[str, Any], partition: dict[str, Any]) -> None:
    emitted = partition["emitted"]
    title = (
        f"{results['corpus']} / {partition['partition']}: n = {partition['n']}, unit {partition['unit']}, "
        f"theta = {results['theta']}"
    )
    rows = [(line["statement"], f"{line['certificate']:.4f}") for line in emitted[:SHOWN]]
    if rows:
        print_table(["statement", "certified support at least"], rows, title)
    else:
        click.echo(title)
    hidden = f" ({len(emitted) - SHOWN} more in the report)" if len(emitted) > SHOWN else ""
    margin = "n = 0: nothing was asked" if partition["margin"] is None else f"margin {partition['margin']:.4f}"
    click.echo(
        f"emitted {len(emitted)}{hidden}, abstained {partition['abstained']}; {margin}, "
        f"{partition['mechanism']}, epsilon {partition['epsilon']}, scope {partition['scope']}"
    )
    if partition["vacuous"]:
        click.echo("vacuous     threshold + margin exceed n: no support can be certified here; see `privcert plan`")
