"""The table at the end of an audit."""

from collections.abc import Mapping
from typing import Any

import click

from flows.cli.output import print_table

SHOWN = 20


def print_results(results: dict[str, Any]) -> None:
    """Statements emitted, abstentions, budget; pairs for the operator's eyes; where the files lie."""
    for partition in results["partitions"]:
        _print_partition(results, partition)
    for line in results["budget"]:
        click.echo(f"budget      {line['account']} ({line['partition']}): {budget_text(line)}")
    operator = results["operator"]
    click.echo(
        f"operator    {operator['pairs_scored']} pairs scored, {operator['pairs_reused']} reused, "
        f"{operator['answers_reused']} of {len(results['partitions'])} answers were sealed before"
    )
    for partition in results["partitions"]:
        click.echo(f"report      {partition['report']}\ncertificate {partition['certificate']}")
    click.echo(f"database    {results['database']}")


def budget_text(line: dict[str, Any]) -> str:
    """What is spent and left of one budget line."""
    spent = f"{amounts_text(counted_spent(line))} spent"
    if line["cap"] is None:
        return f"{spent}, no cap"
    return f"{spent}, {amounts_text(line['left'])} left of {amounts_text(line['cap'])}"


def counted_spent(line: dict[str, Any]) -> dict[str, str | None]:
    """What is spent of the amounts that the account counts; of all, where it has no cap."""
    return {name: amount for name, amount in line["spent"].items() if line["cap"] is None or name in line["cap"]}


def amounts_text(amounts: Mapping[str, str | None] | None) -> str:
    """'epsilon 2, delta 0.00001'; what is not known is said."""
    return ", ".join(f"{name} {amount or 'not known'}" for name, amount in (amounts or {}).items()) or "none"


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
    reasons = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in partition["abstain_reasons"].items())
    abstained = f"{partition['abstained']} ({reasons})" if reasons else "0"
    click.echo(f"emitted {len(emitted)}{hidden}, abstained {abstained}; {margin}, scope {partition['scope']}")
    parameters = "".join(f", {name} {value}" for name, value in partition["parameters"].items())
    click.echo(
        f"mechanism   {partition['mechanism']}, epsilon {partition['epsilon']}{parameters}: {partition['meaning']}"
    )
    if "theta" in partition["parameters"]:
        click.echo("threshold   this answer holds at this theta only: another one is another question, and is charged")
    if partition["vacuous"]:
        click.echo("vacuous     threshold + margin exceed n: no support can be certified here; see `privcert plan`")
