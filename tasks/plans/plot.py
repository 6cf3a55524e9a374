"""A sweep as a picture: the smallest support that is emitted, against epsilon or the number of statements."""

import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.plans import PlanSettings
from schemas.values import decimal_text
from tasks.plans.files import writing
from tasks.plans.sweep import Cell
from tasks.storage.atomic import RELEASE_FILE, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS_A_ROW = 3
MOST_TICKS = 8
PANEL_INCHES = (3.6, 3.1)
# Okabe and Ito's colours, dark ones first; marker and line differ too, for print in grey
STYLES = [
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#000000", "v", "-"),
    ("#E69F00", "P", "--"),
]


def plot_sweep(asked: PlanSettings, cells: Sequence[Cell]) -> bytes:
    """SVG, the same bytes for the same cells: one panel a theta, lines at probability 0.8, bands from 0.5 to 0.95."""
    from matplotlib.figure import Figure  # late: a plan without a picture needs none of it

    from tasks.plots.svg import drawing, svg

    thetas = sorted({cell.theta for cell in cells})
    columns = min(PANELS_A_ROW, len(thetas))
    rows = math.ceil(len(thetas) / columns)
    with drawing():
        size = (max(PANEL_INCHES[0] * columns, 5.0), PANEL_INCHES[1] * rows + 0.9)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, theta in zip(panels, thetas, strict=False):
            _panel(axes, [cell for cell in cells if cell.theta == theta], theta, by_epsilon=_by_epsilon(cells))
        for axes in panels[len(thetas) :]:
            axes.set_axis_off()
        figure.suptitle(_title(asked), fontsize=9)
        figure.supylabel("smallest support emitted (% of units)", fontsize=9)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
        return svg(figure, "privcert plan").encode()


def write_plot(path: str, asked: PlanSettings, cells: Sequence[Cell]) -> None:
    """`plot_sweep` in a file, all or nothing. Raises UserError where it cannot be written."""
    content = plot_sweep(asked, cells)
    with writing("plot", path):
        write_bytes(Path(path), content, RELEASE_FILE)


def _by_epsilon(cells: Sequence[Cell]) -> bool:
    """Is epsilon the axis? The number of statements is where only that varies."""
    return len({cell.epsilon for cell in cells}) > 1 or len({cell.statements for cell in cells}) == 1


def _panel(axes: "Axes", cells: Sequence[Cell], theta: Decimal, *, by_epsilon: bool) -> None:
    lines = sorted({cell.statements if by_epsilon else cell.epsilon for cell in cells})
    for place, value in enumerate(lines):
        on_line = [cell for cell in cells if (cell.statements if by_epsilon else cell.epsilon) == value]
        along = [float(cell.epsilon) if by_epsilon else float(cell.statements) for cell in on_line]
        low, line, high = ([_percent(cell, power) for cell in on_line] for power in ("0.5", "0.8", "0.95"))
        colour, marker, dashes = STYLES[place % len(STYLES)]
        label = f"{value} statements" if by_epsilon else f"epsilon {decimal_text(Decimal(value))}"
        axes.plot(along, line, color=colour, marker=marker, linestyle=dashes, markersize=4, linewidth=1.3, label=label)
        axes.fill_between(along, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(100 * float(theta), color="#444444", linewidth=0.8, linestyle=(0, (1, 2)), label="threshold theta")
    axes.set_title(f"theta = {100 * float(theta):g} %", fontsize=9)
    axes.set_xlabel("epsilon of the release (nats)" if by_epsilon else "statements")
    ticks = sorted({float(cell.epsilon) if by_epsilon else float(cell.statements) for cell in cells})
    axes.set_xscale("log")
    if len(ticks) <= MOST_TICKS:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    if any(cell.plan.smallest_count_emitted["0.8"] is None for cell in cells):
        says = "no point: not even all units are enough"
        axes.text(0.5, 0.98, says, transform=axes.transAxes, ha="center", va="top", fontsize=8)


def _percent(cell: Cell, power: str) -> float:
    """NaN, which is not drawn, where not even n is emitted."""
    support = cell.plan.smallest_support_emitted[power]
    return math.nan if support is None else 100 * support


def _title(asked: PlanSettings) -> str:
    delta = "" if asked.delta is None else f", delta = {decimal_text(asked.delta)}"
    return (
        f"{asked.mechanism}, n = {asked.n}, beta = {decimal_text(asked.beta)} ({asked.scope}){delta}\n"
        "line: emitted with probability 0.8; band: 0.5 to 0.95"
    )
