"""Run a command, and end it with all its children when its owner is gone: `watchdog.py COMMAND…`.

A program of its own that needs the standard library alone. Standard input is a pipe whose other end the owner holds: it
closes however the owner dies; an owner that writes STAY first may go. The watchdog leads the process group that the
command and its children are in, and ends that group when the owner dies, when the command ends, and on SIGTERM. A guard
in the group does so when the watchdog itself is killed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from types import FrameType

GRACE_SECONDS = 10.0  # between asking the group to end and killing it
STAY = b"stay"
_GUARD = "--guard"


def watch(command: list[str]) -> None:
    """Ends by killing its own process group."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    end = threading.Event()

    def ask_to_end(_: int, __: FrameType | None) -> None:
        end.set()

    signal.signal(signal.SIGTERM, ask_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    keeper = subprocess.Popen([sys.executable, "-I", __file__, _GUARD], stdin=subprocess.PIPE)  # noqa: S603
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603
    threading.Thread(target=_wait_for_the_owner_to_go, args=(end,), daemon=True).start()
    while process.poll() is None and not end.wait(0.2):
        keeper.poll()  # reaped, should it be killed
    if process.poll() is None:
        os.killpg(0, signal.SIGTERM)  # this one only sets `end` again
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


def guard() -> None:
    """Kill the process group when the watchdog, which holds the other end of standard input, is gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def _wait_for_the_owner_to_go(end: threading.Event) -> None:
    if os.read(0, len(STAY)) != STAY:
        end.set()


if __name__ == "__main__":
    if sys.argv[1:] == [_GUARD]:
        guard()
    else:
        watch(sys.argv[1:])
