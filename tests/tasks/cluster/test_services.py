"""Programs that run beside ours: they end with us, however that is, and with all that they started."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

import psutil
import pytest

from schemas.errors import StageError
from tasks.cluster.services import Services, free_port, is_free, services, wait_until_answers
from tests.audits import in_child

# Starts a child in a session of its own, as a Prefect worker does, names both, and waits.
PARENT = """\
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".part", sys.argv[1])
print("a line for the log", flush=True)
time.sleep(600)
"""


def start(running: Services, folder: Path) -> list[psutil.Process]:
    """The program and the child that it started."""
    told = folder / "pids"
    running.start("program", [sys.executable, "-c", PARENT, str(told)], {})
    for _ in range(600):
        if told.exists():
            return [psutil.Process(int(pid)) for pid in told.read_text().split()]
        time.sleep(0.05)
    raise AssertionError("the program did not start")


def is_gone(pid: int) -> bool:
    try:
        return alive([psutil.Process(pid)]) == []
    except psutil.NoSuchProcess:
        return True


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=5)[1]


def test_the_end_of_the_block_ends_everything_that_was_started(tmp_path: Path) -> None:
    with services(tmp_path / "logs") as running:
        processes = start(running, tmp_path)
        assert running.ended() is None
        running.check()
    assert alive(processes) == []
    log = tmp_path / "logs" / "program.log"
    assert log.read_text() == "a line for the log\n" and stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_program_ends_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    def die() -> None:
        start(Services(tmp_path / "logs"), tmp_path)
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die) == -signal.SIGKILL
    program, in_another_session = (int(pid) for pid in (tmp_path / "pids").read_text().split())
    assert is_gone(program)
    psutil.Process(in_another_session).kill()  # which nobody was left to end


def test_a_program_that_ends_by_itself_is_named(tmp_path: Path) -> None:
    with services(tmp_path) as running:
        running.start("brief", [sys.executable, "-c", "pass"], {})
        with pytest.raises(StageError, match=r"up: brief ended by itself; see .*brief.log"):
            wait_until_answers("http://127.0.0.1:9/", running, 60)


def test_what_does_not_answer_is_waited_for_no_longer_than_said(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"nothing answers at http://127.0.0.1:9/ after 1 s"):
        wait_until_answers("http://127.0.0.1:9/", Services(tmp_path), 1)


def test_a_free_port_is_free() -> None:
    assert is_free(free_port())
