"""Advice as text: two tables of mechanisms, and which of them is best for what."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from flows.cli.output import print_table
from schemas.rounding import at_most, share_at_most

Facts = Mapping[str, Any]
POWERS = ("0.5", "0.8", "0.95")


def print_advice(facts: Facts) -> None:
    """Parameters for the most statements, then those for the lowest support, then the best of each."""
    found = facts["advice"]
    _print_options(found["options"], facts["n"], "Best parameters for the most supported statements")
    lowest = "Best parameters for the lowest support certified with probability 0.8"
    _print_options(found["lowest_options"], facts["n"], lowest)
    click.echo("\n".join([*_notes(facts), *_best(facts)]))


def parameters(facts: Facts) -> str:
    """The mechanism's own parameters, by name."""
    names = ("contributions", "selected", "selection_share")
    return ", ".join(f"{name} {facts[name]:g}" for name in names if facts[name] is not None)


def support(count: int | None, n: int) -> str:
    """Share of the units that is needed, rounded up, or - where not even all are enough."""
    return "-" if count is None else share_at_most(count, n)


def _print_options(options: Sequence[Facts], n: int, title: str) -> None:
    rows = [
        (
            option["mechanism"] + ("" if option["releasable"] else "*"),
            _short(option),
            at_most(option["margin_units"]),
            *(support(count, n) for count in option["smallest_count_certified"].values()),
            ("" if option["exact"] else "~") + f"{option['expected_supported']:.1f}",
        )
        for option in options
    ]
    columns = ["mechanism", "parameters", "margin", *(f"p {power}" for power in POWERS), "supported"]
    print_table(columns, rows, title)


def _notes(facts: Facts) -> list[str]:
    found = facts["advice"]
    lines = [
        "margin: units. p: smallest support of a statement that is certified with this probability.",
        f"supported: how many of the {found['supported']} supported statements of the prior are certified, expected.",
        "What hist, svt and topk certify depends on the prior, hist also on units that support statements",
        "independently of each other. Their parameters are searched, not proved best: C of hist one by one",
        f"up to 32, then in steps of an eighth; k of svt and topk up to {found['most_selected']}, "
        "share in steps of 0.05.",
    ]
    lines += ["* for simulation only"] if any(not option["releasable"] for option in found["options"]) else []
    rough = [option for option in (*found["options"], *found["lowest_options"]) if not option["exact"]]
    lines += ["~ this line is estimated (the sum to about 1 percent): exact sums would take minutes"] if rough else []
    return lines + [f"not compared: {reason}" for reason in found["refused"].values()]


def _best(facts: Facts) -> list[str]:
    found, where = facts["advice"], f"At n = {facts['n']} and m = {facts['statements']}"
    lowest = _named_option(found["lowest_options"], found["lowest_support"])
    if lowest is None:
        lines = [f"{where} nothing is certified with probability 0.8."]
    else:
        lines = [f"{where} the lowest support is certified by", f"  {_with_lowest(lowest, facts['n'])}"]
        pure = _named_option(found["lowest_options"], found["lowest_support_pure"])
        lines += _beside(lowest, None if pure is None else _with_lowest(pure, facts["n"]))
    most = _named_option(found["options"], found["most_statements"])
    if most is not None:
        lines += ["and the most statements of the prior by", f"  {_with_most(most)}"]
        pure = _named_option(found["options"], found["most_statements_pure"])
        lines += _beside(most, None if pure is None else _with_most(pure))
    return lines


def _beside(best: Facts, best_pure: str | None) -> list[str]:
    """What a mechanism with a delta needs, and the best one without."""
    if best["pure"]:
        return []
    return [
        "  It needs an account that counts delta or rho:",
        "    `privcert budget set … --epsilon E --delta D` or `--rho R`.",
        f"  Without delta: {best_pure or 'nothing is certified'}",
    ]


def _with_lowest(option: Facts, n: int) -> str:
    return f"{_named(option)}: {support(option['smallest_count_certified']['0.8'], n)} with probability 0.8"


def _with_most(option: Facts) -> str:
    return f"{_named(option)}: {option['expected_supported']:.1f} expected"


def _named_option(options: Sequence[Facts], mechanism: str | None) -> Facts | None:
    return next((option for option in options if option["mechanism"] == mechanism), None)


def _named(option: Facts) -> str:
    own = parameters(option)
    return f"{option['mechanism']} ({own})" if own else str(option["mechanism"])


def _short(option: Facts) -> str:
    if option["contributions"] is not None:
        return f"C = {option['contributions']}"
    return "" if option["selected"] is None else f"k = {option['selected']}, share {option['selection_share']:g}"
