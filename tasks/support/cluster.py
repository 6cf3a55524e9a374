"""Chunks on Dask: the user's cluster (DASK_SCHEDULER_ADDRESS), or processes on this machine.

Imported only when there is more work than the driver does by itself.
"""

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dask.system import CPU_COUNT
from distributed import Client, Future, LocalCluster, as_completed

from schemas.errors import UserError
from tasks.support.chunks import Chunk, ChunkOutcome, score_chunk
from tasks.support.operator_log import note_for_operator

ADDRESS = "DASK_SCHEDULER_ADDRESS"
ATTEMPTS = 2  # of a chunk whose worker died; Dask itself tries each of them four times
_SILENT = logging.CRITICAL + 1
WAIT_SECONDS = 60
_LOOK_AGAIN_SECONDS = 5.0
WORKERS_DIED = "the Dask workers that scored a chunk died or were lost, repeatedly; finished chunks are kept"


def score_on_dask(
    take: Callable[[], Chunk | None], finished: Callable[[ChunkOutcome], None], scratch: Path, *, needs_gpu: bool
) -> None:
    """Score chunks until `take` answers None; hand every outcome to `finished`, which may raise to stop.

    take: the next chunk, sized by what is known by then. scratch: private folder for Dask's own files.
    needs_gpu: ask for the Dask resource GPU, one a chunk.
    Raises UserError when the user's cluster does not answer or has no fitting worker.
    """
    with _client(scratch) as client:
        _require_workers(client, needs_gpu=needs_gpu)
        resources = {"GPU": 1} if needs_gpu else None
        in_flight: dict[str, tuple[Chunk, int]] = {}
        running = as_completed([], loop=client.loop)

        def submit(chunk: Chunk, attempt: int) -> None:
            key = f"score-{secrets.token_hex(8)}"  # Dask would name it after a hash of the arguments
            in_flight[key] = (chunk, attempt)
            running.add(client.submit(score_chunk, chunk, key=key, pure=False, resources=resources))

        slots = _Slots(client)
        _fill(take, submit, slots.wanted() - len(in_flight))
        for future in running:
            chunk, attempt = in_flight.pop(future.key)
            outcome = _outcome(future, chunk)
            if outcome is not None:
                finished(outcome)
            elif attempt < ATTEMPTS:
                submit(chunk, attempt + 1)
            else:
                finished(ChunkOutcome(failure=WORKERS_DIED))
            _fill(take, submit, slots.wanted() - len(in_flight))


def _fill(take: Callable[[], Chunk | None], submit: Callable[[Chunk, int], None], places: int) -> None:
    for _ in range(places):
        chunk = take()
        if chunk is None:
            return
        # a Dask worker brings its own parallelism: one thread in each model
        submit(replace(chunk, reference=replace(chunk.reference, threads=1)), 1)


def _outcome(future: Future, chunk: Chunk) -> ChunkOutcome | None:
    """What a chunk answered, or None when Dask lost it; its exceptions go to the operator only."""
    try:
        outcome: ChunkOutcome = future.result()
    except Exception as error:  # KilledWorker, CancelledError, a worker without this package: no answer, no text
        note_for_operator(chunk.logs, f"Dask lost a chunk: {error!r}")
        return None
    return outcome


class _Slots:
    """How many chunks to keep in flight: two for each worker thread, looked up now and then."""

    def __init__(self, client: Client) -> None:
        self._client, self._looked, self._wanted = client, float("-inf"), 0

    def wanted(self) -> int:
        """The number, at least two."""
        if time.monotonic() - self._looked > _LOOK_AGAIN_SECONDS:
            self._wanted = 2 * max(1, sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self._wanted


@contextmanager
def _client(scratch: Path) -> Iterator[Client]:
    address = os.environ.get(ADDRESS)
    if address:
        try:
            client = Client(address, set_as_default=False, timeout=WAIT_SECONDS)
        except (OSError, ValueError):
            raise UserError(f"{ADDRESS}: no Dask scheduler answers there; unset it to use this machine") from None
        with client:
            yield client
        return
    with LocalCluster(
        n_workers=CPU_COUNT,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # None would open port 8787 to everyone
        worker_dashboard_address="127.0.0.1:0",
        memory_limit=0,  # chunks are small; a worker that pauses for memory would stall the run
        local_directory=str(scratch),
        silence_logs=_SILENT,
    ) as cluster:
        with Client(cluster, set_as_default=False) as client:
            yield client


def _require_workers(client: Client, *, needs_gpu: bool) -> None:
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        raise UserError(f"{ADDRESS}: the Dask scheduler has no workers") from None
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if needs_gpu and not any(worker["resources"].get("GPU") for worker in workers):
        raise UserError("model: it needs Dask workers with the resource GPU (dask worker --resources GPU=1)")
