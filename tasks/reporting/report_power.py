"""The power of a report's own design: exact probability of being emitted, by the count of supporting units."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from schemas.audit import Scope
from schemas.statements import Statement
from tasks.ledger.designs import Group, Parameters, groups_of
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.planning.power import POWERS, probe, smallest
from tasks.privacy.planning.priors import DEFAULT_PRIOR

MOST_POINTS = 61
_ENDS = (0.002, 0.998)


@dataclass(frozen=True, slots=True)
class Curve:
    """weight: of its statements; all others lie between those that are drawn. points: (count, Pr[emitted]), exact.

    smallest: for each probability of POWERS the smallest count that is emitted with at least that; None where not even
    n is. After a selection all of this is given that the statement was selected.
    """

    weight: int
    points: tuple[tuple[int, float], ...]
    smallest: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class _Asked:
    mechanism: str
    epsilon: Decimal
    beta: Decimal
    scope: Scope


def power_curves(
    release: Mapping[str, Any], statements: Sequence[Mapping[str, Any]], parameters: Mapping[str, str], theta: str
) -> list[Curve]:
    """Of the lightest and the heaviest statements; one where all weigh the same, none where n = 0 or theta = 0.

    None, either, where this version would take another margin off than the one that was sealed.
    """
    if not (release["n"] and statements and Fraction(theta)):
        return []
    asked = _Asked(release["mechanism"], Decimal(release["epsilon"]), Decimal(release["beta"]), Scope(release["scope"]))
    texts = [Statement.of(str(row["statement"]), Decimal(str(row["weight"]))) for row in statements]
    groups = groups_of(asked, _parameters(parameters), texts, release["n"])
    sealed = [int(statements[group.positions[0]]["margin_units"]) for group in groups]
    if sealed != [group.mechanism.margin_units for group in groups]:
        return []
    ends = groups if len(groups) == 1 else [groups[0], groups[-1]]
    return [_curve(group, release["n"], Fraction(theta)) for group in ends]


def _parameters(texts: Mapping[str, str]) -> Parameters:
    given: dict[str, Any] = {
        name: int(text) if name in ("contributions", "selected") else Decimal(text) for name, text in texts.items()
    }
    return Parameters(**given)


def _curve(group: Group, n: int, theta: Fraction) -> Curve:
    chosen = group.mechanism.certifier if isinstance(group.mechanism, Selecting) else group.mechanism
    chance = cache(probe(chosen, replace(group.design, theta=theta), theta, DEFAULT_PRIOR))
    found = {power: smallest(n, 0, _reaches(chance, float(power))) for power in POWERS}
    low, high = (smallest(n, 0, _reaches(chance, end)) for end in _ENDS)
    first, last = max((low or 0) - 1, 0), n if high is None else high
    spread = min(last - first + 1, MOST_POINTS)
    counts = sorted({first + (last - first) * step // max(spread - 1, 1) for step in range(spread)})
    return Curve(group.weight, tuple((count, chance(count)) for count in counts), found)


def _reaches(chance: Callable[[int], float], power: float) -> Callable[[int], bool]:
    return lambda count: chance(count) >= power
