"""Pictures of a study as SVG text; the same study gives the same text."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from tasks.plots.svg import drawing, svg
from tasks.privacy.mechanisms import Mechanism
from tasks.privacy.mechanisms.protocol import depends_on_its_count_alone
from tasks.studies.cells import Cell
from tasks.studies.questions import Row, at_best_own

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHOSEN = "means over the questions, each mechanism at its own parameters with the highest EmitRate"
# Okabe and Ito's colours; the same one only for mechanisms that hardly differ, told apart by their dashes
_STYLES = {
    "frontier": ("#0072B2", "-"),
    "geometric": ("#0072B2", "--"),
    "staircase": ("#0072B2", ":"),
    "laplace": ("#D55E00", "--"),
    "laplace_rounded": ("#D55E00", ":"),
    "gaussian": ("#009E73", "--"),
    "discrete_gaussian": ("#009E73", "-"),
    "hist": ("#CC79A7", "-"),
    "svt": ("#E69F00", "-"),
    "topk": ("#56B4E9", "-"),
}
_PANEL_INCHES = (4.2, 3.2)
_NAMES_A_PANEL, _LINE_INCHES = 2, 0.2  # of a legend
_POINTS = 400
_MOST_PANELS = 4


def draw_emission(cells: pa.Table) -> str:
    """EmitRate and recall against epsilon, a line a mechanism: `mean_by_epsilon`."""
    with drawing():
        return svg(emission_figure(cells.to_pylist()), "privcert study")


def emission_figure(cells: Sequence[Row]) -> Figure:
    """The figure of `draw_emission`."""
    figure, epsilons = _figure(2), sorted({cell["epsilon_nats"] for cell in cells})
    for axes, metric, label in zip(
        figure.axes, ("emit_rate_share", "supported_recall_share"), ("EmitRate", "SupportedRecall"), strict=True
    ):
        for mechanism, points in mean_by_epsilon(cells, metric).items():
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=mechanism, **_style(mechanism))
        axes.set(xlabel="epsilon of the report, nats", ylabel=label, xscale="log")
        axes.set_ylim(bottom=0)
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.set_xticks([], minor=True)
        axes.grid(visible=True, alpha=0.3)
    figure.suptitle(CHOSEN, fontsize=9)
    _legend_below(figure)
    return figure


def mean_by_epsilon(cells: Sequence[Row], metric: str) -> dict[str, list[tuple[float, float]]]:
    """Mechanism -> (epsilon, mean of the metric over the questions), epsilon ascending.

    Parameters of its own are those with the highest EmitRate of each question, whatever the metric.
    """
    groups: dict[str, dict[float, list[float]]] = {}
    for cell in at_best_own(cells):
        if cell[metric] is not None:
            groups.setdefault(cell["mechanism"], {}).setdefault(cell["epsilon_nats"], []).append(cell[metric])
    return {name: [(at, fmean(values)) for at, values in sorted(found.items())] for name, found in groups.items()}


def draw_power(cells: Sequence[Cell]) -> str:
    """Exact emission probability against the count: a panel for each epsilon, a line for each mechanism.

    At the first universe, theta, number of statements, delta, beta and scope of the study; mechanisms that select or
    truncate are left out, since other statements matter to them.
    """
    with drawing():
        return svg(power_figure(cells), "privcert study")


def power_figure(cells: Sequence[Cell]) -> Figure:
    """The figure of `draw_power`."""
    shown = [cell for cell in cells if _as_first(cell, cells[0]) and depends_on_its_count_alone(cell.designed)]
    epsilons = sorted({cell.epsilon for cell in shown})[:_MOST_PANELS]
    figure = _figure(max(1, len(epsilons)))
    for axes, epsilon in zip(figure.axes, epsilons, strict=False):
        _draw_power(axes, [cell for cell in shown if cell.epsilon == epsilon])
        axes.set_title(f"epsilon {epsilon}", fontsize=9)
    if epsilons:
        _legend_below(figure)
    return figure


def _as_first(cell: Cell, first: Cell) -> bool:
    names = ("universe_name", "theta", "statements", "beta", "scope")
    return all(getattr(cell, name) == getattr(first, name) for name in names)


def _draw_power(axes: "Axes", cells: Sequence[Cell]) -> None:
    designed: dict[str, Mechanism] = {}
    for cell in cells:
        designed.setdefault(cell.mechanism, cell.designed)  # of several deltas the first
    one = cells[0]
    n, theta = one.universe.n, Fraction(one.theta)
    widest = max(float(mechanism.margin_units) for mechanism in designed.values()) + 1
    low, high = max(0.0, float(theta * n) - widest), min(float(n), float(theta * n) + 3 * widest)
    counts = np.unique(np.linspace(low, high, _POINTS).astype(np.int64))
    for name, mechanism in designed.items():
        chances = mechanism.emit_probabilities(counts, n, theta)
        axes.plot(counts, chances, drawstyle="steps-mid", label=name, **_style(name))
    axes.axvline(float(theta * n), color="grey", linewidth=0.8)
    axes.set(xlabel=f"supporting units of {n}", ylabel="Pr[emit]", ylim=(-0.02, 1.02))
    axes.grid(visible=True, alpha=0.3)


def _figure(panels: int) -> Figure:
    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width * panels, height), layout="constrained")
    figure.subplots(1, panels)
    return figure


def _legend_below(figure: Figure) -> None:
    """One legend for all panels, under them, where it covers no line."""
    lines = {str(line.get_label()): line for axes in figure.axes for line in axes.get_lines()}
    named = {name: line for name, line in lines.items() if not name.startswith("_")}
    columns = _NAMES_A_PANEL * len(figure.axes)
    figure.set_figheight(figure.get_figheight() + _LINE_INCHES * (1 + ceil(len(named) / columns)))
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=columns, frameon=False)


def _style(mechanism: str) -> dict[str, Any]:
    colour, dashes = _STYLES.get(mechanism, ("#000000", "-."))
    return {"color": colour, "linestyle": dashes}
