"""From the public settings of a release to its designs: one for each weight, with mechanism and loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from schemas.audit import CertificationSettings, Scope
from schemas.errors import UserError
from schemas.statements import Statement
from schemas.values import decimal_text
from tasks.privacy.accounting import Loss
from tasks.privacy.design import OPTIONAL, Design, DesignError, check_parameters
from tasks.privacy.mechanisms import RELEASE_MECHANISMS, Mechanism
from tasks.privacy.scope import shares


class Asked(Protocol):
    """What settings and questions have in common."""

    @property
    def mechanism(self) -> str:
        """One of RELEASE_MECHANISMS."""

    @property
    def epsilon(self) -> Decimal:
        """Of the whole release, nats."""

    @property
    def beta(self) -> Decimal:
        """Of what the scope says."""

    @property
    def scope(self) -> Scope:
        """Of beta."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What only some mechanisms take, exact; None where it is not given. See `Design`."""

    delta: Decimal | None = None
    theta: Decimal | None = None
    contributions: int | None = None
    selected: int | None = None
    selection_share: Decimal | None = None

    @classmethod
    def of(cls, settings: CertificationSettings) -> "Parameters":
        """The settings' own. theta only where the mechanism's answer holds for one threshold."""
        kind = RELEASE_MECHANISMS.get(settings.mechanism)
        given = {name: getattr(settings, name) for name in OPTIONAL}
        return cls(**given | ({"theta": None} if kind is None or kind.answers_every_threshold else {}))

    def texts(self) -> dict[str, str]:
        """Those that are given, as exact text."""
        given = {name: getattr(self, name) for name in OPTIONAL}
        return {name: decimal_text(Decimal(value)) for name, value in given.items() if value is not None}

    def exact(self) -> dict[str, Fraction | int]:
        """Those that are given, as `Design` takes them."""
        given = {name: getattr(self, name) for name in OPTIONAL}
        return {
            name: value if isinstance(value, int) else Fraction(value)
            for name, value in given.items()
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The statements of one weight: what they are asked, by which mechanism, and what they lose together.

    positions: in the question. weight: a whole number; 1 where all are equal.
    """

    weight: int
    positions: tuple[int, ...]
    design: Design
    mechanism: Mechanism
    loss: Loss


def groups_of(asked: Asked, parameters: Parameters, statements: Sequence[Statement], n: int) -> list[Group]:
    """By ascending weight. Raises UserError by name for parameters that the mechanism cannot be run with."""
    kind, m, weights = (
        RELEASE_MECHANISMS[asked.mechanism],
        len(statements),
        whole_weights([one.weight for one in statements]),
    )
    try:
        whole = Design(
            n=n,
            statements=m,
            epsilon=Fraction(asked.epsilon),
            beta=Fraction(asked.beta),
            scope=asked.scope,
            **parameters.exact(),  # type: ignore[arg-type]
        )
        if not weights:
            return [Group(1, tuple(range(m)), whole, kind.designed(whole), kind.loss(whole))]
        check_parameters(asked.mechanism, kind.takes, replace(whole, share=Fraction(1)))
        split = dict(zip(weights, shares([Fraction(weight) for weight in weights]), strict=True))
        return [_group(kind, weights, weight, replace(whole, share=share)) for weight, share in sorted(split.items())]
    except DesignError as error:
        advice = "; ask fewer statements or set a larger epsilon" if str(error).startswith("epsilon") else ""
        raise UserError(f"{error}{advice}") from None


def whole_weights(weights: Sequence[Decimal]) -> tuple[int, ...]:
    """The same proportions as whole numbers without a common divisor; empty where all are equal."""
    exact = [Fraction(weight) for weight in weights]
    if len(set(exact)) == 1:
        return ()
    common = math.lcm(*(weight.denominator for weight in exact))
    whole = [int(weight * common) for weight in exact]
    return tuple(weight // math.gcd(*whole) for weight in whole)


def total_loss(groups: list[Group]) -> Loss:
    """What a release of these groups is charged."""
    losses = [group.loss for group in groups]
    rhos = [loss.rho for loss in losses if loss.rho is not None]
    return Loss(
        sum((loss.epsilon for loss in losses), Fraction(0)),
        sum((loss.delta for loss in losses), Fraction(0)),
        sum(rhos, Fraction(0)) if len(rhos) == len(losses) else None,
    )


def _group(kind: type[Mechanism], weights: Sequence[int], weight: int, design: Design) -> Group:
    """A design with a share speaks of one statement; the group loses it once for each."""
    positions = tuple(at for at, one in enumerate(weights) if one == weight)
    one, times = kind.loss(design), len(positions)
    loss = Loss(one.epsilon * times, one.delta * times, None if one.rho is None else one.rho * times)
    return Group(weight, positions, design, kind.designed(design), loss)
