"""A plan as text, at most 100 columns wide."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

from flows.cli.advice_text import POWERS, parameters, print_advice, support
from flows.cli.output import print_table
from schemas.rounding import at_least, at_most, chance_at_most, share_at_most, written

Facts = Mapping[str, Any]


def print_plan(facts: Facts) -> None:
    """Everything that the plan found, the sweep and the files last."""
    lines = [*_power_lines(facts), *_limit_lines(facts), *_reader_lines(facts), *_release_lines(facts)]
    click.echo("\n".join([*lines, *_cost_lines(facts)]))
    if "advice" in facts:
        print_advice(facts)
    if "sweep" in facts:
        _print_sweep(facts["sweep"])
    for path in facts.get("files", ()):
        click.echo(f"{'file':<26}{path}")


def _power_lines(facts: Facts) -> list[str]:
    counts, own, n = facts["smallest_count_emitted"], parameters(facts), facts["n"]
    delta = "" if facts["delta"] is None else f", delta {facts['delta']}"
    lines = [
        f"{facts['mechanism']}, epsilon {facts['epsilon']}{delta}, beta {facts['beta']} ({facts['scope']}), "
        f"theta {facts['theta']}",
        *([_line("parameters", own)] if own else []),
        _line("certificates", _certificates(facts)),
        _line("margin", f"{_units(facts['margin_units'])}, {_share(facts['margin_units'], n)} of n = {n}"),
        _line("threshold", _units(facts["threshold_units"])),
    ]
    for power, count in counts.items():
        found = f"not by all {_units(n)}" if count is None else f"{_units(count)}, support {share_at_most(count, n)}"
        lines.append(_line(f"emitted with prob. {power}", found))
    if facts["contributions"] is not None:
        lines.append(_line("", "(counts after contribution bounding; --advice says what it takes away)"))
    if facts["selected"] is not None:
        lines.append(_line("", "(beside other statements as the prior has them)"))
    if facts["vacuous"]:
        lines.append("vacuous: threshold + margin exceed n, nothing can be certified at this threshold")
    if not facts["releasable"]:
        lines.append(f"{facts['mechanism']} is for simulation only: a release refuses it")
    return lines


def _certificates(facts: Facts) -> str:
    each, selected, m = facts["epsilon_per_certificate"], facts["selected"], facts["statements"]
    number = f"{m}" if selected is None else f"at most {min(selected, m)} of {m} statements"
    paid = "epsilon for all together" if each is None else f"epsilon {_double(each)}"
    return f"{number}, {paid}{'' if each is None else ' each'}, error {_double(facts['beta_per_statement'])} each"


def _limit_lines(facts: Facts) -> list[str]:
    found, n, each = facts["limits"], facts["n"], facts["epsilon_of_one_statement"]
    nearest, width = found["half_emission_distance_units"], found["width_bound_units"]
    if nearest is None:
        return _labelled(
            "limits",
            "none: Theorems 2 and 5 speak of pure DP with equal shares of epsilon,",
            "and here one statement has no pure share of its own",
        )
    lines = [
        f"k* = {_units(nearest)}: nearer to an unsupported dataset, nothing that is",
        f"{_double(each)}-DP for one statement emits half of the time (Theorem 2)",
    ]
    own = found["width_privcert_units"]
    if own is not None:
        if width is None:
            says = "no bound on the width at this beta"
        elif width <= 0:
            says = "the bound on the width says nothing here"
        else:
            says = f"w >= {at_least(width)} units ({at_least(Fraction(width) / n)} of n)"
        lines += [
            f"{says} (Theorem 5, all {facts['statements']} at once);",
            f"w = {own:.4g} units ({_share(own, n)} of n) for equal shares of the Laplace filter",
        ]
    return _labelled("limits", *lines)


def _reader_lines(facts: Facts) -> list[str]:
    each = facts["epsilon_of_one_statement"]
    one = "" if each is None else f"with all of epsilon; with epsilon {_double(each)} of one statement"
    says = one or "of the whole output"
    return [
        *_labelled("without a certificate", "total variation of the outputs on two datasets (Theorem 1),", says),
        *(
            _line(
                f"{_units(line['distance_units']):>14} apart",
                f"at most {chance_at_most(line['tv_release'])}"
                + ("" if line["tv_statement"] is None else f"; at most {chance_at_most(line['tv_statement'])}"),
            )
            for line in facts["without_certificate"]
        ),
    ]


def _release_lines(facts: Facts) -> list[str]:
    if "releases" not in facts:
        return []
    found = facts["releases"]
    rho = "" if found["rho"] is None else f", or rho {at_most(Decimal(found['rho']), 6)} (zCDP)"
    if found["pld_epsilon"] is not None:
        numerical = f"epsilon {at_most(found['pld_epsilon'])} at delta {found['pld_delta']}"
    else:
        numerical = "none" if found["pld_delta"] is not None else "needs --delta"
    return _labelled(
        f"{found['releases']} release{'' if found['releases'] == 1 else 's'}",
        f"epsilon {found['epsilon']}, delta {found['delta']}{rho}: exact sums",
        f"PLD: {numerical}",
        "(the PLD total is information for plans fixed in advance, not a filter)",
    )


def _cost_lines(facts: Facts) -> list[str]:
    if "pairs" not in facts:
        return []
    return [
        _line(
            "scoring", f"{facts['pairs']} pairs, about {facts['hours']} hours at {facts['pairs_per_second']:g} pairs/s"
        )
    ]


def _print_sweep(rows: Sequence[Facts]) -> None:
    columns = ["epsilon", "statements", "theta", "threshold", "margin", *(f"p {power}" for power in POWERS)]
    cells = [
        (
            row["epsilon"],
            row["statements"],
            row["theta"],
            row["threshold_units"],
            at_most(row["margin_units"], 6),
            *(support(row[f"smallest_count_emitted_{percent}"], row["n"]) for percent in (50, 80, 95)),
        )
        for row in rows
    ]
    print_table(columns, cells, "Threshold and margin in units; smallest support emitted with probability p")


def _labelled(label: str, *lines: str) -> list[str]:
    return [_line(name, line) for name, line in zip((label, *[""] * len(lines)), lines, strict=False)]


def _line(label: str, text: str) -> str:
    return f"{label:<26}{text}"


def _units(number: float) -> str:
    said = number if isinstance(number, int) else at_most(number, 6)
    return f"{said} unit" if number == 1 else f"{said} units"


def _share(units: float, n: int) -> str:
    return at_most(Fraction(units) / n) if units <= n else "more than all"


def _double(value: float) -> str:
    return at_most(written(value), 6)
