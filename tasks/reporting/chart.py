"""Geometry of the report's chart: one dot per statement, ranked by certificate, against the threshold.

All positions are percentages of the plot, so that the drawing fits any width and its text keeps its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_NICE_TOPS = [Fraction(text) for text in ("0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8", "1")]


@dataclass(frozen=True, slots=True)
class Dot:
    """One statement. x, y: percent of the plot from its left and its top."""

    x: str
    y: str
    is_emitted: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line at y percent from the top, with its label."""

    y: str
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything the template draws."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    threshold_y: str
    radius: str


def certificate_chart(units: Sequence[int], threshold_units: int, n: int) -> Chart:
    """Dots in the order given (the caller ranks them); at theta = 0 all are emitted, at n = 0 none and all lie at 0."""
    highest = Fraction(max([*units, threshold_units], default=0), max(n, 1))
    top = next(nice for nice in _NICE_TOPS if nice >= highest)
    dots = tuple(
        Dot(_place(Fraction(2 * rank + 1, 2 * len(units))), _height(count, n, top), n > 0 and count >= threshold_units)
        for rank, count in enumerate(units)
    )
    ticks = tuple(Tick(_place(1 - Fraction(step, 4)), f"{float(top * step / 4 * 100):.4g} %") for step in range(5))
    return Chart(dots, ticks, _height(threshold_units, n, top), "4" if len(units) <= 80 else "3")


def _height(count: int, n: int, top: Fraction) -> str:
    return _place(1 - Fraction(count, max(n, 1)) / top)


def _place(share: Fraction) -> str:
    return f"{float(share * 100):.2f}%"
