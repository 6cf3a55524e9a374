"""A Dask client: of the user's cluster (DASK_SCHEDULER_ADDRESS), or of processes on this machine."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster
from distributed.versions import VersionMismatchWarning

from schemas.errors import UserError
from tasks.cluster.address import ADDRESS, cluster_address

WAIT_SECONDS = 60
# Dask keeps the last thousand messages of each connection, chunks and all, to look at when it fails
FORGETTING = {"distributed.admin.low-level-log-length": 10}
_SILENT = logging.CRITICAL + 1


@contextmanager
def dask_client(scratch: Path, workers: int | None = None) -> Iterator[Client]:
    """A client with at least one worker.

    scratch: private folder for Dask's own files. workers: processes on this machine, None: one a core; the user's
    cluster has its own number. Raises UserError when the user's cluster does not answer or has no worker.
    """
    address = cluster_address()
    opened = _remote_client(address) if address else _local_client(scratch, workers or CPU_COUNT)
    with dask.config.set(FORGETTING), opened as client:
        try:
            client.wait_for_workers(1, timeout=WAIT_SECONDS)
        except TimeoutError:
            raise UserError(f"{ADDRESS}: the Dask scheduler has no workers") from None
        yield client


@contextmanager
def _remote_client(address: str) -> Iterator[Client]:
    try:
        # Dask warns about packages that a worker need not have; code and engines are compared by digest
        with warnings.catch_warnings(action="ignore", category=VersionMismatchWarning):
            client = Client(address, set_as_default=False, timeout=WAIT_SECONDS)
    except (OSError, ValueError):
        raise UserError(f"{ADDRESS}: no Dask scheduler answers there; unset it to use this machine") from None
    with client:
        yield client


@contextmanager
def _local_client(scratch: Path, workers: int) -> Iterator[Client]:
    with LocalCluster(
        n_workers=workers,
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
