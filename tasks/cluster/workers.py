"""Which workers of a cluster may be given what."""

from collections.abc import Collection

from distributed import Client

from schemas.errors import UserError
from tasks.cluster.address import ADDRESS
from tasks.cluster.code import code_digest

GPU = "GPU"
NO_GPU = f"model: it needs Dask workers with the resource GPU (dask worker --resources GPU=1), named by {ADDRESS}"
OTHER_CODE = (
    f"{ADDRESS}: a worker there runs another version of privcert, or none; install the driver's on every machine"
)


def gpu_workers(client: Client) -> list[str]:
    """Addresses of the workers that have the Dask resource GPU. Raises UserError where there is none."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    found = [address for address, worker in workers.items() if worker["resources"].get(GPU)]
    if not found:
        raise UserError(NO_GPU)
    return found


def require_same_code(client: Client, workers: Collection[str] | None = None) -> None:
    """Raise UserError where one of these workers (None: any) runs other code than this process."""
    addresses = None if workers is None else list(workers)
    answers = client.run(code_digest, workers=addresses, on_error="return").values()
    if any(answer != code_digest() and not isinstance(answer, OSError) for answer in answers):  # OSError: just died
        raise UserError(OTHER_CODE)
