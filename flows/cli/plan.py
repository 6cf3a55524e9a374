"""privcert plan."""

from typing import TYPE_CHECKING, Any

import click

from flows.cli.options import json_option, settings_options
from flows.cli.output import print_json
from schemas.building import build
from schemas.errors import UserError
from schemas.plans import PlanSettings

if TYPE_CHECKING:
    from tasks.plans.sweep import Cell
    from tasks.privacy.planning import Prior


@click.command()
@settings_options(PlanSettings)
@json_option
def command(as_json: bool, **values: Any) -> None:
    """What a release would certify, before any data is touched: margin, exact power, and what no certifier can beat.

    \b
    Examples:
      privcert plan --n 1800 --statements 200 --theta 0.05 --epsilon 10 --records 5000
      privcert plan --n 1800 --theta 0.05 --epsilon 10 --delta 1e-5 --advice
      privcert plan --n 1800 --theta 0.05 --sweep-epsilon 1,4,10 --sweep-statements 50,200 \\
          --plot sweep.svg --output sweep.parquet
    """
    from tasks.plans.facts import advice_facts, limit_facts, plan_facts, release_facts
    from tasks.plans.sweep import single, sweep
    from tasks.plans.table import plan_row

    asked = build(PlanSettings, values)
    prior, cost = _checked(asked), _cost(asked)
    try:
        cells = list(sweep(asked, prior))
        made = single(asked, prior) if asked.sweeps else cells[0].plan
        facts = plan_facts(asked, made) | limit_facts(made)
        facts |= {"releases": release_facts(asked, made)} if asked.releases is not None else {}
        facts |= advice_facts(asked, prior) if asked.advice else {}
    except ValueError as error:
        raise UserError(str(error)) from None
    facts |= {"sweep": [plan_row(asked, cell) for cell in cells]} if asked.sweeps else {}
    facts |= cost
    facts |= _write(asked, cells)
    if as_json:
        print_json(facts)
    else:
        from flows.cli.plan_text import print_plan

        print_plan(facts)


def _checked(asked: PlanSettings) -> "Prior":
    """The prior. Raises UserError for what cannot be planned, before anything is computed."""
    from tasks.plans.priors import prior_of
    from tasks.privacy.mechanisms import MECHANISMS

    if asked.mechanism not in MECHANISMS:
        raise UserError(f"mechanism: unknown mechanism {asked.mechanism!r}; known: {', '.join(MECHANISMS)}")
    needed = ("delta", "contributions", "selected", "selection_share")
    missing = [n for n in needed if n in MECHANISMS[asked.mechanism].takes and getattr(asked, n) is None]
    if missing:
        raise UserError("; ".join(f"{name}: {asked.mechanism} needs it" for name in missing))
    return prior_of(asked.prior, asked.prior_file)


def _write(asked: PlanSettings, cells: list["Cell"]) -> dict[str, object]:
    """The files that were written."""
    if asked.output is not None:
        from tasks.plans.table import plan_row, write_plans

        write_plans(asked.output, [plan_row(asked, cell) for cell in cells])
    if asked.plot is not None:
        from tasks.plans.plot import write_plot

        write_plot(asked.plot, asked, cells)
    files = [path for path in (asked.output, asked.plot) if path is not None]
    return {"files": files} if files else {}


def _cost(asked: PlanSettings) -> dict[str, object]:
    """Pairs and hours of scoring. Raises UserError for a model whose rate is not known."""
    from tasks.plans.cost import PAIRS_PER_SECOND, scoring_hours

    if asked.records is None:
        return {}
    rate = asked.pairs_per_second or PAIRS_PER_SECOND.get(asked.model)
    if rate is None:
        raise UserError(
            f"pairs_per_second: the rate of {asked.model!r} is not known here (known: {', '.join(PAIRS_PER_SECOND)}); "
            "`privcert models check` measures it"
        )
    pairs = asked.records * asked.statements
    return {"pairs": pairs, "hours": scoring_hours(pairs, rate), "pairs_per_second": float(rate)}
