"""A Prefect server with its workers, and a Dask cluster, on this machine."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import UserError
from tasks.cluster.address import ADDRESS
from tasks.cluster.services import LOOPBACK, Services, free_port, is_free, wait_until_answers
from tasks.storage.home import PRIVATE_DIRECTORY

START_SECONDS = 180.0
_FORGETTING = {"DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "10"}  # see tasks/cluster/client.py


@dataclass(frozen=True, slots=True)
class Local:
    """Where things are. dask: address of the scheduler; None where scoring starts processes of its own."""

    api: str
    dask: str | None

    @property
    def environment(self) -> dict[str, str]:
        """What a run needs to find them."""
        return {"PREFECT_API_URL": self.api} | ({ADDRESS: self.dask} if self.dask else {})


def start_server(services: Services, port: int, folder: Path) -> str:
    """The Prefect server; the URL of its API. folder: private, for its database, which no other server uses.

    Raises UserError where the port is taken, StageError as services do.
    """
    if not is_free(port):
        raise UserError(f"port: something listens on {port} already; choose another")
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", LOOPBACK, "--port", str(port)]
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    # leases of runs survive a killed server: else the one slot of a deployment stays taken, and cancels all that is due
    leases = {"PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem"}
    services.start("server", command, {"PREFECT_HOME": str(folder), **leases})
    api = f"http://{LOOPBACK}:{port}/api"
    wait_until_answers(f"{api}/health", services, START_SECONDS)
    return api


def start_dask(services: Services, workers: int, scratch: Path) -> str | None:
    """Scheduler and single-threaded workers; its address, None for no workers."""
    if not workers:
        return None
    port, dashboard = free_port(), free_port()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", LOOPBACK, "--port", str(port)]
    services.start("dask-scheduler", [*command, "--dashboard-address", f"{LOOPBACK}:{dashboard}"], _FORGETTING)
    wait_until_answers(f"http://{LOOPBACK}:{dashboard}/health", services, START_SECONDS)
    address = f"tcp://{LOOPBACK}:{port}"
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", LOOPBACK]
    limits = ["--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
    services.start("dask-workers", [*command, *limits, "--local-directory", str(scratch)], _FORGETTING)
    return address


def start_workers(services: Services, pools: Sequence[str], environment: Mapping[str, str]) -> None:
    """One Prefect worker for each pool; each run is a process of its own."""
    for pool in pools:
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
        services.start(f"worker-{pool}", command, environment)
