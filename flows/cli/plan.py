"""privcert plan."""

from decimal import Decimal
from fractions import Fraction

import click
from pydantic import BaseModel, ConfigDict, Field

from flows.cli.options import json_option, settings_options
from flows.cli.output import print_json
from schemas.audit import Scope
from schemas.building import build
from schemas.errors import UserError
from schemas.values import Beta, Epsilon, Theta, Whole

# Pairs a second on two CPU cores, an order of magnitude: nli-mini as in the demo (9,940 pairs in 165 s with
# everything around), keyword below what long records gave (44,000), DeBERTa-v3-base at 128 tokens in fp32
PAIRS_PER_SECOND = {"cross-encoder/nli-deberta-v3-base": 6, "nli-mini": 60, "keyword": 20_000}


class PlanSettings(BaseModel):
    """What a plan is asked; no data is touched."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    n: Whole = Field(ge=1, le=10**12)
    """Units of the partition."""
    statements: Whole = Field(default=200, ge=1, le=100_000)
    """Distinct candidates that share the budget."""
    theta: Theta
    """Reporting threshold, a share of the units."""
    epsilon: Epsilon
    """Privacy loss of the whole release, in nats."""
    beta: Beta = Decimal("0.05")
    """Probability that a certificate exceeds the true support."""
    mechanism: str = "frontier"
    """frontier, geometric or laplace."""
    scope: Scope = Scope.REPORT
    """candidate, report or report_independent."""
    records: Whole | None = Field(default=None, ge=0, le=10**12)
    """Records to score; tells pairs and hours."""
    model: str = "cross-encoder/nli-deberta-v3-base"
    """Support model, for the hours."""


@click.command()
@settings_options(PlanSettings)
@json_option
def command(as_json: bool, **values: object) -> None:
    """What a release would certify, before any data is touched: margin and exact power.

    Example: privcert plan --n 1800 --statements 200 --theta 0.05 --epsilon 10 --records 5000
    """
    from tasks.privacy.mechanisms import MECHANISMS
    from tasks.privacy.planning import plan

    asked = build(PlanSettings, values)
    if asked.mechanism not in MECHANISMS:
        raise UserError(f"mechanism: unknown mechanism {asked.mechanism!r}; known: {', '.join(MECHANISMS)}")
    try:
        found = plan(
            asked.mechanism,
            asked.n,
            asked.statements,
            Fraction(asked.theta),
            Fraction(asked.epsilon),
            Fraction(asked.beta),
            asked.scope,
        )
    except ValueError as error:
        raise UserError(f"epsilon: {error}") from None
    margin = found.margin_units
    facts: dict[str, object] = {
        "n": asked.n,
        "statements": asked.statements,
        "mechanism": asked.mechanism,
        "scope": str(asked.scope),
        "threshold_units": found.threshold_units,
        "epsilon_per_statement": float(found.epsilon_per_statement),
        "beta_per_statement": float(found.beta_per_statement),
        "margin_units": int(margin) if margin.denominator == 1 else float(margin),
        "margin_support": found.margin_support,
        "vacuous": found.vacuous,
        "smallest_count_emitted": found.smallest_count_emitted,
        "smallest_support_emitted": {
            power: None if count is None else count / asked.n for power, count in found.smallest_count_emitted.items()
        },
    }
    facts |= _cost(asked)
    if as_json:
        print_json(facts)
    else:
        click.echo("\n".join(_lines(facts)))


def _cost(asked: PlanSettings) -> dict[str, object]:
    if asked.records is None:
        return {}
    if asked.model not in PAIRS_PER_SECOND:
        raise UserError(f"model: unknown support model {asked.model!r}; known: {', '.join(PAIRS_PER_SECOND)}")
    pairs = asked.records * asked.statements
    return {"pairs": pairs, "hours": round(pairs / PAIRS_PER_SECOND[asked.model] / 3600, 3)}


def _lines(facts: dict[str, object]) -> list[str]:
    counts, supports = facts["smallest_count_emitted"], facts["smallest_support_emitted"]
    assert isinstance(counts, dict)
    assert isinstance(supports, dict)
    lines = [
        f"{facts['mechanism']}, scope {facts['scope']}: epsilon {facts['epsilon_per_statement']:g} and error "
        f"{facts['beta_per_statement']:g} for each of {facts['statements']} statements",
        f"margin                    {facts['margin_units']:g} units, {facts['margin_support']:.4f} of n = {facts['n']}",
        f"threshold                 {facts['threshold_units']} units",
    ]
    for power, count in counts.items():
        found = "not even n" if count is None else f"{count} units, support {supports[power]:.4f}"
        lines.append(f"emitted with prob. {power:<6} {found}")
    if facts["vacuous"]:
        lines.append("vacuous: threshold + margin exceed n, nothing can be certified at this threshold")
    if "pairs" in facts:
        lines.append(f"scoring                   {facts['pairs']} pairs, about {facts['hours']} hours on two cores")
    return lines
