"""What `privcert backfill --dry-run` prints."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import click

from flows.cli.backfill_text import each, lots, place, print_changed, print_other_model, print_vacuous, standing
from flows.cli.output import print_table
from flows.cli.summary import amounts_text


def print_survey(facts: Mapping[str, Any]) -> None:
    """What is due, how long it takes, and what it costs beside what is left."""
    rows = [[*place(lot), standing(lot), each(lot, "n"), *_effort(lot), _why(lot)] for lot in lots(facts["partitions"])]
    columns = ["corpus", "partition", "standing", "n", "pairs at most", "time", "reason"]
    shown = len(columns) if any(row[-1] for row in rows) else -1
    print_table(columns[:shown], [row[:shown] for row in rows])
    click.echo(f"scoring     at most {facts['pairs']} pairs{_time_text(facts)}")
    for need in facts["budget"]:
        left = "no cap" if need["left"] is None else f"{amounts_text(need['left'])} left"
        click.echo(
            f"budget      {need['account']} ({need['partition']}): {amounts_text(need['needed'])} for {need['audits']} "
            f"audit{'' if need['audits'] == 1 else 's'}, {left}"
        )
    for missing in facts["missing"]:
        click.echo(f"missing     {missing}")
    print_changed(facts["changed"])
    print_other_model(facts["partitions"])
    print_vacuous([row for row in facts["partitions"] if row["standing"] == "vacuous"])
    for needed in facts["caps_needed"]:
        click.echo(f"cap         {_cap_text(needed)}")
    click.echo("dry run     nothing was spent or written")


def _effort(lot: Sequence[dict[str, Any]]) -> list[str]:
    """Pairs and time of what is due."""
    if lot[0]["standing"] != "due":
        return ["", ""]
    return [str(lot[0]["pairs"]), "" if lot[0]["hours"] is None else _duration(lot[0]["hours"])]


def _why(lot: Sequence[Mapping[str, Any]]) -> str:
    return "" if lot[0]["standing"] == "vacuous" else lot[0]["reason"] or ""


def _time_text(facts: Mapping[str, Any]) -> str:
    if facts["hours"] is None or not facts["pairs"]:
        return ""
    runs = facts["rate_runs"]
    source = f"measured over {runs} run{'' if runs == 1 else 's'} here" if runs else facts["rate"]
    return f", {_duration(facts['hours'])} at {facts['pairs_per_second']:,.10g} pairs a second ({source})"


def _duration(hours: float) -> str:
    """To two figures, or whole minutes."""
    if hours < 1 / 60:
        return "under a minute"
    if hours < 1:
        return f"{math.ceil(hours * 60)} minutes" if hours * 60 > 1 else "1 minute"
    return f"{float(f'{hours:.2g}'):,.10g} hours"


def _cap_text(needed: Mapping[str, Any]) -> str:
    account, cap = needed["account"], needed["cap"]
    if not cap:
        return f"account {account} has none: set one on purpose, `privcert budget set {account} --epsilon E`"
    flags = " ".join(f"--{name} {amount}" for name, amount in cap.items())
    return f"account {account} has none; these need at least `privcert budget set {account} {flags}`"
