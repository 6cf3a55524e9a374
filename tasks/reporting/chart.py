"""Geometry of the charts of a report, drawn by its templates as SVG.

By hand rather than by a library: what matplotlib writes has a fixed width, colours of its own and style attributes
(which the report's Content-Security-Policy refuses), and letters as outlines; a chart library in JavaScript weighs more
than all reports and draws nothing without scripts. Here colours are the page's (light, dark, print), text is text, and
positions are percentages of the plot, so that the drawing fits any width and its text keeps its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_NICE_TOPS = [Fraction(text) for text in ("0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8", "1")]
_GRID = 1000  # side of the square that lines are drawn in, stretched to the plot


@dataclass(frozen=True, slots=True)
class Dot:
    """One statement. x, y: percent of the plot from its left and its top."""

    x: str
    y: str
    units: int
    is_emitted: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line at `place` percent from the top or the left, with its label."""

    place: str
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Certificates against the threshold. top_units: count at the upper edge, exact, as text 'a/b'."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    threshold_y: str
    radius: str
    top_units: str


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of probabilities. path: SVG path in a square of 1000."""

    path: str
    label: str


@dataclass(frozen=True, slots=True)
class Curves:
    """Probability against count. threshold_x: None where the threshold lies outside."""

    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    threshold_x: str | None


def certificate_chart(units: Sequence[int], threshold_units: int, n: int) -> Chart:
    """Dots in the order given (the caller ranks them); at theta = 0 all are emitted, at n = 0 none and all lie at 0."""
    highest = Fraction(max([*units, threshold_units], default=0), max(n, 1))
    top = next(nice for nice in _NICE_TOPS if nice >= highest)
    dots = tuple(
        Dot(
            place(Fraction(2 * rank + 1, 2 * len(units))),
            _height(count, n, top),
            count,
            n > 0 and count >= threshold_units,
        )
        for rank, count in enumerate(units)
    )
    ticks = tuple(Tick(place(1 - Fraction(step, 4)), f"{float(top * step / 4 * 100):.4g} %") for step in range(5))
    return Chart(dots, ticks, _height(threshold_units, n, top), "4" if len(units) <= 80 else "3", str(top * max(n, 1)))


def power_chart(curves: Sequence[tuple[str, Sequence[tuple[int, float]]]], threshold_units: int) -> Curves:
    """curves: label and points (count, probability), counts ascending."""
    counts = [count for _, points in curves for count, _ in points]
    low, high = min(counts), max(counts)
    wide = max(high - low, 1)

    def across(count: int) -> Fraction:
        return Fraction(count - low, wide)

    lines = tuple(Line(_path([(across(count), chance) for count, chance in points]), label) for label, points in curves)
    marks = sorted({low + wide * step // 4 for step in range(5)})
    ticks = tuple(Tick(place(across(mark)), f"{mark:,}") for mark in marks)
    return Curves(lines, ticks, place(across(threshold_units)) if low <= threshold_units <= high else None)


def _path(points: Sequence[tuple[Fraction, float]]) -> str:
    drawn = [f"{float(x * _GRID):.1f},{(1 - chance) * _GRID:.1f}" for x, chance in points]
    return "M" + "L".join(drawn)


def _height(count: int, n: int, top: Fraction) -> str:
    return place(1 - Fraction(count, max(n, 1)) / top)


def place(share: Fraction) -> str:
    """A share as a length in percent, for drawing."""
    return f"{float(share * 100):.2f}%"
