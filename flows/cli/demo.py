"""privcert demo."""

from typing import Any

import click

from flows.cli.options import WholeRange, json_option
from flows.cli.output import print_json, print_table


@click.command()
@click.option("--authors", type=WholeRange(20, 100_000), default=200, show_default=True, help="Units of the corpus.")
@click.option("--model", default="nli-mini", show_default=True, help="Support model: nli-mini or keyword.")
@json_option
def command(authors: int, model: str, as_json: bool) -> None:
    """Make a synthetic review corpus with known supports, and audit it.

    Prints the certified statements, and how the model's verdicts compare with the known supports. Works in the default
    home; nothing in it is private.

    Example: privcert demo --model keyword
    """
    from flows.cli.audit import run_flow
    from flows.cli.output import home_for
    from flows.cli.summary import print_results
    from tasks.audits.demo import compare_demo, demo_settings
    from tasks.audits.run import open_run

    home = home_for("synthetic")
    results = run_flow(demo_settings(home, authors, model), quiet=as_json)
    compared = compare_demo(open_run(str(home.root), str(results["run"])), authors).to_pylist()
    if as_json:
        print_json(results | {"comparison": compared})
        return
    _print_comparison(model, authors, compared, results)
    print_results(results)


def _print_comparison(model: str, authors: int, compared: list[dict[str, Any]], results: dict[str, Any]) -> None:
    emitted = {line["statement"]: line["certificate_units"] for line in results["partitions"][0]["emitted"]}
    rows = [
        (
            line["statement"],
            line["known_units"],
            line["estimated_units"],
            line["missed_units"],
            line["false_units"],
            emitted.get(line["statement"], "abstained"),
        )
        for line in sorted(compared, key=lambda line: -line["known_units"])
    ]
    wrong = [line for line in compared if emitted.get(line["statement"], 0) > line["known_units"]]
    columns = ["statement", "known", model, "missed", "false", "certificate"]
    print_table(columns, rows, f"Authors that support a statement: known by construction, and as {model} says")
    agreement = sum(line["agreement"] for line in compared) / len(compared)
    error = sum(abs(line["known_units"] - line["estimated_units"]) for line in compared) / len(compared) / authors
    click.echo(
        f"{model} agrees on {agreement:.1%} of author x statement pairs; mean absolute error of a support {error:.3f}. "
        f"Certificates bound the model's counts, so its errors are theirs: {len(wrong)} of {len(emitted)} certificates "
        "here exceed the known support."
    )
