"""Pictures of a study as SVG text; the same study gives the same text."""

import io
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from matplotlib import rc_context, rcParamsDefault
from matplotlib.figure import Figure

from tasks.privacy.mechanisms.protocol import depends_on_its_count_alone
from tasks.studies.cells import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, object]
OWN = ("selected", "selection_share", "contributions")
"""Parameters that a mechanism may choose for itself: it is compared at its best ones."""
# The same cells give the same bytes: ids from a fixed salt, letters as outlines, no date
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "privcert", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9,
}  # fmt: skip
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
_POINTS = 400
_QUESTION = ("mechanism", "universe", "statements", "epsilon", "delta", "theta", "beta", "scope")
_MOST_PANELS = 4


def draw_emission(cells: pa.Table) -> str:
    """EmitRate and recall against epsilon, a line a mechanism: means over cells, each at its best own parameters."""
    with rc_context({**rcParamsDefault, **_SETTINGS}):
        figure, epsilons = _figure(2), sorted(set(cells["epsilon_nats"].to_pylist()))
        for axes, metric, label in zip(
            figure.axes, ("emit_rate_share", "supported_recall_share"), ("EmitRate", "SupportedRecall"), strict=True
        ):
            for mechanism, points in mean_by_epsilon(cells.to_pylist(), metric).items():
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=mechanism, **_style(mechanism))
            axes.set(xlabel="epsilon of the report, nats", ylabel=label, xscale="log")
            axes.set_ylim(bottom=0)
            axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
            axes.set_xticks([], minor=True)
            axes.grid(visible=True, alpha=0.3)
        figure.axes[0].legend(frameon=False)
        return _svg(figure)


def mean_by_epsilon(cells: Sequence[Row], metric: str) -> dict[str, list[tuple[float, float]]]:
    """Mechanism -> (epsilon, mean of the metric at the own parameters with the highest one), epsilon ascending."""
    best: dict[tuple[object, ...], tuple[str, float, float]] = {}
    for cell in cells:
        if cell[metric] is None:
            continue
        same, value = tuple(cell[name] for name in _QUESTION), float(str(cell[metric]))
        if same not in best or value > best[same][2]:
            best[same] = str(cell["mechanism"]), float(str(cell["epsilon_nats"])), value
    groups: dict[str, dict[float, list[float]]] = {}
    for mechanism, epsilon, value in best.values():
        groups.setdefault(mechanism, {}).setdefault(epsilon, []).append(value)
    return {name: [(at, fmean(values)) for at, values in sorted(found.items())] for name, found in groups.items()}


def draw_power(cells: Sequence[Cell]) -> str:
    """Exact emission probability against the count: a panel for each epsilon, a line for each mechanism.

    At the first universe, theta, number of statements, delta, beta and scope of the study; mechanisms that select or
    truncate are left out, since other statements matter to them.
    """
    shown = [cell for cell in cells if _as_first(cell, cells[0]) and depends_on_its_count_alone(cell.designed)]
    epsilons = sorted({cell.epsilon for cell in shown})[:_MOST_PANELS]
    with rc_context({**rcParamsDefault, **_SETTINGS}):
        figure = _figure(max(1, len(epsilons)))
        for axes, epsilon in zip(figure.axes, epsilons, strict=False):
            _draw_power(axes, [cell for cell in shown if cell.epsilon == epsilon])
            axes.set_title(f"epsilon {epsilon}", fontsize=9)
        if epsilons:
            figure.axes[0].legend(frameon=False)
        return _svg(figure)


def _as_first(cell: Cell, first: Cell) -> bool:
    names = ("universe_name", "theta", "statements", "beta", "scope")
    return all(getattr(cell, name) == getattr(first, name) for name in names)


def _draw_power(axes: "Axes", cells: Iterable[Cell]) -> None:
    chosen = {cell.mechanism: cell for cell in cells}
    designed = {name: cell.designed for name, cell in chosen.items()}
    one = next(iter(chosen.values()))
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


def _style(mechanism: str) -> dict[str, Any]:
    colour, dashes = _STYLES.get(mechanism, ("#000000", "-."))
    return {"color": colour, "linestyle": dashes}


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "privcert study"})
    return text.getvalue()
