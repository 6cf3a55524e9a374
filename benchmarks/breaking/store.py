"""A real S3 server for scenes, where its package is installed."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.cluster.services import LOOPBACK, free_port, services, wait_until_answers
from tests.object_store import ObjectStore, Way

_START_SECONDS = 60.0


@contextmanager
def object_store(logs: Path) -> Iterator[ObjectStore | None]:
    """It runs while the block does, and all processes that are started in it find it; None where it cannot be had."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        yield None
        return
    with services(logs) as running:
        port = free_port()
        running.start("s3", [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)], {})
        wait_until_answers(f"http://{LOOPBACK}:{port}/moto-api/", running, _START_SECONDS)
        way = Way(port)
        way.start()
        store = ObjectStore(logs / "s3.log", way)
        os.environ |= store.environment
        yield store
        way.stop()
