"""How the user names a Dask cluster; read without importing Dask."""

import os

ADDRESS = "DASK_SCHEDULER_ADDRESS"


def cluster_address() -> str | None:
    """Of the scheduler of the user's cluster; None: processes on this machine."""
    return os.environ.get(ADDRESS) or None
