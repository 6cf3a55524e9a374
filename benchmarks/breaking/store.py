"""A real S3 server for scenes, where its package is installed."""

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tasks.cluster.services import LOOPBACK, Services, free_port, services, wait_until_answers
from tests.object_store import ObjectStore, Way

_NAME, _START_SECONDS = "s3", 60.0


@dataclass
class BreakableStore(ObjectStore):
    """A server in a process of its own, which keeps what it holds in memory alone."""

    running: Services = field(kw_only=True)

    def begin(self) -> None:
        """Start it, empty, and wait until it answers."""
        port = str(self.way.target)
        self.running.start(_NAME, [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", port], {})
        wait_until_answers(f"http://{LOOPBACK}:{port}/moto-api/", self.running, _START_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """To the server, its watchdog included: SIGSTOP has it hang, SIGKILL ends it with all that it holds."""
        process = self.running.running[_NAME]
        os.killpg(process.pid, number)
        if number == signal.SIGKILL:
            self.running.running.pop(_NAME).wait()


@contextmanager
def object_store(logs: Path) -> Iterator[BreakableStore | None]:
    """It runs while the block does, and all processes that are started in it find it; None where it cannot be had."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        yield None
        return
    with services(logs) as running:
        way = Way(free_port())
        store = BreakableStore(logs / "s3.log", way, running=running)
        store.begin()
        way.start()
        os.environ |= store.environment
        yield store
        way.stop()
