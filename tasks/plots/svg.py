"""SVG text of a matplotlib figure; the same figure gives the same text on every day."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context, rcParamsDefault
from matplotlib.figure import Figure

# ids from a fixed salt, letters as outlines
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "privcert",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Make figures and their text inside: whatever the machine's own settings are, these count."""
    with rc_context({**rcParamsDefault, **_SETTINGS}):
        yield


def svg(figure: Figure, creator: str) -> str:
    """The figure as text, without a date. creator: the command that drew it."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": creator})
    return text.getvalue()
