"""The grid of a study: which releases are simulated, each with everything that its draws depend on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from schemas.audit import Scope
from schemas.errors import UserError
from schemas.studies import MAX_JOBS, StudySettings
from schemas.values import decimal_text
from tasks.ledger.canonical import digest
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS, Mechanism
from tasks.studies.universes import Universe, check_verdicts

OPTIONAL = ("delta", "selected", "selection_share", "contributions")
"""Grid parameters that only some mechanisms take."""


@dataclass(frozen=True)
class Cell:
    """One release that is simulated, and how. Parameters as in StudySettings; None: the mechanism takes none."""

    mechanism: str
    universe_name: str
    universe: Universe
    statements: int
    epsilon: Decimal
    theta: Decimal
    beta: Decimal
    scope: Scope
    runs: int
    distinct: bool
    delta: Decimal | None = None
    selected: int | None = None
    selection_share: Decimal | None = None
    contributions: int | None = None

    @property
    def design(self) -> Design:
        """What the mechanism is asked."""
        needs_theta = "theta" in MECHANISMS[self.mechanism].takes
        return Design(
            n=self.universe.n,
            statements=self.statements,
            epsilon=Fraction(self.epsilon),
            beta=Fraction(self.beta),
            scope=self.scope,
            delta=Fraction(self.delta or 0),
            theta=Fraction(self.theta) if needs_theta else None,
            contributions=self.contributions,
            selected=self.selected,
            selection_share=None if self.selection_share is None else Fraction(self.selection_share),
        )

    @cached_property
    def designed(self) -> Mechanism:
        """The mechanism. Raises DesignError by name."""
        return MECHANISMS[self.mechanism].designed(self.design)

    @cached_property
    def key(self) -> str:
        """SHA-256, hex, of everything that the draws depend on, apart from seeds and code."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if not one.name.startswith("universe")}
        return digest({name: _text(value) for name, value in own.items()} | {"universe": self.universe.identity})


def cells_of(settings: StudySettings, universe_of: Callable[[str, int, Decimal], Universe]) -> list[Cell]:
    """The cells in the order of the grid.

    universe_of: from a name, the number of statements of a release and theta.
    Raises UserError by name: an unknown mechanism, a parameter that is missing or that none takes, a release that the
    mechanism cannot make, more statements than the universe has, too many cells.
    """
    _check_parameters(settings)
    _check_size(settings)
    cells = [
        cell
        for universe in settings.universes
        for mechanism in settings.mechanisms
        for cell in _cells(settings, universe, mechanism, universe_of)
    ]
    for cell in cells:
        _check(cell)
    return cells


def _cells(
    settings: StudySettings, universe: str, mechanism: str, universe_of: Callable[[str, int, Decimal], Universe]
) -> list[Cell]:
    takes = MECHANISMS[mechanism].takes
    optional: list[Sequence[Any]] = [getattr(settings, name) if name in takes else (None,) for name in OPTIONAL]
    main = product(settings.statements, settings.epsilon, settings.theta, settings.beta, settings.scope, *optional)
    return [
        Cell(
            mechanism=mechanism,
            universe_name=universe,
            universe=universe_of(universe, m, theta),
            statements=m,
            epsilon=epsilon,
            theta=theta,
            beta=beta,
            scope=scope,
            runs=settings.runs,
            distinct=settings.distinct,
            **dict(zip(OPTIONAL, rest, strict=True)),
        )
        for m, epsilon, theta, beta, scope, *rest in main
    ]


def _check_parameters(settings: StudySettings) -> None:
    for name in settings.mechanisms:
        if name not in MECHANISMS:
            raise UserError(f"mechanisms: unknown mechanism {name[:80]!r}; known: {', '.join(MECHANISMS)}")
    for parameter in OPTIONAL:
        takers = [name for name in settings.mechanisms if parameter in MECHANISMS[name].takes]
        given = bool(getattr(settings, parameter))
        if given and not takers:
            raise UserError(f"{parameter}: none of {', '.join(settings.mechanisms)} takes it")
        if takers and not given:
            raise UserError(f"{parameter}: {takers[0]} needs it")


def _check_size(settings: StudySettings) -> None:
    """Before the cells are made: a few long lists multiply."""
    lists = ("universes", "statements", "epsilon", "theta", "beta", "scope")
    main = prod(len(getattr(settings, name)) for name in lists)
    own = [
        prod(len(getattr(settings, name)) for name in OPTIONAL if name in MECHANISMS[mechanism].takes)
        for mechanism in settings.mechanisms
    ]
    cells = main * sum(own)
    if cells * settings.seeds > MAX_JOBS:
        raise UserError(f"seeds: {cells} cells with {settings.seeds} seeds are more than {MAX_JOBS} simulations")


def _check(cell: Cell) -> None:
    if cell.contributions is not None:
        check_verdicts(cell.universe.n, cell.universe.statements)
    if cell.distinct and cell.statements > cell.universe.statements:
        raise UserError(
            f"statements: {cell.statements} distinct ones are asked, universe {cell.universe_name} has "
            f"{cell.universe.statements}"
        )
    try:
        _ = cell.designed
    except ValueError as error:  # DesignError says the name
        raise UserError(f"{error} ({cell.mechanism}, {cell.statements} statements)") from None


def _text(value: object) -> object:
    if isinstance(value, Decimal):
        return decimal_text(value)
    return str(value) if isinstance(value, Scope) else value
