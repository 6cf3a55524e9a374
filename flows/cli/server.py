"""The Prefect server of a command that runs a flow."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import StageError

GONE = (
    "PREFECT_API_URL: the Prefect server does not answer any more; what is scored and sealed is kept: when it is there "
    "again, run the same command again"
)
REFUSES = GONE.replace("does not answer any more", "answers with an error (HTTP {})")


@contextmanager
def server_named() -> Iterator[None]:
    """While a flow runs: a server that is gone, or fails, is named. Raises StageError; UserError where none answers."""
    import httpx

    from tasks.deploy import check_server

    if os.environ.get("PREFECT_API_URL"):  # else each run starts its own
        check_server()
    try:
        yield
    except httpx.TransportError:
        raise StageError(GONE) from None
    except httpx.HTTPStatusError as error:
        raise StageError(REFUSES.format(error.response.status_code)) from None
