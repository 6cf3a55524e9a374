"""However an owner, a command or the watchdog ends, nothing of the group is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tasks.inference import watchdog

STARTED = subprocess.Popen[bytes]


def start(script: str) -> STARTED:
    """A watchdog over a shell; the write end of its standard input is ours."""
    command = [sys.executable, "-I", watchdog.__file__, "sh", "-c", script]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[STARTED, list[psutil.Process]]]:
    """A watchdog, and its group: the command and a child of it that ignores SIGTERM."""
    ready = tmp_path / "ready"
    process = start(f"(trap '' TERM; echo > {ready}; while :; do sleep 0.1; done) & sleep 1000")
    wait_for(ready.exists)
    yield process, psutil.Process(process.pid).children(recursive=True)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def command_of(process: STARTED, group: list[psutil.Process]) -> psutil.Process:
    """The shell that the watchdog runs; its other child is the guard."""
    return next(child for child in group if child.ppid() == process.pid and child.cmdline()[0] == "sh")


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


def test_all_end_when_the_owner_is_gone(guarded: tuple[STARTED, list[psutil.Process]]) -> None:
    process, group = guarded
    assert len(group) >= 3
    assert process.stdin is not None
    process.stdin.close()
    wait_for(lambda: all_gone(group))
    assert process.wait(30) == -signal.SIGKILL


def test_all_end_on_a_polite_request(guarded: tuple[STARTED, list[psutil.Process]]) -> None:
    process, group = guarded
    process.terminate()
    wait_for(lambda: all_gone(group))


def test_children_end_when_the_command_is_killed(guarded: tuple[STARTED, list[psutil.Process]]) -> None:
    process, group = guarded
    command_of(process, group).kill()
    wait_for(lambda: all_gone(group))


def test_all_end_when_the_watchdog_is_killed(guarded: tuple[STARTED, list[psutil.Process]]) -> None:
    process, group = guarded
    process.kill()
    wait_for(lambda: all_gone(group))


def test_the_command_stays_when_the_owner_said_so(guarded: tuple[STARTED, list[psutil.Process]]) -> None:
    process, group = guarded
    assert process.stdin is not None
    process.stdin.write(watchdog.STAY)
    process.stdin.close()
    time.sleep(1)
    assert process.poll() is None
    assert command_of(process, group).is_running()
