"""A plan as text, at most 100 columns wide."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from flows.cli.output import print_table

Facts = Mapping[str, Any]
POWERS = ("0.5", "0.8", "0.95")


def print_plan(facts: Facts) -> None:
    """Everything that the plan found, the sweep last."""
    click.echo("\n".join([*_power_lines(facts), *_limit_lines(facts), *_release_lines(facts), *_cost_lines(facts)]))
    if "advice" in facts:
        _print_advice(facts)
    if "sweep" in facts:
        _print_sweep(facts["sweep"])


def _power_lines(facts: Facts) -> list[str]:
    counts, supports = facts["smallest_count_emitted"], facts["smallest_support_emitted"]
    each = facts["epsilon_per_statement"]
    share = "" if each is None else f"epsilon {each:g} and "
    certified = min(facts["selected"] or facts["statements"], facts["statements"])
    lines = [
        f"{facts['mechanism']}, scope {facts['scope']}: {share}error {facts['beta_per_statement']:g} "
        f"for each of {certified} statements",
        *([f"parameters                {_parameters(facts)}"] if _parameters(facts) else []),
        f"margin                    {facts['margin_units']:g} units, {facts['margin_support']:.4f} of n = {facts['n']}",
        f"threshold                 {facts['threshold_units']} units",
    ]
    for power, count in counts.items():
        found = "not even n" if count is None else f"{count} units, support {supports[power]:.4f}"
        lines.append(f"emitted with prob. {power:<6} {found}")
    if facts["contributions"] is not None:
        lines.append("                          (counts after contribution bounding; --advice says what it takes away)")
    if facts["selected"] is not None:
        lines.append("                          (beside other statements as the prior has them)")
    if facts["vacuous"]:
        lines.append("vacuous: threshold + margin exceed n, nothing can be certified at this threshold")
    if not facts["releasable"]:
        lines.append(f"{facts['mechanism']} is for simulation only: a release refuses it")
    return lines


def _limit_lines(facts: Facts) -> list[str]:
    found, n = facts["limits"], facts["n"]
    width = found["width_bound_units"]
    fine = "no bound on the width at this beta" if width is None else f"w >= {_width(max(width, 0), n)}"
    return [
        *_labelled(
            "limits",
            f"k* = {found['half_emission_distance_units']} units: nearer to an unsupported dataset, nothing with an",
            "equal share emits half of the time (Theorem 2)",
            f"{fine} to separate all {facts['statements']} at once (Theorem 5);",
            f"w = {_width(found['width_privcert_units'], n)} for equal shares of the Laplace filter",
        ),
        *_labelled("without a certificate", "the outputs on two datasets differ in total variation (Theorem 1) by"),
        *(
            f"{line['distance_units']:>14} units apart  at most {line['tv_statement']:.4f} with one equal share, "
            f"{line['tv_release']:.4f} with all of epsilon"
            for line in facts["without_certificate"]
        ),
    ]


def _release_lines(facts: Facts) -> list[str]:
    if "releases" not in facts:
        return []
    found = facts["releases"]
    rho = "" if found["rho"] is None else f", or rho {float(found['rho']):.6g} (zCDP)"
    if found["pld_epsilon"] is not None:
        numerical = f"epsilon {found['pld_epsilon']:.4g} at delta {found['pld_delta']}"
    else:
        numerical = "none" if found["pld_delta"] is not None else "needs --delta"
    return _labelled(
        f"{found['releases']} releases",
        f"epsilon {found['epsilon']}, delta {found['delta']}{rho}: exact sums",
        f"PLD: {numerical}",
        "(the PLD total is information for plans fixed in advance, not a filter)",
    )


def _labelled(label: str, *lines: str) -> list[str]:
    return [f"{name:<26}{line}" for name, line in zip((label, *[""] * len(lines)), lines, strict=False)]


def _cost_lines(facts: Facts) -> list[str]:
    if "pairs" not in facts:
        return []
    return [f"scoring                   {facts['pairs']} pairs, about {facts['hours']} hours on two cores"]


def _print_advice(facts: Facts) -> None:
    found = facts["advice"]
    rows = [
        (
            option["mechanism"] + ("" if option["releasable"] else " *"),
            _short(option),
            f"{option['margin_units']:.4g}",
            *(_support(value) for value in option["smallest_support_certified"].values()),
            f"{option['expected_supported']:.1f}",
        )
        for option in found["options"]
    ]
    columns = ["mechanism", "best parameters", "margin", *POWERS, "supported"]
    title = "smallest support certified with probability 0.5, 0.8, 0.95; supported statements emitted"
    print_table(columns, rows, title)
    lines = [
        "* simulation only",
        f"supported: expected number, of {found['supported']} under the prior; what hist, svt and topk certify depends",
        "on the prior too, and hist on units that support statements independently of each other",
    ]
    lines += [f"not compared: {reason}" for reason in found["refused"].values()]
    where = f"at n = {facts['n']} and m = {facts['statements']}"
    if found["lowest_support"] is None:
        lines.append(f"{where} nothing is certified with probability 0.8")
    else:
        best = next(option for option in found["options"] if option["mechanism"] == found["lowest_support"])
        lowest = best["smallest_support_certified"]["0.8"]
        lines.append(f"{where}, {_named(best)} certifies the lowest support:")
        lines.append(f"  {lowest:.4f} with probability 0.8")
    if found["most_statements"] is not None:
        most = next(option for option in found["options"] if option["mechanism"] == found["most_statements"])
        lines.append(f"{_named(most)} certifies the most statements of the prior:")
        lines.append(f"  {most['expected_supported']:.1f} expected")
    click.echo("\n".join(lines))


def _print_sweep(rows: Sequence[Facts]) -> None:
    columns = ["epsilon", "statements", "theta", "threshold", "margin", *POWERS]
    cells = [
        (
            row["epsilon"],
            row["statements"],
            row["theta"],
            row["threshold_units"],
            f"{row['margin_units']:.6g}",
            *(_support(row[f"smallest_support_emitted_{percent}"]) for percent in (50, 80, 95)),
        )
        for row in rows
    ]
    print_table(columns, cells, "units; smallest support emitted with probability 0.5, 0.8, 0.95")


def _named(option: Facts) -> str:
    parameters = _parameters(option)
    return f"{option['mechanism']} ({parameters})" if parameters else str(option["mechanism"])


def _parameters(facts: Facts) -> str:
    names = ("contributions", "selected", "selection_share")
    return ", ".join(f"{name} {facts[name]:g}" for name in names if facts[name] is not None)


def _short(option: Facts) -> str:
    if option["contributions"] is not None:
        return f"C = {option['contributions']}"
    return "" if option["selected"] is None else f"k = {option['selected']}, share {option['selection_share']:g}"


def _support(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _width(units: float, n: int) -> str:
    return f"{units:.4g} units ({units / n:.4f} of n)"
