"""The table at the end of an audit."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from flows.cli.output import print_table
from schemas.claims import BY_LANGUAGE_MODEL, RELEASED_TEXT
from schemas.rounding import share_at_least, share_at_most

SHOWN = 20
WIDE = 100  # characters of a reject


def print_results(results: dict[str, Any]) -> None:
    """Statements emitted, abstentions, budget; pairs for the operator's eyes; where the files lie."""
    for partition in results["partitions"]:
        _print_partition(results, partition)
    is_report = results["proposer"].startswith(RELEASED_TEXT)
    if is_report or results["proposer"].startswith(BY_LANGUAGE_MODEL):
        click.echo(f"candidates  {results['proposer']}")
    if is_report and results["rejects"]:
        print_rejects(results["rejects"])
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


def print_rejects(rejects: Sequence[Mapping[str, str | int]]) -> None:
    """What of a released text is no claim, and why; the first 20, shortened."""
    rows = [(_shortened(str(reject["text"])), reject["reason"]) for reject in rejects]
    print_table(["no claim", "reason"], rows[:SHOWN])
    if len(rows) > SHOWN:
        click.echo(f"{len(rows) - SHOWN} more are no claims: `privcert claims FILE --json` has all of them")


def _shortened(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[:WIDE]}…"


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
    emitted, n = partition["emitted"], partition["n"]
    title = (
        f"{results['corpus']} / {partition['partition']}: n = {n}, unit {partition['unit']}, theta = {results['theta']}"
    )
    ranked = sorted(emitted, key=lambda line: not line["has_certificate"])
    rows = [
        (
            line["statement"],
            share_at_least(line["certificate_units"], n) if line["has_certificate"] else "no certificate",
        )
        for line in ranked[:SHOWN]
    ]
    if rows:
        print_table(["statement", "certified support at least"], rows, title)
    else:
        click.echo(title)
    notes = [f"{len(emitted) - SHOWN} more in the report"] if len(emitted) > SHOWN else []
    unsure = sum(not line["has_certificate"] for line in emitted)
    notes += [f"{unsure} without a certificate"] if unsure else []
    said = f" ({', '.join(notes)})" if notes else ""
    margin = _margin(partition["margin_units"], n) if n else "n = 0: nothing was asked"
    reasons = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in partition["abstain_reasons"].items())
    abstained = f"{partition['abstained']} ({reasons})" if reasons else "0"
    click.echo(f"emitted {len(emitted)}{said}, abstained {abstained}; {margin}, scope {partition['scope']}")
    parameters = "".join(f", {name} {value}" for name, value in partition["parameters"].items())
    click.echo(
        f"mechanism   {partition['mechanism']}, epsilon {partition['epsilon']}{parameters}: {partition['meaning']}"
    )
    if "theta" in partition["parameters"]:
        click.echo("threshold   this answer holds at this theta only: another one is another question, and is charged")
    if partition["vacuous"]:
        click.echo("vacuous     threshold + margin exceed n: no support can be certified here; see `privcert plan`")


def _margin(units: int, n: int) -> str:
    share = share_at_most(units, n) if units <= n else "more than all"
    return f"margin {units} unit{'' if units == 1 else 's'} ({share} of n)"
