"""What `privcert plan` answers, as plain values for JSON: public settings in, public numbers out."""

from decimal import Decimal, localcontext
from fractions import Fraction

from schemas.plans import PlanSettings
from schemas.rounding import double_at_most
from schemas.values import decimal_text
from tasks.plans.sweep import design_of
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.planning import (
    Option,
    Plan,
    Prior,
    advise,
    certified_distances,
    limits,
    separations,
    statement_epsilon,
    together,
)

LOWEST_AT = "0.8"


def plan_facts(asked: PlanSettings, made: Plan) -> dict[str, object]:
    """The one plan: parameters, margin, power."""
    return {
        "n": asked.n,
        "statements": asked.statements,
        "mechanism": asked.mechanism,
        "releasable": MECHANISMS[asked.mechanism].releasable,
        "scope": str(asked.scope),
        "epsilon": decimal_text(asked.epsilon),
        "delta": decimal_text(asked.delta) if asked.delta is not None and made.design.delta else None,
        "theta": decimal_text(asked.theta),
        "beta": decimal_text(asked.beta),
        **_parameters(made),
        "threshold_units": made.threshold_units,
        "epsilon_per_statement": _double(made.epsilon_per_statement),
        "epsilon_per_certificate": _double(made.epsilon_per_certificate),
        "beta_per_statement": _double(made.beta_per_statement),
        "margin_units": _number(made.margin_units),
        "margin_support": made.margin_support,
        "vacuous": made.vacuous,
        "smallest_count_emitted": made.smallest_count_emitted,
        "smallest_support_emitted": made.smallest_support_emitted,
    }


def limit_facts(made: Plan) -> dict[str, object]:
    """What a reader could infer without a certificate, and what no certifier can beat."""
    found = limits(made)
    return {
        "epsilon_of_one_statement": _double(statement_epsilon(made)),
        "without_certificate": [
            {"distance_units": line.distance, "tv_statement": line.tv_statement, "tv_release": line.tv_release}
            for line in separations(made, certified_distances(made))
        ],
        "limits": {
            "half_emission_distance_units": found.half_emission_distance_units,
            "width_bound_units": found.width_bound_units,
            "width_privcert_units": found.width_privcert_units,
        },
    }


def release_facts(asked: PlanSettings, made: Plan) -> dict[str, object]:
    """What all planned releases lose together; exact sums as decimal text."""
    assert asked.releases is not None
    delta = None if asked.delta is None else Fraction(asked.delta)
    found = together(asked.mechanism, made.design, asked.releases, delta)
    return {
        "releases": found.releases,
        "epsilon": _decimal(found.epsilon),
        "delta": _decimal(found.delta),
        "rho": None if found.rho is None else _decimal(found.rho),
        "pld_delta": None if asked.delta is None else decimal_text(asked.delta),
        "pld_epsilon": found.pld_epsilon,
    }


def advice_facts(asked: PlanSettings, prior: Prior) -> dict[str, object]:
    """All mechanisms with their best public parameters under the prior. Raises DesignError."""
    found = advise(design_of(asked), Fraction(asked.theta), prior)
    return {
        "advice": {
            "supported": found.supported,
            "options": [_option(option, asked.n) for option in found.options],
            "lowest_options": [_option(option, asked.n) for option in found.lowest_options],
            "most_selected": found.most_selected,
            "refused": found.refused,
            "lowest_support": _mechanism(found.lowest(LOWEST_AT)),
            "lowest_support_pure": _mechanism(found.lowest(LOWEST_AT, pure=True)),
            "most_statements": _mechanism(found.most()),
            "most_statements_pure": _mechanism(found.most(pure=True)),
        }
    }


def _mechanism(option: Option | None) -> str | None:
    return None if option is None else option.plan.mechanism


def _option(option: Option, n: int) -> dict[str, object]:
    counts = option.smallest_count_certified
    return {
        "mechanism": option.plan.mechanism,
        "releasable": option.releasable,
        "pure": option.pure,
        "exact": option.exact,
        **_parameters(option.plan),
        "margin_units": _number(option.plan.margin_units),
        "smallest_count_certified": counts,
        "smallest_support_certified": {power: None if c is None else c / n for power, c in counts.items()},
        "expected_emitted": round(option.expected_emitted, 6),
        "expected_supported": round(option.expected_supported, 6),
    }


def _parameters(made: Plan) -> dict[str, object]:
    return {
        "contributions": made.design.contributions,
        "selected": made.design.selected,
        "selection_share": _double(made.design.selection_share),
    }


def _double(value: Fraction | None) -> float | None:
    """Never 0 for what is positive."""
    return None if value is None else double_at_most(value)


def _number(units: Fraction) -> int | float:
    return int(units) if units.denominator == 1 else float(units)


def _decimal(value: Fraction) -> str:
    """Exact: settings are decimals, and so are their multiples."""
    with localcontext(prec=1000):
        return decimal_text(Decimal(value.numerator) / Decimal(value.denominator))
