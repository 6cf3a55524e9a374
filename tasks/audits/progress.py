"""How far the audit is, for the operator's terminal only; nothing is kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, float], None]

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """While the block runs, `listener(stage, share done)` hears of progress in this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report(stage: str, share: float) -> None:
    """Tell whoever listens; `share` in [0, 1]."""
    for listener in _listeners:
        listener(stage, share)
