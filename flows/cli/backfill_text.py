"""What `privcert backfill` prints."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from flows.cli.output import print_table
from flows.cli.summary import amounts_text, budget_text

_TOLD_ONCE = ("sealed", "other_model", "empty", "open")  # many in a row are one line
_SAYS = {
    "due": "to be audited",
    "sealed": "sealed before, skipped",
    "other_model": "answered by another build of the model, left so",
    "changed": "changed since its release, left as released",
    "empty": "no units, skipped",
    "open": "not over yet, skipped",
    "unreadable": "cannot be registered",
    "audited": "audited now",
    "failed": "failed",
    "not_begun": "not begun",
}


def print_survey(facts: Mapping[str, Any]) -> None:
    """What is due, how long it takes, and what it costs beside what is left."""
    rows = [
        [*_place(lot), _SAYS[lot[0]["standing"]], sum(row["n"] for row in lot), *_effort(lot)]
        for lot in _lots(facts["partitions"])
    ]
    print_table(["corpus", "partition", "standing", "n", "pairs at most", "hours"], rows)
    hours = (
        "" if facts["hours"] is None else f", {facts['hours']} hours at {facts['pairs_per_second']:g} pairs a second"
    )
    click.echo(f"scoring     at most {facts['pairs']} pairs{hours}")
    for need in facts["budget"]:
        left = "no cap" if need["left"] is None else f"{amounts_text(need['left'])} left"
        click.echo(
            f"budget      {need['account']} ({need['partition']}): {amounts_text(need['needed'])} for {need['audits']} "
            f"audits, {left}"
        )
    for missing in facts["missing"]:
        click.echo(f"missing     {missing}")
    _print_changed(facts["changed"])
    _print_other_model(facts["partitions"])
    click.echo("dry run     nothing was spent or written")


def print_backfill(results: Mapping[str, Any]) -> None:
    """Every partition with what came of it; budget; for the operator's eyes, pairs and changed records."""
    rows = [
        [*_place(lot), _SAYS[lot[0]["standing"]], _units(lot), _emitted(lot), lot[0]["reason"] or ""]
        for lot in _lots(results["partitions"])
    ]
    print_table(["corpus", "partition", "standing", "n", "emitted", "reason"], rows)
    for line in results["budget"]:
        click.echo(f"budget      {line['account']} ({line['partition']}): {budget_text(line)}")
    operator = results["operator"]
    click.echo(f"operator    {operator['pairs_scored']} pairs scored, {operator['pairs_reused']} reused")
    _print_changed(operator["changed"])
    _print_other_model(results["partitions"])
    if results["stopped"]:
        click.echo(f"stopped     {results['stopped']}")
    if not any(row["standing"] not in _TOLD_ONCE for row in results["partitions"]):
        click.echo("nothing     was due")
    click.echo(f"database    {results['database']}")


def _lots(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows that are told in one line: neighbours of one corpus that are skipped for one reason."""

    def lot(numbered: tuple[int, dict[str, Any]]) -> tuple[object, ...]:
        number, row = numbered
        is_told_once = row["standing"] in _TOLD_ONCE
        return (row["corpus"], row["standing"], None if is_told_once else number)

    return [[row for _, row in group] for _, group in groupby(enumerate(rows), key=lot)]


def _place(lot: Sequence[dict[str, Any]]) -> list[str]:
    first, last = lot[0]["partition"], lot[-1]["partition"]
    return [lot[0]["corpus"], first if len(lot) == 1 else f"{first} … {last} ({len(lot)})"]


def _effort(lot: Sequence[dict[str, Any]]) -> list[str]:
    """Pairs and hours of what is due."""
    if lot[0]["standing"] != "due":
        return ["", ""]
    return [str(lot[0]["pairs"]), "" if lot[0]["hours"] is None else str(lot[0]["hours"])]


def _units(lot: Sequence[dict[str, Any]]) -> str:
    return "" if lot[0]["n"] is None else str(sum(row["n"] for row in lot))


def _emitted(lot: Sequence[dict[str, Any]]) -> str:
    return "" if lot[0]["emitted"] is None else str(sum(row["emitted"] for row in lot))


def _print_changed(changed: Sequence[Mapping[str, Any]]) -> None:
    """Records that came, went or changed after a release: for the operator to decide about."""
    for one in changed:
        click.echo(
            f"late        {one['corpus']} {one['partition']}: {one['records_when_released']} records when it was "
            f"released, {one['records']} now; --changed audits it again, and it is charged again"
        )


def _print_other_model(rows: Sequence[Mapping[str, Any]]) -> None:
    """The model's fingerprint has changed since: nothing is asked again by itself."""
    number = sum(row["standing"] == "other_model" for row in rows)
    if number:
        click.echo(
            f"model       {number} answered by another build of it; --new-model audits them again, and each is charged "
            "again"
        )
