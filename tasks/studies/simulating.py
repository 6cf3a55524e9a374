"""All chunks of a study: what is there is reused, the rest is done here or on Dask, and collected in plan order."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from schemas.errors import StageError, UserError
from schemas.study_tables import SEED_COUNTS
from tasks.studies.chunks import Chunk, read_part, simulate_chunk
from tasks.studies.plan import seconds_of

IN_PROCESS_SECONDS = 6.0  # Dask workers, started in about 4 s, are not sooner done with less
Progress = Callable[[float], None]


def simulate_chunks(chunks: Sequence[Chunk], scratch: Path, workers: int | None, progress: Progress) -> pa.Table:
    """Table SEED_COUNTS, one row a cell and seed in the order of the plan; the same bits wherever it was computed.

    scratch: private folder for Dask. workers: processes on this machine; 0: none, all is done here; None: here where
    a few seconds are left, else one a core or the user's cluster. progress: hears the share that is done.
    Killed anywhere, the same call continues with the chunks that are missing.
    """
    parts = {chunk.path: read_part(chunk) for chunk in chunks}
    missing = [chunk for chunk in chunks if parts[chunk.path] is None]
    if _is_small(missing) if workers is None else workers == 0:
        for done, chunk in enumerate(missing, start=1):
            simulate_chunk(chunk)
            progress(done / len(missing))
    elif missing:
        _on_dask(missing, scratch, workers, progress)
    parts |= {chunk.path: read_part(chunk) for chunk in missing}
    if any(part is None for part in parts.values()):
        raise StageError("simulate failed: a finished part cannot be read")
    return pa.concat_tables([SEED_COUNTS.empty_table(), *(parts[chunk.path] for chunk in chunks)])


def _is_small(chunks: Sequence[Chunk]) -> bool:
    return sum(seconds_of(cell) for chunk in chunks for cell, _ in chunk.jobs) <= IN_PROCESS_SECONDS


def _on_dask(chunks: Sequence[Chunk], scratch: Path, workers: int | None, progress: Progress) -> None:
    from tasks.cluster.client import dask_client  # late: small studies need no Dask
    from tasks.cluster.running import run_on_dask

    with dask_client(scratch, workers) as client:
        run_on_dask(client, simulate_chunk, _Simulating(chunks, progress))


class _Simulating:
    """Hands out the chunks in plan order."""

    def __init__(self, chunks: Sequence[Chunk], progress: Progress) -> None:
        self._waiting, self._progress, self._done, self._all = iter(chunks), progress, 0, len(chunks)

    def take(self) -> Chunk | None:
        return next(self._waiting, None)

    def finished(self, outcome: Path) -> None:
        self._done += 1
        self._progress(self._done / self._all)

    def lost(self, chunk: Chunk, error: Exception) -> None:
        if isinstance(error, UserError):  # another version of the code, a full disk: trying again does not help
            raise UserError(str(error))

    def given_up(self, chunk: Chunk) -> None:
        raise StageError("simulate failed: Dask workers died or raised on one chunk repeatedly; finished ones are kept")
