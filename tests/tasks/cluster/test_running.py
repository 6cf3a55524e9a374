"""Chunks in flight, on workers in this process, and on a scheduler that is killed."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask import config
from distributed import Client, Scheduler, SpecCluster, Worker
from machines import SCHEDULER, WORKERS, machines

from schemas.errors import UserError
from tasks.cluster import client, workers
from tasks.cluster.local import start_dask
from tasks.cluster.running import run_on_dask
from tasks.cluster.services import services


@pytest.fixture
def dask() -> Iterator[Client]:
    """Two workers: one with two threads that lends a GPU, one with four that lends none."""
    local = {"host": "127.0.0.1", "dashboard": False}
    two = {
        "with": {"cls": Worker, "options": {**local, "nthreads": 2, "resources": {"GPU": 1}}},
        "without": {"cls": Worker, "options": {**local, "nthreads": 4}},
    }
    scheduler = {"cls": Scheduler, "options": {**local, "port": 0}}
    with SpecCluster(two, scheduler, silence_logs=100) as cluster:
        with Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            yield client


class Counting:
    """Twelve chunks; remembers how many were out at once."""

    def __init__(self) -> None:
        self.left, self.out, self.most_out = 12, 0, 0

    def take(self) -> int | None:
        if self.left == 0:
            return None
        self.left, self.out = self.left - 1, self.out + 1
        self.most_out = max(self.most_out, self.out)
        return self.left

    def finished(self, outcome: object) -> None:
        self.out -= 1

    def lost(self, chunk: int, error: Exception) -> None:
        raise error

    def given_up(self, chunk: int) -> None:
        raise AssertionError


_running = threading.Semaphore(1)


def alone(chunk: int) -> bool:
    """Whether no other chunk runs now."""
    found = _running.acquire(blocking=False)
    time.sleep(0.05)
    if found:
        _running.release()
    return found


def test_no_more_chunks_are_out_than_the_lent_resources_keep_busy(dask: Client) -> None:
    counting = Counting()
    run_on_dask(dask, alone, counting, {"GPU": 1})
    assert counting.most_out == 2  # one runs, one waits; six threads would have twelve out


def test_a_resource_that_is_lent_once_runs_one_chunk_at_a_time(dask: Client) -> None:
    class Alone(Counting):
        def finished(self, outcome: object) -> None:
            super().finished(outcome)
            assert outcome is True

    run_on_dask(dask, alone, Alone(), {"GPU": 1})


def test_without_resources_every_thread_is_kept_busy(dask: Client) -> None:
    counting = Counting()
    run_on_dask(dask, alone, counting)
    assert counting.most_out == 12


def test_only_workers_that_lend_it_are_told(dask: Client) -> None:
    (address,) = workers.gpu_workers(dask)
    assert dask.scheduler_info(n_workers=-1)["workers"][address]["nthreads"] == 2


KEPT = "distributed.admin.low-level-log-length"


def test_no_process_keeps_the_messages_that_chunks_travelled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default a thousand of each connection: a scheduler that serves every night would never stop growing."""

    def kept(dask: Client) -> set[int]:
        return {dask.run_on_scheduler(config.get, KEPT), *dask.run(config.get, KEPT).values()}

    with client.dask_client(tmp_path, 1) as dask:
        assert kept(dask) == {10}
    with services(tmp_path / "logs") as running:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", start_dask(running, 1, tmp_path) or "")
        with client.dask_client(tmp_path) as dask:
            assert kept(dask) == {10}


def test_a_scheduler_that_stays_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that Dask itself says of it is that a future was cancelled."""
    monkeypatch.setattr(client, "WAIT_SECONDS", 3)  # what a client waits for its scheduler
    with machines(tmp_path, SCHEDULER, *WORKERS) as several:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", several.dask)

        class Killing(Counting):
            def take(self) -> float:
                super().take()
                return 0.2

            def finished(self, outcome: object) -> None:
                if self.left == 6:
                    several.kill(SCHEDULER)

            def lost(self, chunk: int, error: Exception) -> None:
                """Tried again, as all do."""

        with client.dask_client(tmp_path) as dask, pytest.raises(UserError, match="scheduler does not answer any more"):
            run_on_dask(dask, time.sleep, Killing())
