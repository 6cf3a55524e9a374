"""Real machines, for tests and for benchmarks/chaos.py: Prefect server, Dask scheduler and workers, each a process.

They listen on this machine, on ports that stay the same, so that one which was killed can be started again. All of them
end with the process that started them, however that is.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prefect_servers import clean_environment

from tasks.cluster.services import LOOPBACK, Services, free_port, services, wait_until_answers

START_SECONDS = 180.0
PREFECT, SCHEDULER, WORKERS = "prefect", "scheduler", ("worker-0", "worker-1")


@dataclass
class Machines:
    """What runs, by name; folder: for their files."""

    folder: Path
    running: Services
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in (PREFECT, SCHEDULER, "pages")})

    @property
    def prefect(self) -> str:
        """Of the API."""
        return f"http://{LOOPBACK}:{self.ports[PREFECT]}/api"

    @property
    def dask(self) -> str:
        """Of the scheduler."""
        return f"tcp://{LOOPBACK}:{self.ports[SCHEDULER]}"

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        """A command's, which finds them by it."""
        found = {"PREFECT_API_URL": self.prefect, "DASK_SCHEDULER_ADDRESS": self.dask, "PRIVCERT_HOME": str(home)}
        return clean_environment() | found | more

    def start(self, *names: str) -> None:
        """Start these, and wait until they answer."""
        for name in names:
            self.running.start(name, *self._command(name))
        for name in names:
            if name in (PREFECT, SCHEDULER):
                port, path = (self.ports[PREFECT], "api/health") if name == PREFECT else (self.ports["pages"], "health")
                wait_until_answers(f"http://{LOOPBACK}:{port}/{path}", self.running, START_SECONDS)

    def start_again(self, *names: str) -> None:
        """Start those of these that are gone, however they went: workers end with their scheduler."""
        for name in names:
            process = self.running.running.get(name)
            if process is not None and process.poll() is not None:
                self.running.running.pop(name)
        self.start(*(name for name in names if name not in self.running.running))

    def await_end(self, *names: str) -> None:
        """Wait until these have ended by themselves."""
        for name in names:
            self.running.running[name].wait(START_SECONDS)

    def kill(self, *names: str) -> None:
        """As a machine that loses power: no process of it ends anything."""
        for name in names:
            process = self.running.running.pop(name)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _command(self, name: str) -> tuple[list[str], Mapping[str, str]]:
        if name == PREFECT:
            words = ["prefect", "server", "start", "--host", LOOPBACK, "--port", str(self.ports[PREFECT])]
            quiet = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
            return [sys.executable, "-m", *words], quiet | {"PREFECT_HOME": str(self.folder / "prefect")}
        if name == SCHEDULER:
            words = ["--host", LOOPBACK, "--port", str(self.ports[SCHEDULER])]
            words += ["--dashboard-address", f"{LOOPBACK}:{self.ports['pages']}"]
            return [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], {}
        words = [self.dask, "--host", LOOPBACK, "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
        words += ["--local-directory", str(self.folder / "dask")]
        return [sys.executable, "-m", "distributed.cli.dask_worker", *words], {}


@contextmanager
def machines(folder: Path, *names: str) -> Iterator[Machines]:
    """These run while the block does; all of them where none is named."""
    folder.mkdir(parents=True, exist_ok=True)
    with services(folder / "logs") as running:
        started = Machines(folder, running)
        started.start(*(names or (PREFECT, SCHEDULER, *WORKERS)))
        yield started
