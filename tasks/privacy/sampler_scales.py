"""Noise scales whose loss, as OpenDP itself accounts for it, stays within an exact epsilon (spec 1.3)."""

import math
from fractions import Fraction

from tasks.privacy.design import DesignError
from tasks.privacy.discrete_laplace import MAX_RATE, MIN_RATE


def laplace_scale(epsilon: Fraction, distance: int) -> Fraction:
    """The smallest scale whose loss at this distance is at most epsilon, where such noise can be drawn.

    distance: D >= 1, how far in L1 the noise must hide the answers. Raises DesignError for a scale outside
    [1e-3, 1e12] units.
    """
    _check(epsilon / distance)
    scale = Fraction(smallest_scale(epsilon, distance))
    _check(1 / scale)  # rounding up may have left the range
    return scale


def smallest_scale(epsilon: Fraction, distance: int) -> float:
    """The smallest double s with distance / s, rounded up to a double, at most epsilon.

    `float(distance / epsilon)` is too small for about half of all epsilon.
    """
    scale = float(distance / epsilon)
    while Fraction(_divide_up(distance, scale)) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def _check(rate: Fraction) -> None:
    if not MIN_RATE <= rate <= MAX_RATE:
        raise DesignError("epsilon: the noise that it asks for must have a scale between 1e-3 and 1e12 units")


def _divide_up(distance: int, scale: float) -> float:
    loss = distance / scale
    return loss if Fraction(loss) * Fraction(scale) >= distance else math.nextafter(loss, math.inf)
