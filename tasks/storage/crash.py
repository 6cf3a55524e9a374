"""Named places where a test makes the process kill itself, to show that a crash there costs nothing."""

import os
import signal
from collections import Counter

CRASH_POINTS = (
    "before_register",
    "after_register",
    "before_lock",
    "after_lock",
    "after_draw",
    "after_write",
    "after_commit",
    "after_fill",
    "before_rename",
    "after_rename",
    "before_put",
    "after_put",
)


_passed: Counter[str] = Counter()


def crash_point(name: str) -> None:
    """Kill this process with SIGKILL when PRIVCERT_CRASH_AT names this place; otherwise do nothing.

    PRIVCERT_CRASH_AT is a name, or a name and a number (`before_rename:7`): the seventh time it is passed.
    """
    place, _, number = os.environ.get("PRIVCERT_CRASH_AT", "").partition(":")
    if place == name:
        _passed[name] += 1
        if _passed[name] == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)
