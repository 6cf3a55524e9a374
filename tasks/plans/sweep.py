"""Plans over epsilon x statements x theta."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

from schemas.plans import PlanSettings
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.planning import Plan, Prior, plan


@dataclass(frozen=True, slots=True)
class Cell:
    """One plan of a sweep, with its settings as they were written."""

    epsilon: Decimal
    statements: int
    theta: Decimal
    plan: Plan


def design_of(asked: PlanSettings, epsilon: Decimal | None = None, statements: int | None = None) -> Design:
    """The design that the settings name, with another epsilon or number of statements. DesignError by name."""
    return Design(
        n=asked.n,
        statements=asked.statements if statements is None else statements,
        epsilon=Fraction(asked.epsilon if epsilon is None else epsilon),
        beta=Fraction(asked.beta),
        scope=asked.scope,
        delta=Fraction(asked.delta or 0),
        contributions=asked.contributions,
        selected=asked.selected,
        selection_share=None if asked.selection_share is None else Fraction(asked.selection_share),
    )


def single(asked: PlanSettings, prior: Prior) -> Plan:
    """The one plan, beside any sweep. DesignError by name."""
    return plan(asked.mechanism, _for_mechanism(asked, design_of(asked)), Fraction(asked.theta), prior)


def sweep(asked: PlanSettings, prior: Prior) -> Iterator[Cell]:
    """Every cell, by theta, then statements, then epsilon. DesignError by name."""
    for theta, statements, epsilon in product(asked.thetas, asked.numbers_of_statements, asked.epsilons):
        design = _for_mechanism(asked, design_of(asked, epsilon, statements))
        yield Cell(epsilon, statements, theta, plan(asked.mechanism, design, Fraction(theta), prior))


def _for_mechanism(asked: PlanSettings, design: Design) -> Design:
    """Without the delta that --advice and --releases speak of, where the mechanism takes none."""
    speaks_of_delta = asked.advice or asked.releases is not None
    if speaks_of_delta and "delta" not in MECHANISMS[asked.mechanism].takes:
        return replace(design, delta=Fraction(0))
    return design
