"""One design a mechanism, with the parameters that it takes."""

from fractions import Fraction

from schemas.audit import Scope
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS, Mechanism

OPTIONAL = {
    "delta": Fraction("1e-5"),
    "theta": Fraction("0.1"),
    "contributions": 3,
    "selected": 2,
    "selection_share": Fraction("0.5"),
}


def design_of(name: str, n: int, statements: int, epsilon: str = "1", beta: str = "0.05", **given: object) -> Design:
    """Per-candidate scope unless said otherwise; `given` replaces the optional parameters above."""
    optional = {key: value for key, value in OPTIONAL.items() if key in MECHANISMS[name].takes}
    known = {"scope": Scope.CANDIDATE} | optional | given
    return Design(n=n, statements=statements, epsilon=Fraction(epsilon), beta=Fraction(beta), **known)  # type: ignore[arg-type]


def mechanism_of(
    name: str, n: int, statements: int, epsilon: str = "1", beta: str = "0.05", **given: object
) -> Mechanism:
    """The mechanism for `design_of` the same."""
    return MECHANISMS[name].designed(design_of(name, n, statements, epsilon, beta, **given))
