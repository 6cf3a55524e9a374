"""Long-running programs of ours on this machine: Prefect server and workers, Dask scheduler and workers.

Each has a watchdog that ends it with all its children when this process is gone, however it went.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from schemas.errors import StageError
from tasks.storage.atomic import PRIVATE_FILE
from tasks.storage.home import PRIVATE_DIRECTORY

LOOPBACK = "127.0.0.1"
_WATCHDOG = Path(__file__).parents[1] / "inference" / "watchdog.py"
_STOP_SECONDS = 20.0


@dataclass
class Services:
    """What was started, in order. logs: private folder, one file a service."""

    logs: Path
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start one; its output goes to LOGS/NAME.log."""
        self.logs.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
        log = os.open(self.logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            self.running[name] = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", str(_WATCHDOG), *command],
                env=os.environ | environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)

    def ended(self) -> str | None:
        """The name of a service that is not there any more."""
        return next((name for name, process in self.running.items() if process.poll() is not None), None)

    def check(self) -> None:
        """Raises StageError where a service ended by itself."""
        if (name := self.ended()) is not None:
            raise StageError(f"up: {name} ended by itself; see {self.logs / name}.log")

    def stop(self) -> None:
        """End all, the last one first, with everything that they started."""
        for name in reversed(list(self.running)):
            _stop(self.running.pop(name))


@contextmanager
def services(logs: Path) -> Iterator[Services]:
    """Services that end with the block."""
    started = Services(logs)
    try:
        yield started
    finally:
        started.stop()


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return int(free.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether nobody listens on this port."""
    with socket.socket() as asked:
        return asked.connect_ex((LOOPBACK, port)) != 0


def wait_until_answers(url: str, services: Services, seconds: float) -> None:
    """Raises StageError where the URL does not answer in time, or a service ends meanwhile."""
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        services.check()
        with suppress(OSError), urllib.request.urlopen(url, timeout=2):  # noqa: S310 - a URL of ours
            return
        time.sleep(0.25)
    raise StageError(f"up: nothing answers at {url} after {seconds:.0f} s; see {services.logs}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """The watchdog ends its process group; what its children put into other sessions is ended here."""
    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        descendants = []
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # a guard in its group ends the rest
        process.wait()
    for left in descendants:
        with suppress(psutil.NoSuchProcess):
            left.kill()
    psutil.wait_procs(descendants, timeout=_STOP_SECONDS)
    if process.stdin is not None:
        process.stdin.close()
