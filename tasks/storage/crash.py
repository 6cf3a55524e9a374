"""Named places where a test makes the process kill itself, to show that a crash there costs nothing."""

import os
import signal

CRASH_POINTS = (
    "before_register",
    "after_register",
    "before_lock",
    "after_lock",
    "after_draw",
    "after_write",
    "after_commit",
    "before_rename",
    "after_rename",
)


def crash_point(name: str) -> None:
    """Kill this process with SIGKILL when PRIVCERT_CRASH_AT names this place; otherwise do nothing."""
    if os.environ.get("PRIVCERT_CRASH_AT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
