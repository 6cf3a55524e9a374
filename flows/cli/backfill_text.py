"""What `privcert backfill` prints."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from flows.cli.output import print_table
from flows.cli.summary import budget_text

_TOLD_ONCE = ("sealed", "other_model", "empty", "open", "vacuous")  # many in a row are one line
_SAYS = {  # after the word itself, which is the one of the documentation
    "due": "to be audited",
    "sealed": "answered before, skipped",
    "other_model": "answered by another build of the model, left so",
    "changed": "since its release, left as released",
    "empty": "no units, skipped",
    "open": "not over yet, skipped",
    "vacuous": "too few units for any certificate, skipped",
    "unreadable": "cannot be registered",
    "audited": "now",
    "failed": "see the reason",
    "not_begun": "stopped before it",
}


def print_backfill(results: Mapping[str, Any]) -> None:
    """Every partition with what came of it; budget; for the operator's eyes, pairs and changed records."""
    rows = [
        [*place(lot), standing(lot), each(lot, "n"), each(lot, "emitted"), lot[0]["reason"] or ""]
        for lot in lots(results["partitions"])
    ]
    print_table(["corpus", "partition", "standing", "n", "emitted", "reason"], rows)
    for line in results["budget"]:
        click.echo(f"budget      {line['account']} ({line['partition']}): {budget_text(line)}")
    operator = results["operator"]
    click.echo(f"operator    {operator['pairs_scored']} pairs scored, {operator['pairs_reused']} reused")
    print_changed(operator["changed"])
    print_other_model(results["partitions"])
    print_vacuous(operator["vacuous"])
    if results["stopped"]:
        click.echo(f"stopped     {results['stopped']}")
    if not any(row["standing"] not in _TOLD_ONCE for row in results["partitions"]):
        click.echo("nothing     was due")
    click.echo(f"database    {results['database']}")


def lots(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows that are told in one line: neighbours of one corpus that are skipped for one reason."""

    def lot(numbered: tuple[int, dict[str, Any]]) -> tuple[object, ...]:
        number, row = numbered
        is_told_once = row["standing"] in _TOLD_ONCE
        return (row["corpus"], row["standing"], None if is_told_once else number)

    return [[row for _, row in group] for _, group in groupby(enumerate(rows), key=lot)]


def place(lot: Sequence[dict[str, Any]]) -> list[str]:
    """Corpus, and the first and last partition with how many there are."""
    first, last = lot[0]["partition"], lot[-1]["partition"]
    return [lot[0]["corpus"], first if len(lot) == 1 else f"{first} … {last} ({len(lot)})"]


def standing(lot: Sequence[dict[str, Any]]) -> str:
    """The word of the documentation, and what it means."""
    return f"{lot[0]['standing']}: {_SAYS[lot[0]['standing']]}"


def each(lot: Sequence[Mapping[str, Any]], name: str) -> str:
    """Of one row its number; of several what each has, since units recur and a sum would count them again."""
    numbers = [row[name] for row in lot if row[name] is not None]
    if not numbers:
        return ""
    least, most = min(numbers), max(numbers)
    if len(lot) == 1:
        return str(most)
    return f"{most} each" if least == most else f"{least} to {most} each"


def print_changed(changed: Sequence[Mapping[str, Any]]) -> None:
    """Records that came, went or changed after a release: for the operator to decide about."""
    for one in changed:
        click.echo(
            f"late        {one['corpus']} {one['partition']}: {one['records_when_released']} records when it was "
            f"released, {one['records']} now; --changed audits it again, and it is charged again"
        )


def print_vacuous(small: Sequence[Mapping[str, Any]]) -> None:
    """Corpus by corpus, what would be needed: the partition with the most units is the nearest to it."""
    for corpus in dict.fromkeys(one["corpus"] for one in small):
        here = [one for one in small if one["corpus"] == corpus]
        largest = max(here, key=lambda one: one["n"])
        others = "" if len(here) == 1 else f"; {len(here) - 1} more no larger"
        click.echo(
            f"vacuous     {largest['partition']} of {corpus} has {largest['reason']}{others}: skipped, nothing is "
            "charged; ask fewer statements or with a larger epsilon (`privcert plan` tells), or set allow_vacuous"
        )


def print_other_model(rows: Sequence[Mapping[str, Any]]) -> None:
    """The model's fingerprint has changed since: nothing is asked again by itself."""
    number = sum(row["standing"] == "other_model" for row in rows)
    if number:
        click.echo(
            f"model       {number} answered by another build of it; --new-model audits them again, and each is charged "
            "again"
        )
