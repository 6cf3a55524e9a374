"""What `privcert study` prints as text; tables stay narrow, all of it is in --json and in the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from flows.cli.output import print_table
from schemas.rounding import fixed, written

Row = Mapping[str, Any]
MOST_ROWS = 10  # of a table with a row a question or a cell
_SHORT = {"universe": "universe", "epsilon": "epsilon", "theta": "theta", "statements": "m", "beta": "beta",
          "scope": "scope"}  # fmt: skip
_OWN = {"delta": "delta", "selected": "k", "selection_share": "share", "contributions": "C"}


def print_study(results: Mapping[str, Any]) -> None:
    """Means, who emits most at which question, whole reports, checks, files."""
    lines = results["by_epsilon"]
    _print_means(results["study"], lines)
    best: list[Row] = [{"mechanism": line["mechanism"]} | cell for line in lines for cell in line["best"]]
    if len(best) < results["cells"] or len({line["mechanism"] for line in lines}) > 1:
        click.echo()
        _print_highest(best)
    if results["whole_reports"]:
        click.echo()
        _print_whole_reports(results["whole_reports"])
    click.echo()
    _print_checks(results)
    click.echo("\n".join(f"file        {path}" for path in results["files"]))
    click.echo(f"database    {results['database']}: study_cells, study_runs, study_by_…")


def _print_means(study: str, lines: Sequence[Row]) -> None:
    asked = ("mechanism", "epsilon", "questions")
    shares = [f"mean_{name}_share" for name in ("emit_rate", "supported_recall", "unsupported_emit")]
    print_table(
        [*asked, "EmitRate", "recall", "unsupported"],
        [[*(line[name] for name in asked), *(_share(line[name]) for name in shares)] for line in lines],
        f"{study}: means over the questions, each at the mechanism's parameters with the highest EmitRate",
    )


def _print_highest(best: Sequence[Row]) -> None:
    """A row a question with whatever emits most there; of many questions, only how often each mechanism does."""
    questions: dict[tuple[object, ...], list[Row]] = {}
    for cell in best:
        questions.setdefault(tuple(cell[name] for name in _SHORT), []).append(cell)
    highest = [_highest(cells) for cells in questions.values()]
    if len(highest) > MOST_ROWS:
        wins = {cell["mechanism"]: 0 for cell in best}
        for cells in highest:
            for name in {cell["mechanism"] for cell in cells}:
                wins[name] += 1
        print_table(["mechanism", "questions"], list(wins.items()), "What emits most")
        click.echo(f"of {len(highest)} questions, a tie counted for each; which: study_by_question, is_highest")
        return
    same, varied = _same_and_varied(best)
    print_table(
        ["question", "emits most", "EmitRate", "recall"],
        [
            [_said(cells[0], varied), " or ".join(map(_named, cells)), *map(_share, _rates(cells[0]))]
            for cells in highest
        ],
        f"What emits most at each question ({_said(best[0], same)})",
    )


def _highest(cells: Sequence[Row]) -> list[Row]:
    most = max(cell["emit_rate_share"] for cell in cells)
    return [cell for cell in cells if cell["emit_rate_share"] == most]


def _rates(cell: Row) -> tuple[float | None, float | None]:
    return cell["emit_rate_share"], cell.get("supported_recall_share")


def _print_whole_reports(lines: Sequence[Row]) -> None:
    """A row a cell; of many cells those that come nearest to breaking their promise."""
    same, varied = _same_and_varied(lines)
    shown = sorted(lines, key=_excess, reverse=True)[:MOST_ROWS] if len(lines) > MOST_ROWS else lines
    print_table(
        ["release", "promised", "found", "at least", "at most"],
        [
            [
                ", ".join([_named(line), *_parts(line, varied)]),
                line["promised"],
                _share(line["any_unsupported_share"]),
                fixed(written(line["any_unsupported_lower_share"]), 4, round_up=False),
                fixed(written(line["any_unsupported_upper_share"]), 4, round_up=True),
            ]
            for line in shown
        ],
        f"Reports with an unsupported statement, of {lines[0]['reports']} each (confidence {lines[0]['confidence']}; "
        f"{_said(lines[0], same)})",
    )
    broken = sum(_excess(line) > 0 for line in lines)
    click.echo(f"cells that break their promise: {broken} of {len(lines)}")
    if len(shown) < len(lines):
        click.echo(f"shown are the {len(shown)} nearest to it or beyond; all: study_whole_reports")


def _excess(line: Row) -> float:
    """How far what was surely found lies above what was promised."""
    return float(line["any_unsupported_lower_share"]) - float(line["promised"])


def _print_checks(results: Mapping[str, Any]) -> None:
    for name, said in (("max", "largest"), ("mean", "mean")):
        published = results[f"published_{name}_unsupported_emit"]
        beside = "" if published is None else f" (published: {published})"
        click.echo(f"UnsupportedEmit of all cells, {said}: {_share(results[f'{name}_unsupported_emit'])}{beside}")
    every = results["exact_rates"]
    inside = every - results["exact_rates_outside_theorem4"]
    click.echo(f"exact EmitRates inside the interval of Theorem 4: {inside} of {every}")
    inside = every - results["exact_rates_of_samples_outside_interval"]
    click.echo(f"exact EmitRates of the sampled statements inside the observed interval: {inside} of {every}")


def _same_and_varied(cells: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Which parts of the question all cells share, and which not."""
    varied = [name for name in _SHORT if len({cell[name] for cell in cells}) > 1]
    return [name for name in _SHORT if name not in varied], varied


def _said(cell: Row, names: Iterable[str]) -> str:
    return ", ".join(_parts(cell, names)) or "the only one"


def _parts(cell: Row, names: Iterable[str]) -> list[str]:
    return [f"{_SHORT[name]}={cell[name]}" for name in names]


def _named(cell: Row) -> str:
    """A mechanism with its delta and its own parameters."""
    return ", ".join([cell["mechanism"], *(f"{said}={cell[name]}" for name, said in _OWN.items() if name in cell)])


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
