"""Which neighbours each mechanism is audited on: made-up public counts where its privacy loss is nearly reached.

Neighbours replace the content of one unit, so each count moves by at most one, either way; hist's counts are bounded
ones, so at most C of them move up and C down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tasks.privacy.design import Design

N, T = 40, 20
THETA = Fraction(T, N)
BETA = Fraction("0.05")  # of the whole report


@dataclass(frozen=True)
class Pair:
    """Neighbouring counts under one design, and why these; every number in it is public."""

    mechanism: str
    name: str
    design: Design
    counts: tuple[int, ...]
    neighbour: tuple[int, ...]


def pairs_of(mechanism: str) -> list[Pair]:
    """The declared pairs. KeyError for a mechanism that declares none."""
    return [
        Pair(mechanism, name, design, counts, tuple(map(sum, zip(counts, change, strict=True))))
        for name, (design, counts, change) in DECLARED[mechanism].items()
    ]


def _design(statements: int, epsilon: int = 1, **parameters: Fraction | int) -> Design:
    return Design(N, statements, Fraction(epsilon), BETA, **parameters)  # type: ignore[arg-type]


def _selecting(selected: int, statements: int, epsilon: int, share: str, **parameters: Fraction) -> Design:
    return _design(statements, epsilon, selected=selected, selection_share=Fraction(share), **parameters)


Case = tuple[Design, tuple[int, ...], tuple[int, ...]]  # design, counts, what one unit changes

_EVERYWHERE = {
    "both up": (_design(2), (T, T), (1, 1)),
    "one up, one down": (_design(2), (T, T), (1, -1)),  # noise that statements share would hide nothing
}

DECLARED: Mapping[str, Mapping[str, Case]] = {
    "frontier": _EVERYWHERE,
    "geometric": _EVERYWHERE,
    "staircase": {
        "both become supported": (_design(2, theta=THETA), (T - 1, T - 1), (1, 1)),  # nearest to beta
        "some of both emitted": (_design(2, theta=THETA), (T + 2, T + 2), (1, 1)),
    },
    "discrete_gaussian": {
        "all up": (_design(4, 2, delta=Fraction("0.1")), (T,) * 4, (1, 1, 1, 1)),  # sqrt(m) in L2
        "two up, two down": (_design(4, 2, delta=Fraction("0.1")), (T,) * 4, (1, -1, 1, -1)),
    },
    "hist": {
        "one up, one down": (_design(4, contributions=1), (T,) * 4, (1, -1, 0, 0)),  # 2C in L1
        "all up": (_design(4, contributions=2), (T,) * 4, (1, 1, 1, 1)),  # m in L1
    },
    "svt": {
        # what is refused moves with the threshold, what is selected against it
        "three up, the last down": (_selecting(1, 4, 2, "3/4", theta=THETA), (T,) * 4, (1, 1, 1, -1)),
        "all up": (_selecting(1, 12, 3, "1/2", theta=THETA), (T,) * 12, (1,) * 12),  # many answers, one threshold
        "by turns up and down": (_selecting(2, 8, 3, "1/2", theta=THETA), (T,) * 8, (1, -1) * 4),
    },
    "topk": {
        "one up, others down": (_selecting(1, 3, 2, "3/4"), (T - 2, T, T), (1, -1, -1)),  # 2 for each selected one
        "two up, others down": (_selecting(2, 6, 2, "1/2"), (T,) * 6, (1, 1, -1, -1, -1, -1)),
    },
}
