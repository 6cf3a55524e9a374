"""Chunks in flight: as many as keep the workers busy, each tried again when its worker died."""

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from distributed import Client, Future, as_completed

from schemas.errors import UserError

SCHEDULER_LOST = (
    "the Dask scheduler does not answer any more; finished chunks are kept: when it is there again, run the same "
    "command again"
)
ATTEMPTS = 2  # of a chunk whose worker died; Dask itself tries each of them four times
_LOOK_AGAIN_SECONDS = 5.0

Chunk = TypeVar("Chunk")
Outcome = TypeVar("Outcome")
Taken = TypeVar("Taken", contravariant=True)


class Driver(Protocol[Chunk, Taken]):
    """Who hands out the chunks and takes over what came of them, in this process."""

    def take(self) -> Chunk | None:
        """The next chunk, sized by what is known by then; None at the end."""

    def finished(self, outcome: Taken) -> None:
        """Take over what came of a chunk; may raise to stop."""

    def lost(self, chunk: Chunk, error: Exception) -> None:
        """Hear that a chunk gave no answer: its worker died, or it raised."""

    def given_up(self, chunk: Chunk) -> None:
        """A chunk was lost ATTEMPTS times; raises what its caller should see."""


def run_on_dask(
    client: Client,
    run: Callable[[Chunk], Outcome],
    driver: Driver[Chunk, Outcome],
    resources: Mapping[str, int] | None = None,
) -> None:
    """Run chunks until the driver has no more, in any order.

    run: does one chunk in a worker, which finds it by name. resources: of Dask, that each chunk needs.
    Raises UserError where the scheduler went away for longer than the client waits, and what the driver raises.
    """
    try:
        _run(client, run, driver, resources or {})
    except Exception as error:  # whatever Dask raises of a client that it closed
        if client.status not in ("closing", "closed"):
            raise
        raise UserError(SCHEDULER_LOST) from error


def _run(
    client: Client, run: Callable[[Chunk], Outcome], driver: Driver[Chunk, Outcome], resources: Mapping[str, int]
) -> None:
    in_flight: dict[str, tuple[Chunk, int]] = {}
    running = as_completed([], loop=client.loop)
    slots = _Slots(client, resources)

    def submit(chunk: Chunk, attempt: int) -> None:
        key = f"chunk-{secrets.token_hex(8)}"  # Dask would name it after a hash of the arguments
        in_flight[key] = (chunk, attempt)
        running.add(client.submit(run, chunk, key=key, pure=False, resources=resources))

    def fill() -> None:
        for _ in range(slots.wanted() - len(in_flight)):
            chunk = driver.take()
            if chunk is None:
                return
            submit(chunk, 1)

    fill()
    for future in running:
        chunk, attempt = in_flight.pop(future.key)
        if not _answered(future, driver, chunk):
            if attempt == ATTEMPTS:
                driver.given_up(chunk)
            else:
                submit(chunk, attempt + 1)
        fill()


def _answered(future: Future, driver: Driver[Chunk, Outcome], chunk: Chunk) -> bool:
    try:
        outcome: Outcome = future.result()
    except Exception as error:  # KilledWorker, CancelledError, a worker without this package, or what the chunk raised
        driver.lost(chunk, error)
        return False
    driver.finished(outcome)
    return True


class _Slots:
    """How many chunks to keep in flight: two for each that can run at once, looked up now and then."""

    def __init__(self, client: Client, resources: Mapping[str, int]) -> None:
        self._client, self._resources, self._looked, self._wanted = client, resources, float("-inf"), 0

    def wanted(self) -> int:
        """The number, at least two."""
        if time.monotonic() - self._looked > _LOOK_AGAIN_SECONDS:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            self._wanted = 2 * max(1, sum(self._room(worker) for worker in workers))
            self._looked = time.monotonic()
        return self._wanted

    def _room(self, worker: Mapping[str, Any]) -> int:
        """How many chunks a worker can run at once: one a thread, fewer where it lends fewer of the resources."""
        lent = [worker["resources"].get(name, 0) // amount for name, amount in self._resources.items()]
        return int(min([worker["nthreads"], *lent]))
