"""Scoring on Dask. Imported only when there is more work than the driver does by itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Client

from schemas.errors import UserError
from tasks.cluster.client import dask_client
from tasks.cluster.running import run_on_dask
from tasks.support.chunks import Chunk, ChunkOutcome, score_chunk
from tasks.support.operator_log import note_for_operator

WORKERS_DIED = "the Dask workers that scored a chunk died or were lost, repeatedly; finished chunks are kept"


def score_on_dask(
    take: Callable[[], Chunk | None], finished: Callable[[ChunkOutcome], None], scratch: Path, *, needs_gpu: bool
) -> None:
    """Score chunks until `take` answers None; hand every outcome to `finished`, which may raise to stop.

    take: the next chunk, sized by what is known by then. scratch: private folder for Dask's own files.
    needs_gpu: ask for the Dask resource GPU, one a chunk.
    Raises UserError when the user's cluster does not answer or has no fitting worker.
    """
    with dask_client(scratch) as client:
        if needs_gpu:
            _require_gpu(client)
        run_on_dask(client, score_chunk, _Scoring(take, finished), {"GPU": 1} if needs_gpu else None)


@dataclass(frozen=True, slots=True)
class _Scoring:
    """Chunks for workers, which bring their own parallelism: one thread in each model."""

    next_chunk: Callable[[], Chunk | None]
    finished: Callable[[ChunkOutcome], None]

    def take(self) -> Chunk | None:
        chunk = self.next_chunk()
        return None if chunk is None else replace(chunk, reference=replace(chunk.reference, threads=1))

    def lost(self, chunk: Chunk, error: Exception) -> None:  # its text goes to the operator only
        note_for_operator(chunk.logs, f"Dask lost a chunk: {error!r}")

    def given_up(self, chunk: Chunk) -> None:
        self.finished(ChunkOutcome(failure=WORKERS_DIED))


def _require_gpu(client: Client) -> None:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not any(worker["resources"].get("GPU") for worker in workers):
        raise UserError("model: it needs Dask workers with the resource GPU (dask worker --resources GPU=1)")
