"""The public design of one release: everything that decides its noise, margins and power before any data is read."""

from dataclasses import dataclass
from fractions import Fraction

from schemas.audit import Scope
from tasks.privacy.scope import beta_of_share
from tasks.privacy.thresholds import threshold_units

HALF = Fraction(1, 2)


class DesignError(ValueError):
    """A parameter that is missing, superfluous or out of range; the message starts with its name."""


@dataclass(frozen=True, slots=True)
class Design:
    """What one release is asked, apart from the data. All public, all exact.

    n: units. statements: m, distinct candidates. epsilon, delta: of the whole release. beta: error, of what `scope`
    says. share: part of epsilon and beta that one statement gets; 1/m unless public weights say otherwise.
    theta: reporting threshold, where the answer depends on it. contributions: C, the most statements that one unit
    counts for (hist). selected: k, the most that are certified after selection. selection_share: eps_sel / eps_tot.

    Raises DesignError (a ValueError) by name.
    """

    n: int
    statements: int
    epsilon: Fraction
    beta: Fraction
    scope: Scope = Scope.REPORT
    delta: Fraction = Fraction(0)
    share: Fraction | None = None
    theta: Fraction | None = None
    contributions: int | None = None
    selected: int | None = None
    selection_share: Fraction | None = None

    def __post_init__(self) -> None:
        _require(self.n >= 0, "n: must be at least 0")
        _require(self.statements >= 1, "statements: there is none to certify")
        _require(self.epsilon > 0, "epsilon: must be greater than 0")
        _require(0 < self.beta < HALF, "beta: must lie between 0 and 1/2")
        _require(0 <= self.delta < 1, "delta: must be at least 0 and less than 1")
        _require(self.share is None or 0 < self.share <= 1, "weights: a share must lie between 0 and 1")
        _require(self.theta is None or 0 <= self.theta <= 1, "theta: must be between 0 and 1")
        _require(self.contributions is None or self.contributions >= 1, "contributions: must be at least 1")
        _require(self.selected is None or self.selected >= 1, "selected: must be at least 1")
        share = self.selection_share
        _require(share is None or 0 < share < 1, "selection_share: must lie between 0 and 1")

    @property
    def epsilon_each(self) -> Fraction:
        """Budget of one statement under sequential composition (spec 1.3)."""
        return self.epsilon * self._share

    @property
    def beta_each(self) -> Fraction:
        """Error of one certificate under the scope; after selection the at most k certificates share it (spec 1.4)."""
        if self.selected is not None:
            return beta_of_share(self.beta, Fraction(1, self.certified), self.scope)
        return beta_of_share(self.beta, self._share, self.scope)

    @property
    def certified(self) -> int:
        """How many certificates there are at most: min(k, m), or m."""
        return self.statements if self.selected is None else min(self.selected, self.statements)

    @property
    def threshold(self) -> int:
        """t = ceil(n theta). Raises DesignError without a theta."""
        _require(self.theta is not None, "theta: this mechanism needs it")
        assert self.theta is not None
        return threshold_units(self.n, self.theta)

    @property
    def _share(self) -> Fraction:
        return Fraction(1, self.statements) if self.share is None else self.share


# A parameter of the design that only some mechanisms take -> its value when it is not given.
OPTIONAL = {"delta": Fraction(0), "theta": None, "contributions": None, "selected": None, "selection_share": None}


def check_parameters(mechanism: str, takes: frozenset[str], design: Design) -> None:
    """Every parameter that the mechanism takes is given, and no other one. Raises DesignError by name."""
    for name, absent in OPTIONAL.items():
        given = getattr(design, name) != absent
        _require(given or name not in takes, f"{name}: {mechanism} needs it")
        _require(not given or name in takes, f"{name}: {mechanism} does not take it")
    weighted = design.share is not None and design.share != Fraction(1, design.statements)
    _require(not weighted or "weights" in takes, f"weights: {mechanism} does not take them")


def _require(holds: bool, says: str) -> None:
    if not holds:
        raise DesignError(says)
