"""Contribution bounding by the enumeration of all that a unit can support, independently."""

from itertools import product
from math import prod


def enumerated_shares(supports: list[float], contributions: int) -> list[float]:
    """Pr[kept | supports j]: of the S statements that a unit supports, min(C, S) are kept, any of them alike."""
    kept = [0.0] * len(supports)
    for j in range(len(supports)):
        others = supports[:j] + supports[j + 1 :]
        for pattern in product((0, 1), repeat=len(others)):
            chance = prod(f if is_there else 1 - f for f, is_there in zip(others, pattern, strict=True))
            kept[j] += chance * min(1.0, contributions / (1 + sum(pattern)))
    return kept
